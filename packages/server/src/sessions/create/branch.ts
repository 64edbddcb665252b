import { ServiceError } from '@svc/contract'
import { createBranch, readTips, type Repository } from '@svc/git'
import { withLock } from '../../db/lock.ts'
import { withDeadline } from '../../deadline.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps, HowToSend } from '../../deps.ts'
import { acknowledge, type AcknowledgeDeps, recordMissing } from '../../projects/acknowledge.ts'
import { deletionLock } from '../../projects/branch-deletion.ts'
import type { Homed } from '../../projects/home-store.ts'
import { unreachable } from '../../projects/repository.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { type SessionRow, updateSession } from '../store.ts'
import { recordBranch, unmarkBranch } from './branch-store.ts'

export async function baseTip(repository: Repository, baseRef: string): Promise<string> {
  const tips = await readTips(repository, [baseRef], {})
  if (tips.kind === 'unreachable') throw unreachable(tips.reason)
  const sha = tips.tips.get(baseRef)
  if (sha === undefined) {
    const all = await readTips(repository, 'all', {})
    const isEmpty = all.kind === 'tips' && all.tips.size === 0
    throw new ServiceError('ref_not_found', `The repository has no branch ${JSON.stringify(baseRef)}.`, {
      hint: isEmpty
        ? 'Push a first commit to it, for example with `svc ship` or `git push`.'
        : 'Push that branch first, or name another with base_ref.',
      detail: { ref: baseRef, issues: [{ path: 'base_ref', message: 'does not exist' }] },
    })
  }
  return sha
}

type BranchDeps = AcknowledgeDeps & Pick<Deps, 'log'>

type OnWait = HowToSend['onWait']

interface OfProject {
  project: Homed
  repository: Repository
}

type OfSession = Pick<
  SessionRow,
  'session_id' | 'branch_name' | 'base_ref' | 'start_sha' | 'branch_deleted_at' | 'generation'
>

/** Creates the branch of a session unless it exists. An existing branch may hold work, so it stays unchanged. */
export async function ensureSessionBranch(
  deps: BranchDeps & Pick<Deps, 'locks'>,
  { project, repository }: OfProject & { project: ProjectRow },
  session: OfSession,
  { signal, onWait }: { signal: AbortSignal; onWait: OnWait },
): Promise<void> {
  if (session.branch_deleted_at === null) return ensureBranch(deps, { project, repository }, session, onWait)
  // It was merged and then deleted, or is being deleted at this moment: it begins where its base is now. A mark that is
  // left is of a server that died.
  const { branch_name: branch } = session
  const unmarked = withLock(deps, deletionLock(project.project_id), () => unmarkBranch(deps.db, { ...project, branch }))
  // A git host may be slow, and another server may be paused while it holds the lock.
  await withDeadline(unmarked, deletionMsMax, tooLong, { signal })
  await ensureBranch(deps, { project, repository }, { ...session, start_sha: null }, onWait)
  await updateSession(deps.db, session.session_id, { branch_deleted_at: null, start_sha: null })
}

const deletionMsMax = 60_000

function tooLong(): never {
  throw new ServiceError('unavailable', 'The server is deleting merged branches of this project, which takes long.', {
    hint: 'Restart the session in a few minutes.',
  })
}

async function ensureBranch(
  deps: BranchDeps,
  { project, repository }: OfProject & { project: ProjectRow },
  session: OfSession,
  onWait: OnWait,
): Promise<void> {
  const { branch_name: branch, base_ref, start_sha, generation } = session
  const found = await readTips(repository, [branch, base_ref], {})
  if (found.kind === 'unreachable') throw unreachable(found.reason)
  if (found.tips.has(branch)) {
    // An earlier try may have made it without a record.
    if (repository.remote === null) await recordMissing(deps, { project, store: repository, onWait })
    return
  }
  // The base of a session that ran before may have been merged and deleted since.
  const isBaseGone = generation > 1 && !found.tips.has(base_ref)
  const sha = start_sha ?? (await baseTip(repository, isBaseGone ? project.default_branch : base_ref))
  await cutSessionBranch(deps, { project, repository }, { branch, sha, onWait })
}

export async function cutSessionBranch(
  deps: BranchDeps,
  { project, repository }: OfProject,
  cut: { branch: string; sha: string; onWait?: OnWait },
): Promise<void> {
  const { onWait } = cut
  if (repository.remote === null) await deps.replicas.send(project, repository, [cut.sha], { onWait })
  const outcome = await createBranch(repository, { branch: cut.branch, sha: cut.sha })
  const refs = [{ ref: `refs/heads/${cut.branch}`, old: null }]
  // Another caller may have made an existing one, so it is never deleted.
  const record = (db: DbOrTransaction) => recordBranch(db, { project_id: project.project_id, branch: cut.branch })
  if (outcome.kind === 'created' && repository.remote !== null) await record(deps.db)
  else if (outcome.kind === 'created') await acknowledge(deps, { project, store: repository, refs, onWait }, record)
  switch (outcome.kind) {
    case 'created':
    case 'exists':
      // The push is slower than the API, and the operator may fix it with more token scopes.
      if (outcome.apiRemark !== undefined)
        deps.log.info(
          { branch: cut.branch, reason: outcome.apiRemark },
          'a session branch was pushed instead of created through the API',
        )
      return
    case 'rejected':
      throw new ServiceError('repository_refused', `The repository refused the session branch: ${outcome.reason}`, {
        hint: 'Allow the credential of this project to create branches.',
      })
    case 'unreachable':
      throw unreachable(outcome.reason)
    default:
      return outcome satisfies never
  }
}
