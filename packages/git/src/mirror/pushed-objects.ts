/** Whether the packs of a push are all that a copy lacks. */
import { git, GitError } from '../process/git.ts'
import type { Repository, Sha } from '../repository.ts'

interface Pushed {
  commits: Sha[]
  /** Commits that the copy has with their whole history. */
  has: Sha[]
  /** The index files of the packs. */
  indexes: Buffer[]
}

/**
 * A pusher leaves out what the repository has: with `push.negotiate` also what no ref reaches any more, such as the commits
 * of a deleted branch. A copy that was made since does not have those. False, too, when that is not known.
 */
export async function isAllThatCopyLacks(
  repo: Pick<Repository, 'dir'>,
  { commits, has, indexes }: Pushed,
): Promise<boolean> {
  const idBytes = (commits[0] ?? '').length / 2
  const ids = new Set(indexes.flatMap((index) => idsOf(index, idBytes)))
  const args = ['rev-list', '--objects', '--no-object-names', '--ignore-missing', '--stdin']
  try {
    const { stdout, cut } = await git(repo.dir, args, {
      input: [...commits, ...has.map((sha) => `^${sha}`), ''].join('\n'),
      // More lines than the packs have objects.
      bytesMax: ids.size * (2 * idBytes + 1) + 1,
      overflow: 'cut',
    })
    return (
      !cut &&
      stdout
        .toString()
        .split('\n')
        .filter(Boolean)
        .every((id) => ids.has(id))
    )
  } catch (error) {
    if (error instanceof GitError && error.failure !== 'aborted') return isUnknown()
    throw error
  }
}

/** git makes the pack for the copy then, and says what is wrong if it fails, too. */
function isUnknown(): boolean {
  return false
}

/** Version 2, which git writes: eight bytes, 256 counts, and the ids in their order. */
function idsOf(index: Buffer, idBytes: number): string[] {
  const begin = 8 + 256 * 4
  const count = index.readUInt32BE(begin - 4)
  return Array.from({ length: count }, (_, at) =>
    index.toString('hex', begin + at * idBytes, begin + (at + 1) * idBytes),
  )
}
