import { ServiceError, type SignInWay } from '@svc/contract'
import { recordAudit } from '../../audit/record.ts'
import {
  endDashboardSession,
  endDashboardSessionById,
  refuseForeignOrigin,
  startDashboardSession,
} from '../../auth/dashboard-session.ts'
import type { Caller, UserActor } from '../../auth/actor.ts'
import { isUuid, notFound } from '../../auth/allow.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { credentialsOf, type RequestInfo } from '../../http/request-info.ts'
import { signUp } from '../invitations/accept.ts'
import { onUser } from '../on-user.ts'
import { browserOf, pageCaller } from './browser.ts'
import { redeemOwnerLink } from './owner-link.ts'
import { checkPassword } from './password.ts'
import { deviceOf, trustDevice } from './trusted-devices.ts'

type SignInDeps = Pick<Deps, 'db' | 'now' | 'config' | 'randomBytes'>

export async function signInByLink(deps: SignInDeps, code: string, request: RequestInfo): Promise<Response> {
  refuseForeignOrigin(deps.config.publicUrl, credentialsOf(request))
  return deps.db.transaction().execute(async (trx) => {
    const callerOf = (userId: string) => pageCaller(userId, request)
    const userId = (await redeemOwnerLink({ ...deps, db: trx }, code)) ?? (await signUp(deps, trx, { code, callerOf }))
    if (userId === null) throw unusableLink()
    return startSession(deps, trx, { userId, way: 'link', request })
  })
}

export async function signInByPassword(
  deps: SignInDeps,
  { email, password }: { email: string; password: string },
  request: RequestInfo,
): Promise<Response> {
  refuseForeignOrigin(deps.config.publicUrl, credentialsOf(request))
  const device = deviceOf(deps.config.publicUrl, request.headers.get('cookie'))
  const by = { address: request.address, device: device === null ? null : { kind: 'cookie' as const, id: device } }
  const userId = await checkPassword(deps, { email, password, by })
  return deps.db.transaction().execute((trx) => startSession(deps, trx, { userId, way: 'password', request }))
}

async function startSession(
  deps: SignInDeps,
  trx: DbOrTransaction,
  { userId, way, request }: { userId: string; way: SignInWay; request: RequestInfo },
): Promise<Response> {
  const event = await onUser(trx, 'user.sign_in', userId)
  await recordAudit(trx, pageCaller(userId, request), way === 'link' ? { ...event, after: { by: 'link' } } : event)
  return withCookies(
    await startDashboardSession({ ...deps, db: trx }, userId, browserOf(request, way)),
    await trustDevice({ ...deps, db: trx }, userId, request.headers.get('cookie')),
  )
}

export async function signOut(deps: Pick<Deps, 'db' | 'config'>, request: RequestInfo): Promise<Response> {
  refuseForeignOrigin(deps.config.publicUrl, credentialsOf(request))
  return deps.db.transaction().execute(async (trx) => {
    const { cookie, userId } = await endDashboardSession({ ...deps, db: trx }, request.headers.get('cookie'))
    if (userId !== null) await recordAudit(trx, pageCaller(userId, request), await onUser(trx, 'user.sign_out', userId))
    return withCookies(cookie)
  })
}

export async function endSession(deps: Pick<Deps, 'db'>, caller: Caller<UserActor>, id: string): Promise<void> {
  const { user_id: userId } = caller.actor
  await deps.db.transaction().execute(async (trx) => {
    if (!isUuid(id) || !(await endDashboardSessionById(trx, { id, userId }))) throw notFound('dashboard session')
    const event = await onUser(trx, 'dashboard_session.end', userId)
    await recordAudit(trx, caller, { ...event, object_type: 'dashboard_session', object_id: id })
  })
}

function unusableLink(): ServiceError {
  return new ServiceError('unauthenticated', 'This link was already used or has expired.', {
    hint: 'Ask an owner for a new one: `svc self-host owner-link` on the server, or an invitation from the Members page.',
  })
}

function withCookies(...cookies: string[]): Response {
  const headers = new Headers({ 'cache-control': 'no-store' })
  for (const cookie of cookies) headers.append('set-cookie', cookie)
  return Response.json({ ok: true }, { headers })
}
