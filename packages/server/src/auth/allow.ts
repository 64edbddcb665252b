import type { Access, Role } from '@svc/contract'
import { ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { readTogether } from '../db/read-together.ts'
import type { Row } from '../db/schema.ts'
import { type Actor, mayAdminister, mayWrite } from './actor.ts'
import { requireControl } from './session-control.ts'
import { type Found, projectOfUser } from './token-store.ts'

export interface AuthorizedProject extends Row<'projects'> {
  /** The caller's role in the project's account, which a token of theirs is cut to. */
  role: Role
}

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return uuidShape.test(text)
}

export function notFound(what: string): ServiceError {
  return new ServiceError('not_found', `There is no such ${what}.`)
}

/** What holds for a path before routing, so for unknown paths too: account routes take user tokens, project routes the project's own. `path` is decoded as the router decodes it. */
export function refuseByPath(actor: Actor, path: string): void {
  if (actor.kind === 'user') return
  if (/^\/v1\/accounts(\/|$)/.test(path))
    throw new ServiceError('forbidden', 'A project token cannot use account routes.', {
      hint: 'Use a user token: `svc login`.',
    })
  const projectId = /^\/v1\/projects\/([^/]+)/.exec(path)?.[1]
  if (projectId !== undefined) refuseOtherProject(actor, projectId)
}

/** The same answer for a project that exists and for one that does not. */
function refuseOtherProject(actor: Actor, projectId: string): void {
  if (actor.kind !== 'user' && projectId.toLowerCase() !== actor.project_id)
    throw new ServiceError('forbidden', 'This token belongs to another project.')
}

export interface AuthorizedAccount {
  account_id: string
  /** The caller's. */
  role: Role
}

export interface Allowed {
  project: AuthorizedProject | null
  account: AuthorizedAccount | null
}

/** Access x actor x project or account, and session where one is named, for HTTP and WebSocket alike. Answers with the project or account the route is of. */
export async function allow(
  deps: Pick<Deps, 'db'>,
  input: {
    access: Access
    actor: Actor
    projectId: string | undefined
    accountId?: string | undefined
    /** The session that is reached. Null says that none is: a caller of this function cannot leave it out. */
    sessionId: string | null
    /** The project as it was read with the actor's credential, where it was. */
    read?: Found | null
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
  input: { projectId: string | undefined; sessionId: string | null; read?: Found | null },
): Promise<AuthorizedProject> {
  const project = await authorizeProject(deps, access, actor, input)
  const { sessionId } = input
  if (sessionId !== null && isUuid(sessionId))
    await requireControl(deps.db, actor, { projectId: project.project_id, sessionId })
  return project
}

function refuseProjectToken(actor: Actor): void {
  if (actor.kind !== 'user')
    throw new ServiceError('forbidden', 'A project token reaches its own project only.', {
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
    throw new ServiceError('forbidden', `Your role here is ${role}; this needs an owner or admin of the account.`)
  return { account_id, role }
}

async function authorizeProject(
  deps: Pick<Deps, 'db'>,
  access: 'sandbox' | 'project-read' | 'project-write' | 'project-admin',
  actor: Actor,
  { projectId = '', read = null }: { projectId?: string | undefined; read?: Found | null },
): Promise<AuthorizedProject> {
  // Of the parameter the router found: a path can be spelled in ways the look at the path before does not know.
  refuseOtherProject(actor, projectId)
  if (!isUuid(projectId)) throw notFound('project')
  const { user_id } = actor
  const row =
    read === null
      ? await readTogether(deps.db, `project ${projectId} of ${user_id}`, () =>
          projectOfUser(deps.db, projectId, user_id),
        )
      : read.project
  if (row === undefined) throw notFound('project')
  const { role } = row
  if (role === null) throw new ServiceError('forbidden', 'You are not a member of the account of this project.')
  if (access === 'project-write' && !mayWrite(role))
    throw new ServiceError('forbidden', 'Your role here is viewer, which may not write.', {
      hint: 'Ask an owner of the account for the member role.',
    })
  if (access === 'project-admin' && (actor.kind !== 'user' || !mayAdminister(role)))
    throw new ServiceError('forbidden', 'This needs the user token of an owner or admin of the account.')
  return { ...row, role }
}
