/** Three running sessions: one of a person, one that its agent started, and an unrelated one. */
import type { Session } from '@svc/contract'
import type { RunningSession, SessionApp } from './testing.ts'

export interface Family {
  own: RunningSession
  child: RunningSession
  other: RunningSession
  /** The token in the sandbox of `own`. */
  token: string
}

export const tokenOf = (session: RunningSession) => session.env.SVC_CLI_TOKEN!

export async function makeFamily(app: SessionApp): Promise<Family> {
  const own = await app.running({ name: 'own' })
  const token = tokenOf(own)
  const child = await runningChild(app, token)
  const other = await app.running({ name: 'other', metadata: { note: 'for people' } })
  return { own, child, other, token }
}

/** A running session that the agent with this token started. */
async function runningChild(app: SessionApp, token: string, body: object = {}): Promise<RunningSession> {
  const made = await app.create(body, { token })
  if (made.status !== 201) throw new Error(`The agent was refused a session: ${made.status} ${made.text}`)
  const found: Session = await app.reaches(made.body.session_id, 'running')
  await app.deps.sessions.reconcile(found.session_id)
  return { ...found, env: app.driver.seen(found.sandbox?.sandbox_id ?? '')?.spec.env ?? {} }
}
