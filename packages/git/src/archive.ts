import { streamChild } from './child-stream.ts'
import { startGit } from './git.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from './repository.ts'

/**
 * All files of a commit as a tar. A stream past `bytesMax` breaks, so that a cut one never looks whole. What
 * .gitattributes leaves out of archives or writes into them is heeded unless `asCommitted`.
 */
export async function streamArchive(
  repo: Repository,
  commit: Sha,
  options: CallOptions & { bytesMax: number; asCommitted?: boolean },
): Promise<ReadableStream<Uint8Array>> {
  const { bytesMax, asCommitted = false, ...call } = options
  // Attributes are then looked for in a work tree, which a bare repository has not.
  const heed = asCommitted ? ['--worktree-attributes'] : []
  const args = ['archive', '--format=tar', ...heed, requireSha(commit)]
  const child = await startGit(repo.dir, args, { ...call, lane: 'serve' })
  child.stdin.end()
  let bytes = 0
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length
      if (bytes > bytesMax) controller.error(new Error(`The files are larger than ${bytesMax / 1024 ** 2} MiB.`))
      else controller.enqueue(chunk)
    },
  })
  return streamChild(child, { args }).pipeThrough(count)
}
