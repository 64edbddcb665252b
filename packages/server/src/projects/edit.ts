import { type BodyOf, projectSettings, ServiceError, type updateProjectRoute } from '@svc/contract'
import { followDefaultBranch, probeRemote, readTips } from '@svc/git'
import { auditEvent, recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { accessGiven, accessToSeal, keyWithoutSsh, makeAccess } from './hosts/git-access.ts'
import { apiOfProject, isOfSameHost } from './hosts/github.ts'
import { branchIsLeaving } from './branch-deletion.ts'
import { mayUseMachine } from './hosts/judge-address.ts'
import { forgetProtection } from './protection-store.ts'
import { judgeRemote, pinHostKey, openRepository, sealGitToken, unreachable } from './repository.ts'
import { requireLowerQuotas } from './quotas.ts'
import { isBranchBeingDeleted, isBranchOfLiveSession, type ProjectRow, updateProject } from './store.ts'

type EditProject = BodyOf<typeof updateProjectRoute> & { project: ProjectRow; caller: Caller }

export async function editProject(deps: Pick<Deps, 'db' | 'config' | 'keyring' | 'log'>, input: EditProject) {
  const { project } = input
  const isGiven = input.git_token !== undefined || input.git_username !== undefined
  await requireHonestApi(deps, input)
  if (input.settings !== undefined) requireLowerQuotas(deps.config, input.settings)
  const made = input.git_ssh_key === undefined ? null : await makeKey(deps, input)
  const access = made?.access ?? (isGiven ? await requireWorkingAccess(deps, input) : null)
  if (input.default_branch !== undefined) await requireBranch(deps, project, input.default_branch)
  const edited = await deps.db.transaction().execute(async (trx) => {
    const after = await updateProject(trx, project.project_id, {
      ...(input.name === undefined ? {} : { name: input.name }),
      ...(input.default_branch === undefined ? {} : { default_branch: input.default_branch }),
      ...(access === null ? {} : { git_token: sealGitToken(deps, project, access) }),
      ...(access === null ? {} : { ssh_public_key: made?.publicKey ?? null }),
      ...(input.git_username === undefined ? {} : { git_username: input.git_username }),
      ...(input.settings === undefined ? {} : { settings: input.settings }),
    })
    // With the row of the project locked, as the deletion of merged branches reads it.
    if (input.default_branch !== undefined) await refuseBranchOfSession(trx, project, input.default_branch)
    // The new credential may be allowed what the host refused to the old one.
    if (access !== null) await forgetProtection(trx, { project_id: project.project_id })
    await recordAudit(trx, input.caller, {
      ...auditEvent(project, 'project.update', 'project', project.project_id),
      before: shown(project),
      after: { ...shown(after), ...(access === null ? {} : { git_token: 'changed' }) },
    })
    return after
  })
  // Each git client's request does it, too. A backup before the next one copies HEAD as it is.
  if (input.default_branch !== undefined && edited.managed)
    await followDefaultBranch(await openRepository(deps, edited))
  return edited
}

function shown(row: ProjectRow) {
  return { name: row.name, default_branch: row.default_branch, settings: row.settings }
}

/** Replaces the old key at once: from now on the host has to know this one. */
async function makeKey(deps: Pick<Deps, 'config' | 'db'>, input: EditProject) {
  const { repo_url: url, account_id: accountId, managed, slug } = input.project
  if (managed || !url.startsWith('ssh://')) throw keyWithoutSsh()
  const { access, publicKey } = makeAccess(input, `svc ${slug}`)
  return { access: accessToSeal(await pinHostKey(await judgeRemote(deps, { url, access, accountId }))), publicKey }
}

/** Checks where the project's token would be sent: an allowed address, and no other host unless the caller provides the token. */
async function requireHonestApi(deps: Pick<Deps, 'config' | 'db'>, input: EditProject) {
  const { project, settings, git_token } = input
  if (settings?.git_host === undefined && settings?.git_api_url === undefined) return
  const refuse = (path: string, message: string) =>
    new ServiceError('invalid', `settings.${path} ${message}.`, {
      detail: { issues: [{ path: `settings.${path}`, message }] },
    })
  const after = projectSettings.parse({ ...(project.settings as object), ...settings })
  if (project.managed || !/^https?:/.test(project.repo_url)) {
    if (after.git_host !== 'auto') throw refuse('git_host', 'requires a repository with an https:// URL')
    if (after.git_api_url !== null) throw refuse('git_api_url', 'requires a repository with an https:// URL')
    return
  }
  if (after.git_api_url !== null && after.git_host !== 'github')
    throw refuse('git_api_url', 'requires git_host "github"')
  if (after.git_api_url !== null && git_token === undefined && !isOfSameHost(project.repo_url, after.git_api_url))
    throw new ServiceError(
      'invalid',
      'This API is on another host than the repository, so the stored token cannot be sent to it.',
      {
        hint: 'Give git_token in the same request to show that you know the token.',
        detail: { issues: [{ path: 'git_token', message: 'is required for an API on another host' }] },
      },
    )
  // The API derived from the repository's address was checked with it; any other is checked for the user who sets it.
  const userId = settings.git_api_url ? input.caller.actor.user_id : undefined
  const by = { accountId: project.account_id, userId }
  const allowPrivate = deps.config.allowPrivateGitHosts && (await mayUseMachine(deps, by))
  await apiOfProject(deps.config, { url: project.repo_url, settings: after, allowPrivate })
}

/** Tries the access and returns what to seal. */
async function requireWorkingAccess(deps: Pick<Deps, 'config' | 'db'>, input: EditProject): Promise<string | null> {
  if (input.project.managed)
    throw new ServiceError('invalid', 'A managed repository has no credential.', {
      detail: { issues: [{ path: 'git_token', message: 'requires an external repository' }] },
    })
  if (input.git_token === undefined)
    throw new ServiceError('invalid', 'A user name requires a token.', {
      detail: { issues: [{ path: 'git_token', message: 'is required with git_username' }] },
    })
  const access = accessGiven({
    git_token: input.git_token,
    git_username: input.git_username ?? input.project.git_username ?? undefined,
  })
  const { repo_url: url, account_id: accountId } = input.project
  const remote = await pinHostKey(await judgeRemote(deps, { url, access, accountId }))
  const probe = await probeRemote(remote)
  if (probe.kind === 'unreachable') throw unreachable(probe.reason ?? 'its host does not answer')
  if (probe.kind !== 'writable')
    throw new ServiceError(
      'repository_refused',
      `This credential cannot push to the repository${probe.reason === null ? '.' : `: ${probe.reason}`}`,
      {
        detail: { issues: [{ path: 'git_token', message: 'may not push' }] },
      },
    )
  return accessToSeal(remote)
}

async function requireBranch(
  deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'log'>,
  project: ProjectRow,
  branch: string,
): Promise<void> {
  const tips = await readTips(await openRepository(deps, project), 'all', {})
  if (tips.kind === 'unreachable') throw unreachable(tips.reason)
  // The first push or commit creates it.
  if (tips.tips.size > 0 && !tips.tips.has(branch))
    throw new ServiceError('ref_not_found', `The repository has no branch ${JSON.stringify(branch)}.`, {
      detail: { ref: branch, issues: [{ path: 'default_branch', message: 'does not exist' }] },
    })
}

/** The session's agent pushes to that branch, and only merges write the default branch. */
async function refuseBranchOfSession(trx: DbOrTransaction, project: ProjectRow, branch: string): Promise<void> {
  if (branch === project.default_branch) return
  if (await isBranchBeingDeleted(trx, project.project_id, branch))
    throw branchIsLeaving(`The server is deleting the branch ${JSON.stringify(branch)}, which was merged.`)
  if (!(await isBranchOfLiveSession(trx, project.project_id, branch))) return
  throw new ServiceError(
    'conflict',
    `A session is using the branch ${JSON.stringify(branch)}, so it cannot be the default branch.`,
    {
      hint: `Stop the session with \`svc sessions stop ${branch}\`, then change the default branch.`,
      detail: { issues: [{ path: 'default_branch', message: 'is the branch of a live session' }] },
    },
  )
}
