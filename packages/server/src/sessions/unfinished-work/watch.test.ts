/** When the unfinished work of a running sandbox is saved. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Session } from '@svc/contract'
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

interface Answers {
  wip: () => typeof nothingUnfinished | Response | Promise<typeof nothingUnfinished>
  asleepMs: () => number | null
}

/** The watch of a running session, whose daemon gives these answers. */
async function watched({ wip, asleepMs }: Answers, saveWorkEveryMs = 5) {
  const { session_id: sessionId } = await app.running()
  const socket = join(dir, `${sessionId.slice(0, 8)}.sock`)
  const sandbox = Bun.serve({
    unix: socket,
    // The type has it only for ports.
    ...({ idleTimeout: 0 } as object),
    async fetch(request) {
      if (new URL(request.url).pathname === '/svc/wip') {
        const answer = await wip()
        return answer instanceof Response ? answer : new Response(`${JSON.stringify(answer)}\n`)
      }
      return Response.json({
        ...{ daemon: 'ok', status: 'ready', runtime: 'ready', repository: '', branch: '', commit: null, generation: 1 },
        ...{ uptime_ms: 1, boot: [], runtime_session_id: null, error: null, runtime_starts: 1 },
        runtime_asleep_ms: asleepMs(),
      })
    },
  })
  const config = { ...app.deps.config, saveWorkEveryMs }
  const daemon = { socket, sandboxKey: 'key', sessionId, generation: 1 }
  const watch = new WipWatch({ ...app.deps, config }, daemon, { spaceChanged() {}, sleepSeen() {} })
  return { watch, sessionId, [Symbol.asyncDispose]: () => sandbox.stop(true) }
}

test('saves a sandbox once more when its runtime sleeps, and again when it is awake', async () => {
  const seen = { saves: 0, healths: 0 }
  let asleepSince: number | null = null
  await using daemon = await watched({
    wip: () => {
      seen.saves++
      return nothingUnfinished
    },
    asleepMs: () => {
      seen.healths++
      return asleepSince === null ? null : Math.round(performance.now() - asleepSince)
    },
  })
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
  await daemon.watch.end()
}, 120_000)

const unsavedOf = async (sessionId: string) => (await app.request<Session>('GET', app.path(sessionId))).body.error

test('the last save of a sandbox that is slow and answers is waited for', async () => {
  const asked = Promise.withResolvers<void>()
  await using daemon = await watched({
    wip: async () => {
      await asked.promise
      return nothingUnfinished
    },
    asleepMs: () => {
      asked.resolve()
      return null
    },
  })
  await daemon.watch.end()
  expect(await unsavedOf(daemon.sessionId)).toBeNull()
}, 120_000)

test('a server that ends waits a moment for a last save, also where one was waited for before', async () => {
  const { promise: never } = Promise.withResolvers<typeof nothingUnfinished>()
  const asked = Promise.withResolvers<void>()
  await using daemon = await watched({
    wip: () => never,
    asleepMs: () => {
      asked.resolve()
      return null
    },
  })
  const ending = daemon.watch.end()
  await asked.promise
  daemon.watch.hurry()
  await ending
  expect(await unsavedOf(daemon.sessionId)).toContain('may not be saved. It took longer than a stop may wait.')
}, 120_000)

/** The reply of a daemon that waits for a reader of its pack. */
function unreadReply(head: object) {
  const left = Promise.withResolvers<void>()
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(Buffer.from(`${JSON.stringify(head)}\n`))
      controller.enqueue(new Uint8Array(4 * 1024 * 1024))
    },
    cancel: () => left.resolve(),
  })
  return { reply: new Response(body), left: left.promise }
}

const unsaved = { ...nothingUnfinished, state: 'saved', commit: '1'.repeat(40), files: 1, pack: true }

test.each([
  ['finds no space for it', unsaved, 'no-space'],
  ['does not understand it', { ...unsaved, files: 'many' }, 'failed'],
] as const)(
  'ends the reply of a daemon when the server %s',
  async (_, head, kind) => {
    const { reply, left } = unreadReply(head)
    const answers = [reply]
    const wip = () => answers.pop() ?? nothingUnfinished
    const { disk } = app.deps
    const { minFreeBytes } = disk
    await using daemon = await watched({ wip, asleepMs: () => null }, 3_600_000)
    using _kept = keepResponses()
    disk.minFreeBytes = Infinity
    try {
      expect((await daemon.watch.saveNow()).kind).toBe(kind)
      // The daemon runs one save at a time.
      await left
    } finally {
      disk.minFreeBytes = minFreeBytes
      await daemon.watch.end()
    }
  },
  30_000,
)

/** The runtime closes a connection whose response is garbage, sooner or later. Here no response is. */
function keepResponses(): Disposable {
  const { fetch } = globalThis
  const kept: Response[] = []
  const keeping = async (...args: Parameters<typeof fetch>) => {
    const response = await fetch(...args)
    kept.push(response)
    return response
  }
  globalThis.fetch = Object.assign(keeping, fetch)
  return {
    [Symbol.dispose]() {
      globalThis.fetch = fetch
      kept.length = 0
    },
  }
}
