import type { SignInWay } from '@svc/contract'
import { type Caller, type UserActor, userActor } from '../../auth/actor.ts'
import type { RequestInfo } from '../../http/request-info.ts'

/** The caller of a sign-in or sign-out, who has no token yet. */
export function pageCaller(userId: string, request: RequestInfo): Caller<UserActor> {
  return { actor: userActor(userId), requestId: request.id, address: request.address }
}

/** The origin of a new dashboard session, as its user sees it later. */
export function browserOf({ address, headers }: RequestInfo, began_by: SignInWay) {
  return { began_by, address, user_agent: headers.get('user-agent')?.slice(0, 300) ?? null }
}
