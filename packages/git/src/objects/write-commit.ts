import { gitLine } from '../process/git.ts'
import type { Person } from '../refs/refs.ts'
import { requireSha, type CallOptions, type Sha } from '../repository.ts'

export interface NewCommit {
  tree: Sha
  /** Null: the commit is the first of the repository. */
  parent: Sha | null
  message: string
  author: Person
  committer: Person
  at: Date
}

export async function writeCommit(
  dir: string,
  { tree, parent, message, author, committer, at }: NewCommit,
  options: CallOptions & { config?: [string, string][] },
): Promise<Sha> {
  const date = `${Math.floor(at.getTime() / 1000)} +0000`
  const sha = await gitLine(dir, ['commit-tree', ...(parent === null ? [] : ['-p', parent]), tree], {
    ...options,
    // git treats a NUL as the end of a message.
    input: message.replaceAll('\0', ''),
    env: {
      ...{ GIT_AUTHOR_NAME: author.name, GIT_AUTHOR_EMAIL: author.email, GIT_AUTHOR_DATE: date },
      ...{ GIT_COMMITTER_NAME: committer.name, GIT_COMMITTER_EMAIL: committer.email, GIT_COMMITTER_DATE: date },
    },
  })
  return requireSha(sha)
}
