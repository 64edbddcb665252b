import { createBranch, createBranchByPush, type CreateBranchOutcome } from './branch.ts'
import { pathBytes } from '../formats/paths.ts'
import { durable } from '../objects/durable.ts'
import { writeCommit } from '../objects/write-commit.ts'
import { git, gitLine } from '../process/git.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'
import type { Person } from '../refs/refs.ts'

interface CommitFiles {
  /** Null: the commit is the first of the repository. */
  parent: Sha | null
  branch: string
  files: readonly {
    /** As git prints it, quoted where it is not UTF-8. Missing folders are created. */
    path: string
    content: string
  }[]
  message: string
  author: Person
  at: Date
}

/**
 * Writes files on a new branch that starts at `parent`, without a work tree. Calls `made` with the commit before the
 * branch exists.
 */
export async function commitFilesOnBranch(
  repo: Repository,
  input: CommitFiles,
  { made, ...options }: CallOptions & { made?: (sha: Sha) => Promise<unknown> } = {},
): Promise<CreateBranchOutcome & { sha: Sha }> {
  const parent = input.parent === null ? null : requireSha(input.parent)
  const files = input.files.map(({ path, content }) => ({ names: namesOf(path), content }))
  const write = { ...options, config: durable(repo) }
  let tree = parent === null ? null : requireSha(await gitLine(repo.dir, ['rev-parse', `${parent}^{tree}`], options))
  for (const { names, content } of files) {
    // Without a path, git converts nothing: the bytes are stored as they are given.
    const blob = requireSha(await gitLine(repo.dir, ['hash-object', '-w', '--stdin'], { ...write, input: content }))
    tree = await treeWith(repo, { tree, names, blob }, write)
  }
  if (tree === null) throw new TypeError('A first commit needs a file.')
  const { branch, message, author, at } = input
  const commit = { tree, parent, message, author, committer: author, at }
  const cut = { branch, sha: await writeCommit(repo.dir, commit, write) }
  await made?.(cut.sha)
  // A host's API creates branches only at commits it has, and this commit is new, so it is pushed.
  const { remote } = repo
  const outcome = remote
    ? await createBranchByPush({ dir: repo.dir, remote }, cut, options)
    : await createBranch(repo, cut, options)
  return { ...outcome, sha: cut.sha }
}

const splitPath = (path: string) => pathBytes(path).toString('latin1').split('/')
const isName = (name: string) => !/^(?:|\.|\.\.|\.git)$/i.test(name) && !name.includes('\0')

/** Whether git can have a file there. */
export const isFilePath = (path: string): boolean => splitPath(path).every(isName)

/** The bytes of each name, as latin1 text. */
function namesOf(path: string): string[] {
  const names = splitPath(path)
  if (!names.every(isName)) throw new TypeError(`Not a path of a file: ${JSON.stringify(path)}`)
  return names
}

/** The tree with this blob at its path. A file that exists keeps its mode. */
async function treeWith(
  repo: Repository,
  { tree, names: [name = '', ...rest], blob }: { tree: Sha | null; names: string[]; blob: Sha },
  write: CallOptions & { config: [string, string][] },
): Promise<Sha> {
  const listed = tree === null ? '' : (await git(repo.dir, ['ls-tree', '-z', tree], write)).stdout.toString('latin1')
  const entries = listed.split('\0').filter((entry) => entry !== '')
  // A name may have a tab, too.
  const known = entries.find((entry) => entry.slice(entry.indexOf('\t') + 1) === name)
  const [mode = '', type, id = ''] = known?.split(/[ \t]/) ?? []
  const folder = type === 'tree' ? requireSha(id) : null
  const made =
    rest.length === 0
      ? `${type === 'blob' ? mode : '100644'} blob ${blob}`
      : `040000 tree ${await treeWith(repo, { tree: folder, names: rest, blob }, write)}`
  const others = entries.filter((entry) => entry !== known)
  const input = Buffer.from([...others, `${made}\t${name}`, ''].join('\0'), 'latin1')
  return requireSha((await git(repo.dir, ['mktree', '-z'], { ...write, input })).stdout.toString().trim())
}
