/** The event stream of a sandbox whose runtime sleeps. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sendPrompt } from '../../sandboxes/daemon-client.ts'
import { makeSessionApp, type SessionApp, until } from '../testing.ts'
import { Follower } from './follow.ts'
import { TurnSpan } from './turn-span.ts'

let app: SessionApp
let dir: string
beforeAll(async () => {
  app = await makeSessionApp()
  dir = await mkdtemp(join(tmpdir(), 'svc-rest-'))
}, 120_000)
afterAll(async () => {
  await app.close()
  await rm(dir, { recursive: true, force: true })
})

const health = {
  ...{ daemon: 'ok', status: 'ready', runtime: 'ready', repository: '', branch: '', commit: null, generation: 1 },
  ...{ uptime_ms: 1, boot: [], runtime_session_id: null, error: null, runtime_starts: 1 },
}

/** A daemon that counts open event streams and notes how many there were when a prompt came. */
function serveDaemon(socket: string) {
  const seen = { streams: 0, atPrompt: -1 }
  const server = Bun.serve({
    unix: socket,
    fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname === '/svc/health') return Response.json(health)
      if (pathname === '/svc/prompt') {
        seen.atPrompt = seen.streams
        return Response.json({ ok: true, runtime_session_id: 'one' })
      }
      if (pathname !== '/event') return new Response(null, { status: 404 })
      server.timeout(request, 0)
      seen.streams++
      request.signal.addEventListener('abort', () => seen.streams--)
      const open = new ReadableStream({ start: (controller) => controller.enqueue(': open\n\n') })
      return new Response(open, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  return { seen, stop: () => server.stop(true) }
}

test('closes while the runtime sleeps, and is open again before a prompt arrives', async () => {
  const session = await app.running()
  const { session_id: sessionId, created_by: userId } = session
  const span = () => new TurnSpan(app.deps, session)
  const daemon = { socket: join(dir, 'd.sock'), sandboxKey: 'key', sessionId, generation: 1 }
  const { seen, stop } = serveDaemon(daemon.socket)
  const follower = new Follower(app.deps, daemon, {
    ...{ userId: userId ?? '', runtimeSessionId: null, turn: 'idle', prompt: null, stored: null },
    redactor: app.deps.redaction.of(sessionId),
    span: span(),
    on: { trouble() {}, givenUp() {}, turnStored() {}, nextPrompt() {}, sleepChanged() {} },
  })
  const streams = (count: number) => until(`${count} streams`, () => seen.streams === count)
  try {
    follower.start()
    await streams(1)
    follower.sleepSeen(10_000)
    await streams(0)
    const used = { ...daemon, beforeUse: () => follower.awake() }
    expect(await sendPrompt(used, { text: 'Go on.', prompt_id: 'p' })).toMatchObject({ kind: 'ok' })
    expect(seen).toEqual({ streams: 1, atPrompt: 1 })

    follower.sleepSeen(10_000)
    await streams(0)
    const waking = follower.awake()
    // What the server saw before the runtime answered.
    follower.sleepSeen(10_000)
    await waking
    expect(seen.streams).toBe(1)

    follower.sleepSeen(10_000)
    await streams(0)
    // Somebody woke it without this server.
    follower.sleepSeen(null)
    await streams(1)
    // The daemon counts a stream before the follower has its answer.
    await follower.awake()

    follower.sleepSeen(10_000)
    await streams(0)
    // It was awake in between and sleeps again.
    follower.sleepSeen(0)
    await streams(1)
  } finally {
    await follower.stop()
    await stop()
  }
}, 120_000)

test('stays closed for a sandbox that sleeps already, and ends a turn whose end was missed', async () => {
  const session = await app.running()
  const { session_id: sessionId, created_by: userId } = session
  const span = () => new TurnSpan(app.deps, session)
  const daemon = { socket: join(dir, 'asleep.sock'), sandboxKey: 'key', sessionId, generation: 1 }
  const { seen, stop } = serveDaemon(daemon.socket)
  const given = { userId: userId ?? '', runtimeSessionId: null, prompt: null, stored: null }
  const on = { trouble() {}, givenUp() {}, turnStored() {}, nextPrompt() {}, sleepChanged() {} }
  const redactor = app.deps.redaction.of(sessionId)
  const sleeping = new Follower(app.deps, daemon, {
    ...given,
    turn: 'idle',
    isAsleep: true,
    redactor,
    span: span(),
    on,
  })
  const busy = new Follower(app.deps, daemon, { ...given, turn: 'busy', isAsleep: true, redactor, span: span(), on })
  try {
    sleeping.start()
    busy.start()
    // Only the one in a turn asks for events.
    await until('one stream', () => seen.streams === 1)
    busy.sleepSeen(10_000)
    await until('the end of the turn', () => busy.turn === 'idle')
    await sleeping.awake()
    await until('another stream', () => seen.streams === 2)
  } finally {
    await Promise.all([sleeping.stop(), busy.stop()])
    await stop()
  }
}, 120_000)
