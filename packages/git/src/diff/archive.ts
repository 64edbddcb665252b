import { streamChild } from '../process/child-stream.ts'
import { startGit } from '../process/git.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'

/** The files exceed the limit of an archive. */
export class ArchiveTooLarge extends Error {
  constructor() {
    super('The files of this commit exceed the size limit of an archive.')
    this.name = 'ArchiveTooLarge'
  }
}

/**
 * All files of a commit as a tar, as committed: export attributes in .gitattributes are meant for releases. A stream
 * over `bytesMax` fails, so that a truncated one never looks complete.
 */
export async function streamArchive(
  repo: Repository,
  commit: Sha,
  options: CallOptions & { bytesMax: number },
): Promise<ReadableStream<Uint8Array>> {
  const { bytesMax, ...call } = options
  // git looks for attributes in a work tree, which a bare repository lacks, so it finds none.
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
