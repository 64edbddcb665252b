import type { Role, SignInWay } from '@svc/contract'

export interface UserActor {
  kind: 'user'
  user_id: string
  /** Null when a dashboard cookie and no token speaks. */
  token_id: string | null
  expires_at: string | null
  /** The browser that speaks, when one does. */
  dashboard_session?: {
    id: string
    began_by: SignInWay
    created_at: string
    /** When and how the person last proved who they are. */
    confirmed_at: string | null
    confirmed_by: SignInWay | null
  }
}

export interface ProjectActor {
  kind: 'project'
  user_id: string
  token_id: string
  project_id: string
  /** The session this token is bound to: it acts for an agent. */
  session_id: string | null
  generation: number | null
  expires_at: string | null
}

/** A sandbox generation by its service key or one of its credentials; never a user. */
export interface SandboxActor {
  kind: 'sandbox'
  user_id: string
  project_id: string
  session_id: string
  sandbox_id: string
  generation: number
}

/** The service itself, on a user's behalf: what a trigger does when nobody asks. */
export interface ServiceActor {
  kind: 'service'
  user_id: string
  project_id: string
  session_id: null
}

export type Actor = UserActor | ProjectActor | SandboxActor | ServiceActor

/** Who asks, and by which request: what an audit row needs to know. */
export interface Caller<A extends Actor = Actor> {
  actor: A
  requestId: string
  address: string
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
