import { createBranch, createBranchByPush, type CreateBranchOutcome } from './branch.ts'
import { durable } from '../objects/durable.ts'
import { git, gitLine } from '../process/git.ts'
import { requireSha, type CallOptions, type Repository, type Sha } from '../repository.ts'
import type { Person } from '../refs/refs.ts'

/**
 * Writes one file of the root folder on a new branch that starts at `parent`, without a work tree. Calls `made` with the
 * commit before the branch exists.
 */
export async function commitFileOnBranch(
  repo: Repository,
  input: { parent: Sha; branch: string; name: string; content: string; message: string; author: Person; at: Date },
  { made, ...options }: CallOptions & { made?: (sha: Sha) => Promise<unknown> } = {},
): Promise<CreateBranchOutcome & { sha: Sha }> {
  if (!/^[\w.-]+$/.test(input.name)) throw new TypeError(`Not a file of the root folder: ${JSON.stringify(input.name)}`)
  const parent = requireSha(input.parent)
  const write = { ...options, config: durable(repo) }
  const blob = await gitLine(repo.dir, ['hash-object', '-w', '--stdin'], { ...write, input: input.content })
  const { stdout } = await git(repo.dir, ['ls-tree', '-z', parent], options)
  const entries = stdout
    .toString('latin1')
    .split('\0')
    .filter((entry) => entry !== '' && !entry.endsWith(`\t${input.name}`))
  const tree = await git(repo.dir, ['mktree', '-z'], {
    ...write,
    input: Buffer.from([...entries, `100644 blob ${blob}\t${input.name}`, ''].join('\0'), 'latin1'),
  })
  const date = `${Math.floor(input.at.getTime() / 1000)} +0000`
  const { name, email } = input.author
  const sha = await gitLine(repo.dir, ['commit-tree', '-p', parent, requireSha(tree.stdout.toString().trim())], {
    ...write,
    input: input.message,
    env: {
      ...{ GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: date },
      ...{ GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email, GIT_COMMITTER_DATE: date },
    },
  })
  const cut = { branch: input.branch, sha: requireSha(sha) }
  await made?.(cut.sha)
  // A host's API creates branches only at commits it has, and this commit is new, so it is pushed.
  const { remote } = repo
  const outcome = remote
    ? await createBranchByPush({ dir: repo.dir, remote }, cut, options)
    : await createBranch(repo, cut, options)
  return { ...outcome, sha: cut.sha }
}
