import type { Access, Role, Route } from '@svc/contract'
import { ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { readTogether } from '../db/read-together.ts'
import type { Row } from '../db/schema.ts'
import { type Actor, boundSession, mayAdminister, mayWrite } from './actor.ts'
import { endedMembership } from './ended-membership.ts'
import { requireControl } from './session-control.ts'
import {
  deletedProjectsOfSlug,
  type Found,
  projectOfUserOrDeleted,
  projectOfUser,
  projectsOfSlug,
  type SeenProject,
} from './token-store.ts'

export interface AuthorizedProject extends Row<'projects'> {
  /** The caller's role in the project's account, which also limits their token. */
  role: Role
}

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return uuidShape.test(text)
}

export function notFound(what: string): ServiceError {
  return new ServiceError('not_found', `There is no such ${what}.`)
}

/**
 * Rules by path, applied before routing and so to unknown paths too: account routes require a user token, project
 * routes the project's own. A slug is checked by `allow`, where it is read. `path` is decoded as the router decodes
 * it.
 */
export function refuseByPath(actor: Actor, path: string): void {
  if (actor.kind === 'user') return
  if (/^\/v1\/accounts(\/|$)/.test(path))
    throw new ServiceError('forbidden', 'A project token cannot use account routes.', {
      hint: 'Use a user token: `svc login`.',
    })
  const projectId = /^\/v1\/projects\/([^/]+)/.exec(path)?.[1]
  if (projectId !== undefined && !mayBeSlug(projectId)) refuseOtherProject(actor, projectId)
}

/** Existing and missing projects get the same response. */
function refuseOtherProject(actor: Actor, projectId: string): void {
  if (actor.kind !== 'user' && projectId.toLowerCase() !== actor.project_id)
    throw new ServiceError('forbidden', 'This token belongs to another project.')
}

export interface AuthorizedAccount {
  account_id: string
  role: Role
}

export interface Allowed {
  project: AuthorizedProject | null
  account: AuthorizedAccount | null
}

/** Checks access, actor and project or account, and the session if one is named, for HTTP and WebSocket alike. Returns the project or account of the route. */
export async function allow(
  deps: Pick<Deps, 'db'>,
  input: {
    access: Access
    actor: Actor
    projectId: string | undefined
    accountId?: string | undefined
    /** The session in the path, or null. Required, so that no caller forgets it. */
    sessionId: string | null
    /** The project, if it was read together with the credential. */
    read?: Found | null
    /** Whether deleted projects are included, or only they. Null means neither. */
    deleted?: Route['deleted']
  },
): Promise<Allowed> {
  const { access, actor } = input
  switch (access) {
    case 'public':
    case 'token':
      return { project: null, account: null }
    case 'account':
    case 'user':
      refuseProjectToken(actor)
      return { project: null, account: null }
    case 'account-read':
    case 'account-admin':
      refuseProjectToken(actor)
      return { project: null, account: await authorizeAccount(deps, access, actor, input.accountId ?? '') }
    case 'sandbox':
    case 'project-read':
    case 'project-write':
    case 'project-admin':
      return { project: await authorizeSessionOf(deps, access, actor, input), account: null }
    default:
      return access satisfies never
  }
}

async function authorizeSessionOf(
  deps: Pick<Deps, 'db'>,
  access: Parameters<typeof authorizeProject>[1],
  actor: Actor,
  input: { projectId: string | undefined; sessionId: string | null; read?: Found | null; deleted?: Route['deleted'] },
): Promise<AuthorizedProject> {
  const project = await authorizeProject(deps, access, actor, input)
  const { sessionId } = input
  if (sessionId !== null && isUuid(sessionId))
    await requireControl(deps.db, actor, { projectId: project.project_id, sessionId })
  return project
}

function refuseProjectToken(actor: Actor): void {
  if (actor.kind !== 'user')
    throw new ServiceError('forbidden', 'A project token only works for its own project.', {
      hint: 'Use a user token: `svc login`.',
    })
}

async function authorizeAccount(
  deps: Pick<Deps, 'db'>,
  access: 'account-read' | 'account-admin',
  actor: Actor,
  accountId: string,
): Promise<AuthorizedAccount> {
  if (!isUuid(accountId)) throw notFound('account')
  const row = await deps.db
    .selectFrom('accounts')
    .leftJoin('account_members', (join) =>
      join
        .onRef('account_members.account_id', '=', 'accounts.account_id')
        .on('account_members.user_id', '=', actor.user_id),
    )
    .select(['accounts.account_id', 'account_members.role'])
    .where('accounts.account_id', '=', accountId)
    .executeTakeFirst()
  if (row === undefined) throw notFound('account')
  const { account_id, role } = row
  if (role === null) throw new ServiceError('forbidden', 'You are not a member of this account.')
  if (access === 'account-admin' && !mayAdminister(role))
    throw new ServiceError('forbidden', `Your role here is ${role}. This requires an owner or admin of the account.`)
  return { account_id, role }
}

async function authorizeProject(
  deps: Pick<Deps, 'db'>,
  access: 'sandbox' | 'project-read' | 'project-write' | 'project-admin',
  actor: Actor,
  of: { projectId?: string | undefined; read?: Found | null; deleted?: Route['deleted'] },
): Promise<AuthorizedProject> {
  const { projectId = '', read = null, deleted = null } = of
  const row = isUuid(projectId)
    ? await projectOfId(deps, actor, { projectId, read, deleted })
    : await projectOfSlug(deps, actor, projectId, deleted)
  if (row === undefined) throw notFound('project')
  const { role } = row
  const session_id = boundSession(actor)
  if (session_id !== null && (role === null || (access === 'project-write' && !mayWrite(role))))
    throw await endedMembership(deps.db, { user_id: actor.user_id, session_id, role })
  if (role === null) throw new ServiceError('forbidden', 'You are not a member of the account of this project.')
  if (access === 'project-write' && !mayWrite(role))
    throw new ServiceError('forbidden', 'Your role here is viewer. This requires the member role.', {
      hint: 'Viewers read projects and sessions. Ask an owner of the account for the member role.',
    })
  if (access === 'project-admin' && (actor.kind !== 'user' || !mayAdminister(role)))
    throw new ServiceError('forbidden', 'This requires the user token of an owner or admin of the account.')
  return { ...row, role }
}

async function projectOfId(
  deps: Pick<Deps, 'db'>,
  actor: Actor,
  { projectId, read, deleted }: { projectId: string; read: Found | null; deleted: Route['deleted'] },
): Promise<SeenProject | undefined> {
  // Checks the router's parameter, because a path has spellings that `refuseByPath` does not cover.
  refuseOtherProject(actor, projectId)
  const { user_id } = actor
  if (deleted !== null) return projectOfUserOrDeleted(deps.db, projectId, user_id)
  if (read !== null) return read.project
  return readTogether(deps.db, `project ${projectId} of ${user_id}`, () => projectOfUser(deps.db, projectId, user_id))
}

/**
 * Searches only projects the actor can see, so a slug of another account is as unknown as a missing one. A deleted
 * project keeps its slug here only where no other project can be meant.
 */
async function projectOfSlug(
  deps: Pick<Deps, 'db'>,
  actor: Actor,
  slug: string,
  deleted: Route['deleted'],
): Promise<SeenProject | undefined> {
  const read = deleted === 'alone' && actor.kind === 'user' ? deletedProjectsOfSlug : projectsOfSlug
  const found = mayBeSlug(slug) ? await read(deps.db, slug, actor) : []
  if (found.length > 1) throw ambiguousSlug(slug, found)
  if (found.length > 0 || actor.kind === 'user') return found[0]
  // Its user may have left the account, which a refusal says for the id, too.
  const own = await projectOfUser(deps.db, actor.project_id, actor.user_id)
  if (own?.slug !== slug) refuseOtherProject(actor, slug)
  return own
}

/** Slugs never look like ids: `slugOf` avoids that. */
function mayBeSlug(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,99}$/.test(text) && !isUuid(text)
}

/** Resolves a query's project id or slug within an account. */
export async function projectIdNamed(
  deps: Pick<Deps, 'db'>,
  input: { named: string; accountId: string; actor: Actor },
): Promise<string> {
  const { named, accountId, actor } = input
  if (isUuid(named)) return named
  const found = mayBeSlug(named) ? await projectsOfSlug(deps.db, named, actor) : []
  const inAccount = found.find(({ account_id }) => account_id === accountId)
  if (inAccount === undefined) throw notFound('project')
  return inAccount.project_id
}

function ambiguousSlug(slug: string, found: { project_id: string }[]): ServiceError {
  return new ServiceError(
    'conflict',
    `Several of your accounts have a project with the slug ${JSON.stringify(slug)}.`,
    {
      hint: 'Use the project id.',
      detail: { project_ids: found.map(({ project_id }) => project_id) },
    },
  )
}
