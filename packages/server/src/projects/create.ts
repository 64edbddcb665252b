import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { type BodyOf, type createProjectRoute, ServiceError } from '@svc/contract'
import { checkedOutAt, createManagedRepository, probeRemote, readTips, type Remote } from '@svc/git'
import { accountsOfUser } from '../accounts/store.ts'
import { auditEvent, recordAudit } from '../audit/record.ts'
import { type Caller, mayWrite, type UserActor } from '../auth/actor.ts'
import { isUuid } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { accessGiven, accessToSeal, keyWithoutSsh, makeAccess } from './hosts/git-access.ts'
import type { AddressRequest } from './hosts/judge-address.ts'
import { findProtection, recordProtection } from './protection-store.ts'
import { judgeRemote, managedDir, pinHostKey, sealGitToken, unreachable } from './repository.ts'
import { getProjectOrDeleted, insertProject, type ProjectRow } from './store.ts'

type CreateDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'serverName'>

type CreateProject = NonNullable<BodyOf<typeof createProjectRoute>>

/** The row comes last, so a project whose repository cannot be used leaves nothing behind. */
export async function createProject(
  deps: CreateDeps,
  input: CreateProject & { projectId: string; caller: Caller<UserActor> },
): Promise<ProjectRow> {
  const earlier = await getProjectOrDeleted(deps.db, input.projectId)
  if (earlier?.deleted_at === null) return earlier
  if (earlier !== null) throw deletedSince(earlier)
  const accountId = await accountToCreateIn(deps, input.caller.actor.user_id, input.account_id)
  await failpoint('project.create.before_repository')
  const repository =
    input.repo_url === undefined
      ? await makeManaged(deps, input)
      : await adoptExternal(deps, input, { url: input.repo_url, accountId, userId: input.caller.actor.user_id })
  await failpoint('project.create.after_repository')
  const dataKey = deps.keyring.newDataKey(input.projectId)
  const name = input.name ?? nameFromUrl(input.repo_url) ?? 'project'
  const row = {
    project_id: input.projectId,
    account_id: accountId,
    name,
    repo_url: repository.repoUrl,
    default_branch: repository.defaultBranch,
    managed: input.repo_url === undefined,
    home: deps.serverName,
    settings: '{}',
    data_key: dataKey,
    data_key_wrapped_by: deps.keyring.rootKeyId,
    ssh_public_key: repository.publicKey ?? null,
    git_username: input.git_token === undefined ? null : (input.git_username ?? null),
    git_token:
      repository.access === null
        ? null
        : sealGitToken(deps, { project_id: input.projectId, data_key: dataKey }, repository.access),
  }
  try {
    const made = await insertWithFreeSlug(deps, input.caller, row, slugOf(name))
    const { protection: reason, defaultBranch: branch } = repository
    if (reason !== null)
      await recordProtection(deps.db, {
        ...{ project_id: made.project_id, branch, reason, found_by: 'api' as const },
        found_at: new Date(),
      })
    return made
  } catch (error) {
    if (repository.isNew && (await getProjectOrDeleted(deps.db, input.projectId)) === null)
      await rm(managedDir(deps, input.projectId), { recursive: true, force: true })
    throw error
  }
}

/** A repeated request whose project has been deleted since. */
function deletedSince(project: ProjectRow): ServiceError {
  return new ServiceError('conflict', 'This request was sent before, and its project has since been deleted.', {
    hint: `Restore that project with \`svc projects restore ${project.project_id}\`, or send the request with a new Idempotency-Key.`,
    detail: { project_id: project.project_id },
  })
}

async function accountToCreateIn(deps: CreateDeps, userId: string, wanted: string | undefined): Promise<string> {
  const all = await accountsOfUser(deps.db, userId)
  const accounts = wanted === undefined ? all : all.filter((account) => account.account_id === wanted)
  if (accounts.length === 0)
    throw new ServiceError('forbidden', 'You are not a member of this account.', {
      hint: 'GET /v1/accounts lists yours.',
    })
  const writable = accounts.find((account) => mayWrite(account.role))
  if (writable === undefined)
    throw new ServiceError('forbidden', 'Your role here is viewer, which cannot create projects.')
  return writable.account_id
}

async function makeManaged(deps: CreateDeps, input: CreateProject & { projectId: string }) {
  if (input.git_token !== undefined)
    throw new ServiceError('invalid', 'A managed repository needs no git_token: leave it out, or give a repo_url.', {
      detail: { issues: [{ path: 'git_token', message: 'requires repo_url' }] },
    })
  if (input.git_ssh_key !== undefined) throw keyWithoutSsh()
  const defaultBranch = input.default_branch ?? 'main'
  const dir = managedDir(deps, input.projectId)
  // An earlier try of this request may have made it.
  const isNew = !existsSync(dir)
  await createManagedRepository(dir, { defaultBranch })
  return { repoUrl: '', defaultBranch, access: null, publicKey: null, protection: null, isNew }
}

async function adoptExternal(deps: CreateDeps, input: CreateProject, at: AddressRequest & { userId: string }) {
  if (input.git_ssh_key !== undefined) return adoptWithNewKey(deps, input, at)
  const given = accessGiven(input)
  const remote = await pinHostKey(await judgeRemote(deps, { ...at, access: given }))
  const probe = await probeRemote(remote)
  switch (probe.kind) {
    case 'unreachable':
      throw unreachable(probe.reason ?? 'its host does not answer')
    case 'unauthorized':
      throw repositoryRefused(`The repository asks for a credential${because(probe.reason)}`)
    case 'readable':
      throw repositoryRefused(`The repository can be read but not written${because(probe.reason)}`)
    case 'writable': {
      const defaultBranch = await chooseBranch(remote, input.default_branch, probe)
      await refuseCheckedOut(remote, defaultBranch)
      // The App's credential is not stored with the project.
      const access = given === null ? null : accessToSeal(remote)
      const protection = await findProtection(remote, defaultBranch)
      return { repoUrl: remote.url, defaultBranch, access, publicKey: null, protection, isNew: false }
    }
    default:
      return probe.kind satisfies never
  }
}

/** The host does not know the new key yet, so nothing can push there, and the branches are not read. */
async function adoptWithNewKey(deps: CreateDeps, input: CreateProject, at: AddressRequest & { userId: string }) {
  const { access, publicKey } = makeAccess(input, `svc ${slugOf(input.name ?? nameFromUrl(at.url) ?? 'project')}`)
  const remote = await pinHostKey(await judgeRemote(deps, { ...at, access }))
  const defaultBranch = input.default_branch ?? 'main'
  return { repoUrl: remote.url, defaultBranch, access: accessToSeal(remote), publicKey, protection: null, isNew: false }
}

/** A merge pushes the default branch, which git refuses where that branch is checked out. */
async function refuseCheckedOut(remote: Remote, branch: string): Promise<void> {
  const tree = await checkedOutAt(remote, branch)
  if (tree === null) return
  throw new ServiceError(
    'repository_refused',
    `The branch ${JSON.stringify(branch)} is checked out in ${tree}, and git refuses to merge into a checked-out branch.`,
    {
      hint: `Let git update the files there with each merge: \`git -C ${quoted(tree)} config receive.denyCurrentBranch updateInstead\`. Or use a bare clone: \`git clone --bare ${quoted(tree)} ${quoted(`${tree}.git`)}\`.`,
      detail: { issues: [{ path: 'repo_url', message: 'has its default branch checked out' }] },
    },
  )
}

/** For a POSIX shell. */
function quoted(path: string): string {
  return /^[\w./@+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

function because(reason: string | null): string {
  return reason === null ? '.' : `: ${reason}`
}

function repositoryRefused(message: string): ServiceError {
  return new ServiceError('repository_refused', message, {
    hint: 'Give a credential that can push: `svc projects create --repo <url> --git-token -` reads it from standard input.',
    detail: { issues: [{ path: 'git_token', message: 'is needed' }] },
  })
}

async function chooseBranch(
  remote: Remote,
  wanted: string | undefined,
  probe: { defaultBranch: string | null; empty: boolean },
): Promise<string> {
  if (wanted === undefined || probe.empty) return wanted ?? probe.defaultBranch ?? 'main'
  const tips = await readTips({ dir: '', remote }, [wanted], {})
  if (tips.kind === 'unreachable') throw unreachable(tips.reason)
  if (!tips.tips.has(wanted))
    throw new ServiceError('ref_not_found', `The repository has no branch ${JSON.stringify(wanted)}.`, {
      detail: { ref: wanted, issues: [{ path: 'default_branch', message: 'does not exist' }] },
    })
  return wanted
}

async function insertWithFreeSlug(
  deps: CreateDeps,
  caller: Caller<UserActor>,
  row: Omit<Parameters<typeof insertProject>[1], 'slug'>,
  slug: string,
): Promise<ProjectRow> {
  for (let attempt = 1; attempt <= 100; attempt++) {
    const made = await deps.db.transaction().execute(async (trx) => {
      const inserted = await insertProject(trx, { ...row, slug: attempt === 1 ? slug : `${slug}-${attempt}` })
      if (inserted !== null)
        await recordAudit(trx, caller, {
          ...auditEvent(inserted, 'project.create', 'project', inserted.project_id),
          after: {
            slug: inserted.slug,
            repo_url: inserted.repo_url,
            managed: inserted.managed,
            default_branch: inserted.default_branch,
          },
        })
      await failpoint('project.create.before_row')
      return inserted
    })
    await failpoint('project.create.after_row')
    if (made !== null) return made
  }
  throw new ServiceError('conflict', `A hundred projects have names like ${JSON.stringify(slug)}. Choose another name.`)
}

export function slugOf(name: string): string {
  const slug = name
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 50)
    .replace(/-$/, '')
  if (slug === '') return 'project'
  // Slugs are accepted wherever ids are, so none may look like an id.
  return isUuid(slug) ? `project-${slug}` : slug
}

function nameFromUrl(url: string | undefined): string | null {
  const last = url
    ?.replace(/\/+$/, '')
    .split(/[/:]/)
    .at(-1)
    ?.replace(/\.git$/, '')
  return last ? last.slice(0, 100) : null
}
