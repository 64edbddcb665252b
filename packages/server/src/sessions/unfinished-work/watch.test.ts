/** When the unfinished work of a running sandbox is saved. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeSessionApp, type SessionApp, until } from '../testing.ts'
import { WipWatch } from './watch.ts'

let app: SessionApp
let dir: string
beforeAll(async () => {
  app = await makeSessionApp()
  dir = await mkdtemp(join(tmpdir(), 'svc-watch-'))
}, 120_000)
afterAll(async () => {
  await app.close()
  await rm(dir, { recursive: true, force: true })
})

const nothingUnfinished = {
  ...{ state: 'clean', commit: null, base: null, files: 0, paths: [], unpushed: 0, notes: [], pack: false },
}

test('saves a sandbox once more when its runtime sleeps, and again when it is awake', async () => {
  const session = await app.running()
  const seen = { saves: 0, healths: 0 }
  let asleepSince: number | null = null
  const socket = join(dir, 'd.sock')
  const sandbox = Bun.serve({
    unix: socket,
    fetch(request) {
      if (new URL(request.url).pathname === '/svc/wip') {
        seen.saves++
        return new Response(`${JSON.stringify(nothingUnfinished)}\n`)
      }
      seen.healths++
      return Response.json({
        ...{ daemon: 'ok', status: 'ready', runtime: 'ready', repository: '', branch: '', commit: null, generation: 1 },
        ...{ uptime_ms: 1, boot: [], runtime_session_id: null, error: null, runtime_starts: 1 },
        runtime_asleep_ms: asleepSince === null ? null : Math.round(performance.now() - asleepSince),
      })
    },
  })
  const daemon = { socket, sandboxKey: 'key', sessionId: session.session_id, generation: 1 }
  const config = { ...app.deps.config, saveWorkEveryMs: 5 }
  const watch = new WipWatch({ ...app.deps, config }, daemon, { spaceChanged() {}, sleepSeen() {} })
  try {
    await until('it was saved a few times', () => seen.saves > 2)
    asleepSince = performance.now()
    const [{ saves, healths }] = [{ ...seen }]
    await until('its health was read a few times', () => seen.healths > healths + 5)
    // One save may have been under way.
    expect(seen.saves - saves).toBeWithin(0, 3)
    const whileAsleep = seen.saves
    await until('its health was read again', () => seen.healths > healths + 10)
    expect(seen.saves).toBe(whileAsleep)
    asleepSince = null
    await until('it was saved again', () => seen.saves > whileAsleep)
  } finally {
    await watch.end()
    await sandbox.stop(true)
  }
}, 60_000)
