import { couldAttributesMatter } from './merge-attributes.ts'
import { parseMessages, readStreamed, type StreamedResult } from './merge-conflicts.ts'
import { resultOf } from './merge-each.ts'
import type { MergeResult } from './merge-tree.ts'
import { mergeBases } from './refs.ts'
import { isSha, requireSha, type Repository, type Sha } from './repository.ts'
import { type StandingKind, talkToStanding } from './standing.ts'

const args = ['merge-tree', '--write-tree', '-z', '--messages', '--allow-unrelated-histories', '--stdin']
const preview: StandingKind = { name: 'preview', args, discards: true }
/** Apart from the other: what it wrote is taken from it each time. */
const merge: StandingKind = { ...preview, name: 'merge' }

export type KeepResult = (treeSha: Sha, objectsDir: string) => Promise<void>

/**
 * The merge of two commits by a git that is running already. null: there is none, or attributes may have a say in it,
 * for which git needs a work tree of its own; mergeTrees() does it all. `keep` gets a clean result and the folder of its objects,
 * which are thrown away otherwise; it may be called with a result that in the end is none.
 */
export async function mergeByStanding(
  repo: Repository,
  pair: { baseSha: Sha; headSha: Sha },
  keep: KeepResult | null,
): Promise<MergeResult | null> {
  const [baseSha, headSha] = [requireSha(pair.baseSha), requireSha(pair.headSha)]
  // git 2.39 writes the end of a result only together with the next one. So each merge is followed by one of a commit
  // with itself, which has nothing to do.
  const lines = `${baseSha} ${headSha}\n${headSha} ${headSha}\n`
  const result = await talkToStanding(repo, keep === null ? preview : merge, async (ask, objectsDir) => {
    const answer = await ask(lines, readFirstOfTwo)
    if (keep !== null && answer.isClean) await keep(answer.treeSha, objectsDir)
    return answer
  })
  if (result === null) return null
  // While it joins several ancestors git does not say which files it mixed.
  const ancestors = await mergeBases(repo, baseSha, headSha)
  if (ancestors.length > 1) return null
  const mixed = (await parseMessages(result.messageFields)).flatMap(({ paths }) => paths)
  if (await couldAttributesMatter(repo, baseSha, mixed)) return null
  return resultOf(result)
}

/** What the merge of a commit with itself leaves at the end: its tree, no file in conflict and no message. */
const endOfTwo = /\x001\0[0-9a-f]+\0{2,3}$/

function readFirstOfTwo(bytes: Buffer): StreamedResult | undefined {
  // A long answer comes in hundreds of pieces and is not read from its beginning at each of them.
  if (!endOfTwo.test(bytes.toString('latin1', Math.max(0, bytes.length - 80)))) return undefined
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
