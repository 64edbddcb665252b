import type { Role, SignInWay } from '@svc/contract'

export interface UserActor {
  kind: 'user'
  user_id: string
  /** Null for a dashboard cookie. */
  token_id: string | null
  expires_at: string | null
  /** The dashboard session of the request, if a browser sent it. */
  dashboard_session?: {
    id: string
    began_by: SignInWay
    created_at: string
    /** When and how the user last proved their identity. */
    confirmed_at: string | null
    confirmed_by: SignInWay | null
  }
}

export interface ProjectActor {
  kind: 'project'
  user_id: string
  token_id: string
  project_id: string
  /** The session this token is bound to: it acts for that session's agent. */
  session_id: string | null
  generation: number | null
  expires_at: string | null
}

/** A sandbox generation, by its service key or another of its credentials; never a user. */
export interface SandboxActor {
  kind: 'sandbox'
  user_id: string
  project_id: string
  session_id: string
  sandbox_id: string
  generation: number
}

/** The service on behalf of a user, as in a scheduled trigger. */
export interface ServiceActor {
  kind: 'service'
  user_id: string
  project_id: string
  session_id: null
}

export type Actor = UserActor | ProjectActor | SandboxActor | ServiceActor

/** The actor and request for the audit log. */
export interface Caller<A extends Actor = Actor> {
  actor: A
  requestId: string
  address: string
}

/** A user without a token, such as one who is signing in. */
export function userActor(user_id: string): UserActor {
  return { kind: 'user', user_id, token_id: null, expires_at: null }
}

/** The session an actor is bound to, if any. */
export function boundSession(actor: Actor): string | null {
  return actor.kind === 'user' ? null : actor.session_id
}

export function mayWrite(role: Role): boolean {
  return role !== 'viewer'
}

export function mayAdminister(role: Role): boolean {
  return role === 'owner' || role === 'admin'
}
