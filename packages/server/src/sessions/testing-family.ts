/** Three running sessions: one of a person, one that its agent started, and an unrelated one. */
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
  const child = await app.running({}, { token })
  const other = await app.running({ name: 'other', metadata: { note: 'for people' } })
  return { own, child, other, token }
}
