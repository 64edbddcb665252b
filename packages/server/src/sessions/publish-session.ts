import type { Deps } from '../deps.ts'
import { presentSession } from './present.ts'
import { getSessionById } from './store.ts'

/** Readers of the session learn of its present state. */
export async function publishSession(
  { config, db, feed }: Pick<Deps, 'config' | 'db' | 'feed'>,
  sessionId: string,
): Promise<void> {
  const session = await getSessionById(db, sessionId)
  if (session !== null) feed.publish(sessionId, { type: 'session', session: presentSession(config, session) })
}
