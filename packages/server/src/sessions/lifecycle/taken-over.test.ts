/** A session whose server was taken over while it was paused, and lives again. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { endOfProject } from '../../sandboxes/store.ts'
import { reconcileSessions } from '../jobs.ts'
import { makeSessionApp, secondServer, type SessionApp } from '../testing.ts'

let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp()
}, 120_000)
afterAll(() => app.close())

test('stops with the reason at the new home', async () => {
  const { session_id: sessionId, project_id: projectId } = await app.running()
  const home = await secondServer(app)
  try {
    const reason = 'Its server, ada, is gone, and bob took its project over.'
    await endOfProject(app.deps.db, projectId, reason)
    await reconcileSessions(home.deps)
    expect(await app.reaches(sessionId, 'stopped')).toMatchObject({ error: reason })
  } finally {
    await home.close()
  }
}, 60_000)
