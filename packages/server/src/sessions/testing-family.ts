/** Three running sessions: one of a person, one that its agent started, and an unrelated one. */
import type { RunningSession, SessionApp } from './testing.ts'

export type Family = Awaited<ReturnType<typeof makeFamily>>

export const tokenOf = (session: RunningSession) => session.env.SVC_CLI_TOKEN!

export async function makeFamily(app: SessionApp) {
  const own = await app.running({ name: 'own' })
  /** The token in the sandbox of `own`. */
  const token = tokenOf(own)
  const child = await app.running({}, { token })
  const other = await app.running({ name: 'other', metadata: { note: 'for people' } })
  return { own, child, other, token }
}
