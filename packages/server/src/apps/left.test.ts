/** Apps whose sandbox outlives their server, with the fake driver: what the next server finds and goes on with. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { App, AppLogLine } from '@svc/contract'
import type { FakeApp } from '@svc/sandbox/testing'
import { lastLines } from './log/store.ts'
import { getDeploy } from './store.ts'
import { silentMsMax } from '../sandboxes/adopt.ts'
import { letDie, makeSessionApp, secondServer, type SecondServer, type SessionApp, until } from '../sessions/testing.ts'

let first: SessionApp
let next: SecondServer | null
let deployed: FakeApp[]
let base: string
let clock: { aheadMs: number }
let projectId: string

beforeEach(async () => {
  deployed = []
  next = null
  clock = { aheadMs: 0 }
  first = await makeSessionApp({
    outlives: true,
    deps: { now: () => new Date(Date.now() + clock.aheadMs) },
    onApp() {
      const app: FakeApp = { state: 'ready', lines: [] }
      deployed.push(app)
      return app
    },
  })
  const manifest = '[[apps]]\nslug = "site"\ncommand = "run"\n[apps.env]\nKEY = "${API_KEY}"\n'
  const { project } = await first.managedProject({ 'svc.toml': manifest })
  projectId = project.project_id
  base = `/v1/projects/${projectId}/apps/site`
  await setSecret('the-first-value')
  await becomes(first, 'runs', ({ state }) => state === 'running')
}, 120_000)
afterEach(async () => {
  delete first.driver.options.answerMs
  await next?.close()
  await first.close()
})

async function setSecret(value: string): Promise<void> {
  await first.request('POST', `/v1/projects/${projectId}/secrets`, { body: { name: 'API_KEY', value } })
}

const appAt = async (server: Pick<SecondServer, 'request'>) => (await server.request<App>('GET', base)).body

const becomes = (server: Pick<SecondServer, 'deps' | 'request'>, what: string, fits: (app: App) => boolean) =>
  until(`the app ${what}`, async () => {
    await server.deps.apps.reconcile()
    const app = await appAt(server)
    return fits(app) ? app : null
  })

const logOf = async (server: Pick<SecondServer, 'request'>) =>
  (await server.request<{ lines: AppLogLine[] }>('GET', `${base}/logs`)).body.lines.map(({ text }) => text)

const sandboxes = async () =>
  (await first.driver.list()).map(({ sandboxId }) => sandboxId).filter((id) => id.startsWith('app-'))

/** The first server stops and leaves its app, and nothing of it is there until the next one starts. */
async function stopFirst(): Promise<string> {
  expect(await first.deps.apps.close({ endsSandboxes: false })).toBe(1)
  const [sandboxId = ''] = await sandboxes()
  await letDie(first.deps)
  return sandboxId
}

async function startNext(): Promise<SecondServer> {
  next = await secondServer(first, {}, { sandboxes: first.deps.sandboxes })
  return next
}

async function serves(server: SecondServer): Promise<string> {
  const serving = await until('the next server serves it', async () => {
    await server.deps.apps.reconcile()
    return server.deps.apps.serving(projectId, 'site')
  })
  return serving.sandboxId
}

test('an app continues in its sandbox without its server, with each log line once and secrets redacted', async () => {
  const { live } = await appAt(first)
  // Not by a route: reading an app notices the changed secret and deploys it again.
  const stored = async () => (await lastLines(first.deps.db, live!.deploy_id, 100)).lines.map(({ text }) => text)
  const comes = (line: string) => until(`the log has "${line}"`, async () => (await stored()).includes(line))
  deployed[0]!.lines!.push('one', 'first the-first-value')
  await comes('first [redacted API_KEY]')
  const sandboxId = await stopFirst()
  // The value that the app has is not the project's any more.
  await setSecret('the-second-value')
  deployed[0]!.lines!.push('two', 'again the-first-value')
  const server = await startNext()
  expect(await serves(server)).toBe(sandboxId)
  expect(await getDeploy(first.deps.db, live!.deploy_id)).toMatchObject({ status: 'running', error: null, attempts: 1 })
  await comes('again [redacted API_KEY]')
  deployed[0]!.lines!.push('three')
  await comes('three')
  const [, ...lines] = await stored()
  expect(lines).toEqual(['one', 'first [redacted API_KEY]', 'two', 'again [redacted API_KEY]', 'three'])
  expect(deployed).toHaveLength(1)
})

test('the next server watches, stops and deploys an adopted app', async () => {
  const sandboxId = await stopFirst()
  const server = await startNext()
  await serves(server)
  await first.driver.crash(sandboxId)
  await becomes(server, 'runs again', ({ state }) => state === 'running' && deployed.length === 2)
  await server.request('POST', `${base}/stop`)
  await becomes(server, 'is stopped', ({ state }) => state === 'stopped')
  await until('its sandbox has ended', async () => (await sandboxes()).length === 0)
  await server.request('POST', `${base}/deploy`, { body: {} })
  await becomes(server, 'runs anew', ({ state, live }) => state === 'running' && live?.number === 2)
})

test('restarts an app whose sandbox ended while no server was running', async () => {
  await first.driver.stop(await stopFirst())
  const server = await startNext()
  await serves(server)
  expect(deployed).toHaveLength(2)
  expect((await logOf(server)).at(-1)).toEndWith(', restarted')
})

test('fails an app that its daemon gave up while no server was running', async () => {
  await stopFirst()
  Object.assign(deployed[0]!, { state: 'failed', error: 'The app ended with exit code 9.' })
  const app = await becomes(await startNext(), 'has failed', ({ state }) => state === 'failed')
  expect(app.reason).toBe('The app ended with exit code 9.')
  await until('its sandbox has ended', async () => (await sandboxes()).length === 0)
})

test('ends the sandbox of an app that was stopped or deleted before the next server started', async () => {
  await stopFirst()
  const server = await startNext()
  await server.request('DELETE', `/v1/projects/${projectId}`)
  await until('its sandbox has ended', async () => {
    await server.deps.apps.reconcile()
    return (await sandboxes()).length === 0
  })
  expect(server.deps.apps.serving(projectId, 'site')).toBeNull()
})

test('repeats a deploy whose server died before the sandbox had its files', async () => {
  const sandboxId = await stopFirst()
  await first.deps.db.updateTable('app_deploys').set({ in_force: null }).where('sandbox_id', '=', sandboxId).execute()
  const server = await startNext()
  expect(await serves(server)).not.toBe(sandboxId)
  expect(await sandboxes()).not.toContain(sandboxId)
})

test('asks a silent app again while its sandbox lives, and continues it there', async () => {
  const sandboxId = await stopFirst()
  first.driver.options.answerMs = 3_600_000
  const server = await startNext()
  await server.deps.apps.reconcile()
  clock.aheadMs = 30_000
  await server.deps.apps.reconcile()
  delete first.driver.options.answerMs
  expect(await serves(server)).toBe(sandboxId)
  expect(deployed).toHaveLength(1)
}, 120_000)

test('starts an app again that does not answer within the limit', async () => {
  const { live } = await appAt(first)
  const sandboxId = await stopFirst()
  first.driver.options.around = async () => new Response(null, { status: 503 })
  const server = await startNext()
  await until('its sandbox is given up', async () => {
    // Not again once it is: the next one would be given up, too, and the app would wait longer.
    if ((await getDeploy(first.deps.db, live!.deploy_id))?.status === 'running') clock.aheadMs += silentMsMax
    await server.deps.apps.reconcile()
    return !(await sandboxes()).includes(sandboxId)
  })
  delete first.driver.options.around
  expect(await serves(server)).not.toBe(sandboxId)
}, 120_000)

test('ends apps with a server that ends its sandboxes after it left them', async () => {
  await stopFirst()
  await first.deps.sessions.close({ endsSandboxes: true })
  expect(await sandboxes()).toEqual([])
})

test('ends apps together with a server that ends its sandboxes', async () => {
  expect(await first.deps.apps.close({ endsSandboxes: true })).toBe(0)
  expect(await sandboxes()).toEqual([])
})
