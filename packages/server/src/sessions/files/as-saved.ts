/** The files of a session without a sandbox: its branch, or the unfinished work that was saved on top of it. */
import { ServiceError } from '@svc/contract'
import { type GitState, workTreeEntriesMax, workTreeFileBytesMax } from '@svc/contract/daemon/work-tree'
import { diffCommits, hasObjects, listTree, readFileAt, type Repository } from '@svc/git'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { withinLimits } from '../../projects/within-limits.ts'
import type { SessionWithSandbox } from '../store.ts'
import { type WipRow, wipOf } from '../unfinished-work/store.ts'
import { branchesNow } from '../unfinished-work/unpushed.ts'
import { storeOf } from '../unfinished-work/wip.ts'
import type { Found } from './found.ts'

interface Wanted {
  project: ProjectRow
  session: SessionWithSandbox
  path: string
  signal: AbortSignal
}

export interface Saved {
  found: Found
  savedAt: string | null
  notes: string[]
}

export async function filesAsSaved(
  deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'log'>,
  { project, session, path, signal }: Wanted,
): Promise<Saved> {
  const store = storeOf(deps, project)
  const work = await savedWork(deps, store, session)
  const sha = work?.commit_sha ?? (await branchesNow(deps, store, project, [session])).get(session.branch_name)
  if (sha === undefined || !(await hasObjects(store, [sha])))
    throw new ServiceError('not_found', 'Nothing of this session is saved: its branch is gone.', {
      hint: 'Its changes may be in a change request or on the default branch.',
    })
  const states = work === null ? allCommitted : await statesOf(store, { work, path, signal })
  return {
    found: await readAt(store, { sha, path, states, signal }),
    savedAt: work?.saved_at ?? null,
    notes: [
      `The session is ${session.status}. ${work === null ? 'These are the files of its branch.' : 'These are the files of its branch with the work that was saved last, without files that git ignores.'}`,
      ...(work?.notes ?? []),
    ],
  }
}

async function savedWork(
  deps: Pick<Deps, 'db'>,
  store: Repository,
  { session_id }: SessionWithSandbox,
): Promise<WipRow | null> {
  const work = (await wipOf(deps.db, session_id)).find((row) => row.recovered_at === null)
  return work !== undefined && (await hasObjects(store, [work.commit_sha])) ? work : null
}

/** Of the path that was asked for, and of what is in it. A folder with a change is new where the base does not have it. */
type States = (path: string, isFolder: boolean) => GitState

const allCommitted: States = () => 'committed'

async function statesOf(
  store: Repository,
  { work, path, signal }: { work: WipRow; path: string; signal: AbortSignal },
): Promise<States> {
  const { base_sha: baseSha, commit_sha: headSha } = work
  if (baseSha === null || !(await hasObjects(store, [baseSha]))) return () => 'new'
  const { files } = await withinLimits(diffCommits(store, { baseSha, headSha }, { signal }))
  const changed = new Map(files.map((file) => [file.path, file.status === 'added' ? 'new' : 'changed'] as const))
  const base = await withinLimits(listTree(store, { sha: baseSha, path }, { signal }))
  const inBase = new Set(base === null ? [] : [path, ...base.map((entry) => entry.path)])
  return (at, isFolder) => {
    if (!isFolder) return changed.get(at) ?? 'committed'
    const below = at === '' ? '' : `${at}/`
    if (!changed.keys().some((each) => each.startsWith(below))) return 'committed'
    return inBase.has(at) ? 'changed' : 'new'
  }
}

async function readAt(
  store: Repository,
  { sha, path, states, signal }: { sha: string; path: string; states: States; signal: AbortSignal },
): Promise<Found> {
  const file = await withinLimits(readFileAt(store, { sha, path, bytesMax: workTreeFileBytesMax }, { signal }))
  switch (file.kind) {
    case 'file': {
      const git = states(path, false)
      if (file.mode === '120000') return { kind: 'symlink', git, target: Buffer.from(file.content).toString('utf8') }
      const kind = file.mode === '100755' ? 'executable' : 'file'
      return { kind, git, size: file.size, content: file.content }
    }
    case 'submodule':
      return { kind: 'missing', why: 'submodule' }
    case 'missing':
      return { kind: 'missing', why: 'absent' }
    case 'directory': {
      const entries = await withinLimits(listTree(store, { sha, path }, { signal }))
      if (entries === null) return { kind: 'missing', why: 'absent' }
      return {
        kind: 'directory',
        git: states(path, true),
        entries: entries
          .slice(0, workTreeEntriesMax)
          .map(({ name, path: at, type, size }) => ({ name, type, size, git: states(at, type === 'directory') })),
        truncated: entries.length > workTreeEntriesMax,
      }
    }
    default:
      return file satisfies never
  }
}
