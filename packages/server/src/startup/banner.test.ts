import { afterAll, beforeAll, expect, test } from 'bun:test'
import { makeTestApp, type TestApp } from '../testing.ts'
import { greet } from './banner.ts'

const hooks = { rememberOwner: async () => null, knownSettings: async () => [] }
let app: TestApp
beforeAll(async () => {
  app = await makeTestApp({ serverName: 'ada' })
}, 60_000)
afterAll(() => app.close())

test('the first lines name the server and its address for the others, where there are several', async () => {
  const alone = await (await greet(app.deps, hooks, './svc'))()
  expect(alone).not.toContain('  Server  ')
  const config = { ...app.deps.config, peerUrl: 'https://10.0.0.7:8421' }
  const text = await (await greet({ ...app.deps, config }, hooks, './svc'))()
  expect(text).toContain('  Server       ada (other servers reach it at https://10.0.0.7:8421)\n')
})
