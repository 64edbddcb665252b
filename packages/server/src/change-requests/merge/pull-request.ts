/** Change requests whose base the git host protects, and the pull requests through which they land there. */
import { type HostPullRequest, ServiceError } from '@svc/contract'
import { type GitHubApi, gitHubRepository, openPullRequest, type Remote, type Repository } from '@svc/git'
import { recordAudit } from '../../audit/record.ts'
import type { Caller, ProjectActor, UserActor } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import { protectionOf } from '../../projects/protection-store.ts'
import { locateRepository, unreachable } from '../../projects/repository.ts'
import { redactorOfSession } from '../../secrets/redactor-for.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { auditOf } from '../audit.ts'
import { getHostLanding, saveHostLanding } from './host-landing-store.ts'
import { requireMove } from '../moves.ts'
import { type ChangeRequestRow, requireChangeRequest } from '../store.ts'
import { refuseAgentMerge } from './who-may-merge.ts'

type PullDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'log' | 'now' | 'redaction'>
export type HostRemote = Remote & { github: GitHubApi }

/** The remote of a repository whose host has an API that opens pull requests; null when it has none. */
export function pullRequestRemote({ remote }: Pick<Repository, 'remote'>): HostRemote | null {
  if (remote?.github === undefined || remote.credential === null || gitHubRepository(remote.url) === null) return null
  return { ...remote, github: remote.github }
}

export async function getPullRequest(deps: PullDeps, { project, crId }: { project: ProjectRow; crId: string }) {
  const cr = await requireChangeRequest(deps.db, project.project_id, crId)
  const [protection, landing] = await Promise.all([
    protectionOf(deps.db, { project_id: cr.project_id, branch: cr.base_ref }),
    getHostLanding(deps.db, cr.cr_id),
  ])
  const { branch, reason, found_by, found_at } = protection ?? {}
  return {
    protection:
      protection === null ? null : { branch: branch!, reason: reason!, found_by: found_by!, found_at: found_at! },
    can_open: protection !== null && pullRequestRemote(await locateRepository(deps, project)) !== null,
    pull_request:
      landing === null || landing.number === null || landing.url === null
        ? null
        : { number: landing.number, url: landing.url, created_at: landing.created_at },
  }
}

/** Requires a person, as a merge does: what the host merges from the pull request becomes the merge of the change request. */
export async function openHostPullRequest(
  deps: PullDeps,
  input: { project: ProjectRow; caller: Caller<UserActor | ProjectActor>; crId: string; signal: AbortSignal },
): Promise<HostPullRequest> {
  const { project, caller, signal } = input
  const cr = await requireChangeRequest(deps.db, project.project_id, input.crId)
  await refuseAgentMerge(deps.db, { project, actor: caller.actor, cr })
  requireMove('merge', cr)
  const remote = project.managed ? null : pullRequestRemote(await locateRepository(deps, project))
  if (remote === null)
    throw new ServiceError('conflict', 'The git host of this project has no API that opens pull requests.', {
      hint: 'Merge the head branch on the git host. This change request is marked as merged once its base has the commits.',
    })
  const outcome = await openPullRequest(
    remote,
    { base: cr.base_ref, head: cr.head_ref, ...(await textOf(deps, project, cr)) },
    { signal },
  )
  switch (outcome.kind) {
    case 'unreachable':
      throw unreachable(outcome.reason)
    case 'refused':
      throw new ServiceError('unprocessable', `The git host refused the pull request: ${outcome.reason}`, {
        hint: "Let the project's credential open pull requests, or open one on the git host yourself.",
        detail: { reason: outcome.reason },
      })
    case 'found': {
      const { number, url } = outcome.pull
      await saveHostLanding(deps.db, { cr, caller, pull: { number, url }, at: deps.now() })
      await recordAudit(
        deps.db,
        caller,
        auditOf(cr, 'pull_request', { before: null, after: { pull_request: number, url } }),
      )
      return getPullRequest(deps, { project, crId: cr.cr_id })
    }
    default:
      return outcome satisfies never
  }
}

/** An agent may have written title and description, and they leave this server here. */
async function textOf(
  deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'redaction'>,
  project: ProjectRow,
  cr: ChangeRequestRow,
): Promise<{ title: string; body: string }> {
  const page = `${deps.config.publicUrl}/projects/${project.slug}/change-requests/${cr.number}`
  const redactor = await redactorOfSession(deps, project, cr.origin_session_id)
  const text = (written: string) => redactor.text(written)
  return { title: text(cr.title), body: `${text(cr.description)}\n\nChange request #${cr.number}: ${page}`.trim() }
}
