/** Counts unpushed commits by the current branches of the repository, not by those that a sandbox saw last. */
import { countBeyond, firstParents, readTips, type Repository } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { fetchForRequest } from '../../projects/mirrors/fetch-for-request.ts'
import { openRepository } from '../../projects/repository.ts'
import type { ProjectRow } from '../../projects/store.ts'

type CountDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'log'>

interface Branches {
  branch_name: string
  base_ref: string
}

interface Saved extends Branches {
  base_sha: string | null
  unpushed_commits: number
}

/** The time limit of the git host. After it, the last known branches count. */
const hostMs = 3_000
/** The limit of a daemon for one list. */
const listedMax = 100

/** The current tips of the branches of these sessions and of the default branch, with their commits in the store. */
export async function branchesNow(
  deps: CountDeps,
  store: Repository,
  project: ProjectRow,
  sessions: Branches[],
): Promise<Map<string, string>> {
  const names = [...new Set(sessions.flatMap(namesOf).concat(project.default_branch))]
  const live = project.managed ? null : await tipsOnHost(deps, project, names)
  if (live !== null) return live
  const seen = await readTips(store, names)
  return seen.kind === 'tips' ? seen.tips : new Map()
}

/** Null when the host does not answer in time. */
async function tipsOnHost(deps: CountDeps, project: ProjectRow, names: string[]): Promise<Map<string, string> | null> {
  const signal = AbortSignal.timeout(hostMs)
  try {
    const repository = await openRepository(deps, project)
    const live = await readTips(repository, names, { signal })
    if (live.kind === 'unreachable') return null
    const fetched = await fetchForRequest(repository, [...new Set(live.tips.values())], signal)
    return fetched.kind === 'present' ? live.tips : null
  } catch (error) {
    deps.log.debug(
      { err: error, project_id: project.project_id },
      'reading branches failed; counting commits by the last known ones',
    )
    return null
  }
}

/** Recounts the unpushed commits of saved work. The count can only decrease. */
export async function recount(
  store: Repository,
  saved: Saved,
  { project, branches }: { project: ProjectRow; branches: Map<string, string> },
): Promise<number> {
  if (saved.unpushed_commits === 0 || saved.base_sha === null) return saved.unpushed_commits
  const names = [...namesOf(saved), project.default_branch]
  const tips = [...new Set(names.flatMap((name) => branches.get(name) ?? []))]
  return (await countBeyond(store, { sha: saved.base_sha, tips })) ?? saved.unpushed_commits
}

/** Commits that a daemon counts as pushed: each tip with some earlier commits, as its sandbox may not have the tip yet. */
export async function pushedCommits(store: Repository, session: Branches, project: ProjectRow): Promise<string[]> {
  const seen = await readTips(store, [...namesOf(session), project.default_branch])
  const tips = seen.kind === 'tips' ? [...new Set(seen.tips.values())] : []
  const each = Math.floor(listedMax / Math.max(1, tips.length))
  const earlier = await Promise.all(tips.map((tip) => firstParents(store, tip, each)))
  return [...new Set([...tips, ...earlier.flat()])].slice(0, listedMax)
}

const namesOf = ({ branch_name, base_ref }: Branches) => [branch_name, base_ref]
