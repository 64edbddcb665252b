/** How to read a change: an order of its files, and the code that it moves. */
import type { ReadingGuide } from '@svc/contract'
import { movedBlocks, readTexts } from '@svc/git'
import { withinLimits } from '../../projects/within-limits.ts'
import type { PairDeps } from '../preview/commit-pair.ts'
import { type DiffOptions, readDiff } from '../preview/diff.ts'
import { readingOrder } from './reading-order.ts'

/** Beyond these numbers, files are left out of the order, or ordered by their names and sizes alone. */
const filesMax = 5_000
const readMax = 1_000
const limits = { fileBytesMax: 256 * 1024, bytesMax: 8 * 1024 * 1024 }

export async function readingGuide(deps: PairDeps, input: DiffOptions): Promise<ReadingGuide> {
  const { repository, diff } = await readDiff(deps, input)
  const files = diff.files.slice(0, filesMax)
  const paths = files.flatMap(({ path, status, binary }) => (binary || status === 'deleted' ? [] : [path]))
  const read = { sha: diff.head_sha, paths: paths.slice(0, readMax), ...limits }
  const texts = await withinLimits(readTexts(repository, read, { signal: input.signal }))
  const named = diff.files.map(({ path, old_path }) => ({ before: old_path ?? path, after: path }))
  const { moves, truncated } = await movedBlocks(diff.patch, named)
  return {
    ...{ cr_id: diff.cr_id, base_sha: diff.base_sha, head_sha: diff.head_sha },
    order: readingOrder(files, texts),
    moves,
    truncated: truncated || diff.truncated || files.length < diff.files.length || paths.length > readMax,
  }
}
