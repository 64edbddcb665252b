import { couldAttributesMatter } from './attributes.ts'
import { parseMessages, readStreamed, type StreamedResult } from '../formats/conflicts.ts'
import { type MergeResult, mergeTreeArgs, resultOf } from './merge-tree.ts'
import { mergeBases } from '../refs/refs.ts'
import { isSha, requireSha, type Repository, type Sha } from '../repository.ts'
import { type PooledGitKind, talkToPooledGit } from '../process/pooled-git.ts'

const preview: PooledGitKind = { name: 'preview', args: [...mergeTreeArgs, '--stdin'], discards: true }
/** Separate from previews: the objects it wrote are moved out each time. */
const merge: PooledGitKind = { ...preview, name: 'merge' }

type KeepResult = (treeSha: Sha, objectsDir: string) => Promise<void>

/**
 * Merges two commits with a pooled git process. null: there is none, or attributes may matter, for which git needs a
 * work tree; then use mergeTrees(). `keep` gets a clean result and the folder of its objects, which are otherwise
 * discarded; it may be called although this returns null in the end.
 */
export async function mergeInPooledGit(
  repo: Repository,
  pair: { baseSha: Sha; headSha: Sha },
  keep: KeepResult | null,
): Promise<MergeResult | null> {
  const [baseSha, headSha] = [requireSha(pair.baseSha), requireSha(pair.headSha)]
  // git 2.39 prints the end of a result only with the next one. So each merge is followed by the merge of a commit
  // with itself, which does nothing.
  const lines = `${baseSha} ${headSha}\n${headSha} ${headSha}\n`
  const talk = talkToPooledGit(repo, keep === null ? preview : merge, async (ask, objectsDir) => {
    const answer = await ask(lines, readFirstOfTwo)
    if (keep !== null && answer.isClean) await keep(answer.treeSha, objectsDir)
    return answer
  })
  const [result, ancestors] = await Promise.all([talk, mergeBases(repo, baseSha, headSha)])
  if (result === null) return null
  // With several merge bases git does not report which files it merged to join them.
  if (ancestors.length > 1) return null
  const mixed = (await parseMessages(result.messageFields)).flatMap(({ paths }) => paths)
  if (await couldAttributesMatter(repo, baseSha, mixed)) return null
  return resultOf(result)
}

/** The end of the output after the merge of a commit with itself: its tree, no conflict, and no message. */
const endOfTwo = /\x001\0[0-9a-f]+\0{2,3}$/

function readFirstOfTwo(bytes: Buffer): StreamedResult | undefined {
  // A long answer arrives in hundreds of chunks, so do not parse it from the beginning for each.
  if (!endOfTwo.test(bytes.toString('latin1', Math.max(0, bytes.length - 80)))) return undefined
  const fields = bytes.toString('latin1').split('\0')
  // The end of the previous answer.
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
