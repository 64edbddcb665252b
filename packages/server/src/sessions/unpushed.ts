/** Commits of sessions that no branch of their repository has, by the branches as they are now and not as a sandbox saw them last. */
import { countBeyond, firstParents, readTips, type Repository } from '@svc/git'
import type { Deps } from '../deps.ts'
import { bring } from '../projects/bring.ts'
import { openRepository } from '../projects/repository.ts'
import type { ProjectRow } from '../projects/store.ts'

type CountDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'log'>

interface Branches {
  branch_name: string
  base_ref: string
}

interface Saved extends Branches {
  base_sha: string | null
  unpushed_commits: number
}

/** A reader waits no longer for the host; then the branches count as they were seen last. */
const hostMs = 3_000
/** What a daemon takes in one list. */
const toldMax = 100

/** Where the branches of these sessions and the default branch stand now, with their commits in the store. */
export async function branchesNow(
  deps: CountDeps,
  store: Repository,
  project: ProjectRow,
  sessions: Branches[],
): Promise<Map<string, string>> {
  const names = [...new Set(sessions.flatMap(namesOf).concat(project.default_branch))]
  const live = project.managed ? null : await askHost(deps, project, names)
  if (live !== null) return live
  const seen = await readTips(store, names)
  return seen.kind === 'tips' ? seen.tips : new Map()
}

/** Null when the host does not answer in time. */
async function askHost(deps: CountDeps, project: ProjectRow, names: string[]): Promise<Map<string, string> | null> {
  const signal = AbortSignal.timeout(hostMs)
  try {
    const repository = await openRepository(deps, project)
    const live = await readTips(repository, names, { signal })
    if (live.kind === 'unreachable') return null
    const brought = await bring(repository, [...new Set(live.tips.values())], signal)
    return brought.kind === 'present' ? live.tips : null
  } catch (error) {
    deps.log.debug({ err: error, project_id: project.project_id }, 'commits are counted by branches as last seen')
    return null
  }
}

/** The count of saved work as it is now. Work that had nothing to push has nothing to push. */
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

/**
 * Commits that a daemon counts as pushed. Its sandbox does not have a tip that another caller pushed, so it gets some of
 * the commits before each tip too.
 */
export async function pushedCommits(store: Repository, session: Branches, project: ProjectRow): Promise<string[]> {
  const seen = await readTips(store, [...namesOf(session), project.default_branch])
  const tips = seen.kind === 'tips' ? [...new Set(seen.tips.values())] : []
  const each = Math.floor(toldMax / Math.max(1, tips.length))
  const told = await Promise.all(tips.map((tip) => firstParents(store, tip, each)))
  return [...new Set([...tips, ...told.flat()])].slice(0, toldMax)
}

const namesOf = ({ branch_name, base_ref }: Branches) => [branch_name, base_ref]
