import { pathBytes, pathText } from '../formats/paths.ts'
import { splitFields } from '../formats/nul-fields.ts'
import { git } from '../process/git.ts'
import { type CallOptions, type Repository, requireSha, type Sha } from '../repository.ts'
import { type CommitEntry, listCommits, readLog } from './browse.ts'

interface Named {
  sha: Sha
  path: string
}

/** Each name costs a walk through the history. */
const namesMax = 20
const renamesBytesMax = 4 * 1024 * 1024

/**
 * The history of a path, newest first, with the name it had in each commit. A file goes on under its earlier name in the
 * parents of the commit that renamed it. `skip` pages through all names.
 */
export async function listHistory(
  repo: Repository,
  input: Named & { limit: number; skip?: number },
  options: CallOptions = {},
): Promise<(CommitEntry & { path: string })[]> {
  const found: (CommitEntry & { path: string })[] = []
  let skip = input.skip ?? 0
  let at: Named | null = input
  for (let names = 0; at !== null && names < namesMax; names++) {
    const { sha, path } = at as Named
    const missing = input.limit - found.length
    const commits = await listCommits(repo, { sha, path, limit: missing, skip }, options)
    found.push(...commits.map((commit) => ({ ...commit, path })))
    if (commits.length === missing) break
    // The page begins under an earlier name, or goes on there.
    const all = commits.length === 0 && skip > 0 ? await listShas(repo, { sha, path }, options) : null
    skip = all === null ? 0 : skip - all.length
    const last = commits.at(-1)?.sha ?? all?.at(-1)
    at = last === undefined || skip < 0 ? null : await renamedFrom(repo, { sha: last, path }, options)
  }
  return found
}

async function listShas(repo: Repository, { sha, path }: Named, options: CallOptions): Promise<Sha[]> {
  const shas: Sha[] = []
  await readLog(repo, ['log', '-z', '--format=%H', requireSha(sha)], path, options, {
    keep: () => sha.length,
    take: (field) => void shas.push(field.toString('latin1')),
  })
  return shas
}

/** The parent in which the file had the name that this commit changed; null when the commit made it. */
async function renamedFrom(repo: Repository, { sha, path }: Named, options: CallOptions): Promise<Named | null> {
  const [commit] = await listCommits(repo, { sha, limit: 1 }, options)
  const name = pathBytes(path).toString('latin1')
  for (const parent of commit?.parents.slice(0, 2) ?? []) {
    const args = ['diff-tree', '-r', '-z', '--find-renames', '-l1000', '--diff-filter=R', '--name-status']
    const { stdout } = await git(repo.dir, [...args, requireSha(parent), requireSha(sha), '--'], {
      ...options,
      bytesMax: renamesBytesMax,
      overflow: 'cut',
    })
    const fields = await splitFields(stdout)
    // The similarity, the name before, and the name after.
    for (let at = 0; at + 2 < fields.length; at += 3)
      if (fields[at + 2] === name) return { sha: parent, path: pathText(Buffer.from(fields[at + 1]!, 'latin1')) }
  }
  return null
}
