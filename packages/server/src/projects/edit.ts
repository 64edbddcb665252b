import { ServiceError } from '@svc/contract'
import { probeRemote, readTips } from '@svc/git'
import { recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import { accessGiven, accessToSeal } from './git-access.ts'
import { judgeRemote, meetHost, openRepository, sealGitToken, unreachable } from './repository.ts'
import { type ProjectRow, updateProject } from './store.ts'

export interface EditProject {
  project: ProjectRow
  caller: Caller
  name?: string | undefined
  default_branch?: string | undefined
  git_token?: string | undefined
  git_username?: string | undefined
  settings?: { agent_merge?: 'allow' | 'deny' | undefined; manifest_gate?: 'on' | 'off' | undefined } | undefined
}

export async function editProject(
  deps: Pick<Deps, 'db' | 'config' | 'keyring'>,
  input: EditProject,
): Promise<ProjectRow> {
  const { project } = input
  const isGiven = input.git_token !== undefined || input.git_username !== undefined
  const access = isGiven ? await requireWorkingAccess(deps, input) : null
  if (input.default_branch !== undefined) await requireBranch(deps, project, input.default_branch)
  return deps.db.transaction().execute(async (trx) => {
    const after = await updateProject(trx, project.project_id, {
      ...(input.name === undefined ? {} : { name: input.name }),
      ...(input.default_branch === undefined ? {} : { default_branch: input.default_branch }),
      ...(access === null ? {} : { git_token: sealGitToken(deps, project, access) }),
      ...(input.git_username === undefined ? {} : { git_username: input.git_username }),
      ...(input.settings === undefined ? {} : { settings: input.settings }),
    })
    await recordAudit(trx, input.caller, {
      account_id: project.account_id,
      project_id: project.project_id,
      action: 'project.update',
      object_type: 'project',
      object_id: project.project_id,
      before: shown(project),
      after: { ...shown(after), ...(input.git_token === undefined ? {} : { git_token: 'changed' }) },
    })
    return after
  })
}

function shown(row: ProjectRow) {
  return { name: row.name, default_branch: row.default_branch, settings: row.settings }
}

/** What to seal of an access that was tried. */
async function requireWorkingAccess(deps: Pick<Deps, 'config' | 'db'>, input: EditProject): Promise<string | null> {
  if (input.project.managed)
    throw new ServiceError('invalid', 'A managed repository has no credential.', {
      detail: { issues: [{ path: 'git_token', message: 'goes with an external repository' }] },
    })
  if (input.git_token === undefined)
    throw new ServiceError('invalid', 'A user name goes with the token it belongs to.', {
      detail: { issues: [{ path: 'git_token', message: 'is required with git_username' }] },
    })
  const access = accessGiven({
    git_token: input.git_token,
    git_username: input.git_username ?? input.project.git_username ?? undefined,
  })
  const { repo_url: url, account_id: accountId } = input.project
  const remote = await meetHost(await judgeRemote(deps, { url, access, accountId }))
  const probe = await probeRemote(remote)
  if (probe.kind === 'unreachable') throw unreachable(probe.reason ?? 'its host does not answer')
  if (probe.kind !== 'writable')
    throw new ServiceError(
      'repository_refused',
      `This credential may not push to the repository${probe.reason === null ? '.' : `: ${probe.reason}`}`,
      {
        detail: { issues: [{ path: 'git_token', message: 'may not push' }] },
      },
    )
  return accessToSeal(remote)
}

async function requireBranch(
  deps: Pick<Deps, 'config' | 'db' | 'keyring'>,
  project: ProjectRow,
  branch: string,
): Promise<void> {
  const tips = await readTips(await openRepository(deps, project), [branch], {})
  if (tips.kind === 'unreachable') throw unreachable(tips.reason)
  if (!tips.tips.has(branch))
    throw new ServiceError('ref_not_found', `The repository has no branch ${JSON.stringify(branch)}.`, {
      detail: { ref: branch, issues: [{ path: 'default_branch', message: 'does not exist' }] },
    })
}
