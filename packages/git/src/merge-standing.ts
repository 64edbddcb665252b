import { durable } from './durable.ts'
import { couldAttributesMatter } from './merge-attributes.ts'
import { readStreamed, type StreamedResult } from './merge-conflicts.ts'
import { resultOf } from './merge-each.ts'
import type { MergeResult } from './merge-tree.ts'
import { mergeBases } from './refs.ts'
import { isSha, requireSha, type Repository, type Sha } from './repository.ts'
import { askStanding, type StandingKind } from './standing.ts'

/** Whether the objects of a result stay in the repository. A preview's are thrown away. */
export type Purpose = 'merge' | 'preview'

function kindOf(repo: Repository, purpose: Purpose): StandingKind {
  const args = ['merge-tree', '--write-tree', '-z', '--messages', '--allow-unrelated-histories', '--stdin']
  return purpose === 'preview'
    ? { name: purpose, args, discards: true }
    : { name: purpose, args, config: durable(repo) }
}

/**
 * The merge of two commits by a git that is running already. null: there is none, or attributes may have a say in it,
 * for which git needs a work tree of its own; mergeTrees() does it all.
 */
export async function mergeByStanding(
  repo: Repository,
  pair: { baseSha: Sha; headSha: Sha },
  purpose: Purpose,
): Promise<MergeResult | null> {
  const [baseSha, headSha] = [requireSha(pair.baseSha), requireSha(pair.headSha)]
  // git 2.39 writes the end of a result only together with the next one. So each merge is followed by one of a commit
  // with itself, which has nothing to do.
  const lines = `${baseSha} ${headSha}\n${headSha} ${headSha}\n`
  const result = await askStanding(repo, kindOf(repo, purpose), lines, readFirstOfTwo)
  if (result === null) return null
  // While it joins several ancestors git does not say which files it mixed.
  const ancestors = await mergeBases(repo, baseSha, headSha)
  if (ancestors.length > 1) return null
  const mixed = result.messages.flatMap(({ paths }) => paths)
  if (await couldAttributesMatter(repo, baseSha, mixed)) return null
  return resultOf(result)
}

function readFirstOfTwo(bytes: Buffer): StreamedResult | undefined {
  const fields = bytes.toString('latin1').split('\0')
  // The end of what was asked before.
  const start = fields[0] === '' && fields.length > 1 ? 1 : 0
  const first = readStreamed(fields, start)
  if (first === null) return undefined
  const rest = fields.slice(first.next)
  if (rest.length < 4) return undefined
  const [status, treeSha = '', ...ends] = rest
  if (status !== '1' || !isSha(treeSha) || ends.length > 3 || ends.some((field) => field !== ''))
    throw new Error('A commit merged with itself was no empty merge.')
  return first
}
