import { streamChild } from './child-stream.ts'
import { startGit } from './git.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from './repository.ts'

/** More files than an archive may hold. */
export class ArchiveTooLarge extends Error {
  constructor() {
    super('The files of this commit are larger than an archive may be.')
    this.name = 'ArchiveTooLarge'
  }
}

/**
 * All files of a commit as a tar, as they were committed: what .gitattributes leaves out of archives or writes into them
 * is meant for releases. A stream past `bytesMax` breaks, so that a cut one never looks whole.
 */
export async function streamArchive(
  repo: Repository,
  commit: Sha,
  options: CallOptions & { bytesMax: number },
): Promise<ReadableStream<Uint8Array>> {
  const { bytesMax, ...call } = options
  // Attributes are looked for in a work tree, which a bare repository has not, so none are found.
  const args = ['archive', '--format=tar', '--worktree-attributes', requireSha(commit)]
  const child = await startGit(repo.dir, args, { ...call, lane: 'serve' })
  child.stdin.end()
  let bytes = 0
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length
      if (bytes > bytesMax) controller.error(new ArchiveTooLarge())
      else controller.enqueue(chunk)
    },
  })
  return streamChild(child, { args }).pipeThrough(count)
}
