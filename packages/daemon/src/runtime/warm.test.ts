/** A sandbox that waits for a session, at the daemon's door. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'

import { type DaemonUnderTest, startTestDaemon, testToken, until } from '../testing.ts'

setDefaultTimeout(120_000)

const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(null, { status: 404 }) })
let under: DaemonUnderTest
beforeAll(async () => {
  under = await startTestDaemon({ SVC_SANDBOX_WARM: '1', SVC_REPO_URL: `${server.url.origin}/git` })
})
afterAll(async () => {
  await under.close()
  await server.stop(true)
})

test('a commit that it cannot fetch is refused with the reason of git', async () => {
  const follow = () =>
    fetch('http://daemon/svc/follow', {
      unix: under.socket,
      method: 'POST',
      headers: { authorization: `Bearer ${testToken}` },
      body: JSON.stringify({ commit: 'a'.repeat(40), credential: 'svc_x' }),
    })
  await until('its route is open', async () => (await follow()).status !== 503)
  const answer = await follow()
  expect([answer.status, await answer.json()]).toEqual([
    500,
    { code: 'internal', error: expect.stringMatching(/^The daemon could not do it: git fetch failed: /) },
  ])
})
