/** A fake daemon with an agent runtime, in memory, with the answers and events of the real ones. */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

import type { SandboxSpec } from '../driver.ts'
import { createFakeApp } from './fake-app.ts'
import { createFakeQuestions } from './fake-questions.ts'
import type { FakeDriverOptions } from './fake.ts'

export interface FakePrompt {
  sandboxId: string
  text: string
  promptId: string | null
  /** Text that the service adds. */
  note?: string
  agent?: string
  model?: string | null
}

export interface FakeAttachment {
  attachment_id: string
  file_name: string
  content_base64: string
}

export type FakeDaemon = ReturnType<typeof startFakeDaemon>

interface Message {
  info: Record<string, unknown> & { id: string; role: string }
  parts: (Record<string, unknown> & { id: string })[]
}

class Refusal extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const nothingUnfinished = {
  ...{ state: 'clean', commit: null, base: null, files: 0, paths: [], unpushed: 0, notes: [], pack: false },
}

export function startFakeDaemon(input: { socket: string; spec: SandboxSpec; options: () => FakeDriverOptions }) {
  const { spec } = input
  const token = spec.env['SVC_TOKEN'] ?? ''
  const startedAt = Date.now()
  const prompts: FakePrompt[] = []
  const refreshes: Record<string, unknown>[] = []
  const attachments: FakeAttachment[] = []
  const delivered = new Map<string, Promise<string>>()
  const usedContexts = new Set<string>()
  const runtime = createFakeRuntime()
  const kind = spec.env['SVC_SANDBOX_KIND']
  const app = kind === 'app' || kind === 'check' ? createFakeApp(() => input.options().onApp) : null
  let env = { ...spec.env }
  let stopped = false
  // The contract defines this name, but a driver may not import the contract.
  let waits = spec.env['SVC_SANDBOX_WARM'] === '1'
  let commit: string | null = null

  const booted = () => Date.now() - startedAt >= (input.options().bootMs ?? 0)

  function health() {
    const ready = booted() && (!waits || commit !== null)
    return {
      daemon: 'ok',
      status: ready ? (waits ? 'warm' : 'ready') : 'booting',
      runtime: ready ? 'ready' : 'starting',
      repository: spec.env['SVC_REPO_URL'] ?? '',
      branch: spec.env['SVC_BRANCH_NAME'] ?? '',
      commit,
      generation: Number(spec.env['SVC_SANDBOX_GENERATION'] ?? 0),
      uptime_ms: Date.now() - startedAt,
      boot: [
        { step: 'listen', at_ms: 0, ms: 1 },
        { step: 'runtime', at_ms: 1, ms: ready ? (input.options().bootMs ?? 0) : null },
      ],
      runtime_session_id: runtime.sessionId,
      runtime_starts: runtime.starts,
      error: null,
      runtime_asleep_ms: input.options().asleep?.(spec.sandboxId)?.ms ?? null,
    }
  }

  async function prompt(body: Record<string, unknown>): Promise<unknown> {
    const { text, prompt_id: promptId, note, agent, model } = body
    if (typeof text !== 'string' || text.trim() === '')
      throw new Refusal(400, 'invalid', '"text" must be a non-empty string.')
    if (!booted() || waits) throw new Refusal(503, 'runtime_booting', 'The agent runtime is still starting.')
    await input.options().asleep?.(spec.sandboxId)?.wake()
    const id = typeof promptId === 'string' ? promptId : null
    const given = {
      ...{ sandboxId: spec.sandboxId, text, promptId: id },
      ...(typeof note === 'string' ? { note } : {}),
      ...(typeof agent === 'string' ? { agent } : {}),
      ...(typeof model === 'string' || model === null ? { model } : {}),
    }
    const refusal = input.options().refuse?.(given) ?? null
    if (refusal !== null) throw new Refusal(409, refusal.code, refusal.message)
    const before = id === null ? undefined : delivered.get(id)
    const now = before ?? deliver(given)
    if (id !== null) delivered.set(id, now)
    return { ok: true, runtime_session_id: await now, was_taken: before !== undefined }
  }

  async function deliver(given: FakePrompt): Promise<string> {
    prompts.push(given)
    const sessionId = runtime.open()
    void runtime.turn(given, async (write) => {
      const pieces = input.options().onStream?.(given)
      if (pieces !== undefined) {
        for await (const piece of pieces) write(piece)
        return null
      }
      const answer = await input.options().onPrompt?.(given)
      return answer ?? given.text
    })
    return sessionId
  }

  function replaceEnv(body: Record<string, unknown>): unknown {
    const given = (body['env'] ?? {}) as Record<string, string>
    const platform = Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('SVC_')))
    const next: Record<string, string> = { ...given, ...platform }
    const changed = [...new Set([...Object.keys(env), ...Object.keys(next)])].filter((name) => env[name] !== next[name])
    const names = body['names']
    env = {
      ...next,
      SVC_PROJECT_SECRETS_REVISION: String(body['revision']),
      ...(Array.isArray(names) ? { SVC_PROJECT_SECRET_NAMES: names.join(',') } : {}),
    }
    return { ok: true, changed: changed.sort() }
  }

  async function refresh(body: Record<string, unknown>): Promise<unknown> {
    refreshes.push(body)
    const refusal = (await input.options().refuseRefresh?.()) ?? null
    if (refusal !== null) throw new Refusal(409, refusal.code, refusal.message)
    runtime.cutEvents()
    return { ok: true, before: '0'.repeat(40), after: '0'.repeat(40) }
  }

  function follow(body: Record<string, unknown>): unknown {
    if (!waits) throw new Refusal(409, 'conflict', 'This sandbox already has a session.')
    commit = String(body['commit'])
    return { ok: true, commit }
  }

  function claim(body: Record<string, unknown>): unknown {
    if (!waits) throw new Refusal(409, 'conflict', 'This sandbox already has a session.')
    waits = false
    commit = String(body['commit'])
    env = { ...env, ...(body['env'] as Record<string, string>) }
    delete env['SVC_SANDBOX_WARM']
    if (env['SVC_BOOTSTRAP_RUNTIME_SESSION'] === '1') void bootstrap()
    return { ok: true, runtime_session_id: runtime.sessionId }
  }

  const control: Record<string, (body: Record<string, unknown>) => unknown> = {
    '/svc/prompt': prompt,
    '/svc/attachment': (body) => {
      if (!booted() || waits) throw new Refusal(503, 'runtime_booting', 'The agent runtime is still starting.')
      const refusal = input.options().refuseAttachment?.(body) ?? null
      if (refusal !== null) throw new Refusal(400, refusal.code, refusal.message)
      attachments.push(body as unknown as FakeAttachment)
      return { ok: true }
    },
    '/svc/abort': () => (runtime.abort(), { ok: true }),
    '/svc/refresh': refresh,
    '/svc/env': replaceEnv,
    '/svc/follow': follow,
    '/svc/claim': claim,
    // Without a work tree there is no unfinished work.
    '/svc/wip': () => nothingUnfinished,
    ...(app === null ? {} : { '/svc/app/watch': (body: Record<string, unknown>) => app.watch(body) }),
    '/svc/files': ({ path }) => {
      if (!booted() || waits) throw new Refusal(503, 'runtime_booting', 'The agent runtime is still starting.')
      return input.options().onFiles?.(String(path)) ?? emptyTree(path)
    },
    '/svc/ports': () => ({ ports: input.options().ports?.() ?? [] }),
    '/svc/recover': () => ({ ok: true, files: 0 }),
  }

  async function answer(req: Request): Promise<Response> {
    const { answerMs } = input.options()
    if (answerMs !== undefined) await Bun.sleep(answerMs)
    const url = new URL(req.url)
    if (url.pathname === '/svc/health') return Response.json(health())
    if (app !== null && url.pathname === '/svc/app' && isBearer(req, token)) return Response.json(await app.take(req))
    const action = control[url.pathname]
    if (action !== undefined) {
      if (!isBearer(req, token)) requireContext(req, url, spec.env, usedContexts)
      const reply = await action((await req.json().catch(() => ({}))) as Record<string, unknown>)
      return url.pathname === '/svc/wip' ? new Response(`${JSON.stringify(reply)}\n`) : Response.json(reply)
    }
    requireContext(req, url, spec.env, usedContexts)
    const port = /^\/proxy\/([1-9][0-9]{0,4})(?:\/|$)/.exec(url.pathname)?.[1]
    if (port !== undefined) {
      const reply =
        app === null ? await input.options().onPort?.(Number(port), req) : await app.answer(Number(port), req)
      if (reply) return reply
      throw new Refusal(502, 'nothing_listens', `Nothing listens on port ${port} in the sandbox.`)
    }
    if (!booted()) throw new Refusal(503, 'runtime_booting', 'The agent runtime is still starting.')
    await input.options().asleep?.(spec.sandboxId)?.wake()
    return (await runtime.questions.answer(url.pathname, req)) ?? runtime.answer(url.pathname)
  }

  const server = Bun.serve({
    unix: input.socket,
    // A quiet event stream must stay open. Bun's types have this option only for ports.
    ...({ idleTimeout: 0 } as object),
    async fetch(req) {
      try {
        const { around } = input.options()
        return await (around === undefined ? answer(req) : around(new URL(req.url).pathname, () => answer(req)))
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        const headers: Record<string, string> = { 'x-svc-error': error.code }
        if (error.status === 503) headers['retry-after'] = '1'
        return Response.json({ error: error.message, code: error.code }, { status: error.status, headers })
      }
    },
  })

  if (spec.env['SVC_BOOTSTRAP_RUNTIME_SESSION'] === '1') void bootstrap()
  async function bootstrap(): Promise<void> {
    while (!booted() && !stopped) await Bun.sleep(5)
    const text = env['SVC_INITIAL_PROMPT']
    if (stopped) return
    if (text) await deliver({ sandboxId: spec.sandboxId, text, promptId: env['SVC_SESSION_ID'] ?? null })
    else runtime.open()
  }

  return {
    prompts,
    /** The bodies of `POST /svc/refresh`. */
    refreshes,
    attachments,
    env: () => env,
    questions: runtime.questions,
    /** Ends every event stream; the server reconnects. */
    cutEvents: runtime.cutEvents,
    killRuntime: runtime.kill,
    async stop(): Promise<void> {
      stopped = true
      runtime.close()
      await server.stop(true)
    },
  }
}

const emptyTree = (path: unknown) =>
  path === ''
    ? { kind: 'directory', git: 'committed', entries: [], truncated: false }
    : { kind: 'missing', why: 'absent' }

/** Writes pieces as they come, or returns the whole text. */
type Reply = (write: (piece: string) => void) => Promise<string | null>

/** One conversation: its messages and the stream of events. */
function createFakeRuntime() {
  const messages: Message[] = []
  const streams = new Set<ReadableStreamDefaultController<Uint8Array>>()
  let sessionId: string | null = null
  let serial = 0
  let turns: Promise<void> = Promise.resolve()
  const marker = crypto.randomUUID().replaceAll('-', '')
  let abortTurn: (() => void) | null = null
  let killTurn: (() => void) | null = null
  let starts = 1
  let heart: ReturnType<typeof setInterval> | null = null

  /** Ordered, and unlike those of every other runtime. */
  const newId = (kind: string) => `${kind}_${String(++serial).padStart(6, '0')}${marker}`
  const encode = (type: string, properties: unknown) =>
    new TextEncoder().encode(`data: ${JSON.stringify({ id: newId('evt'), type, properties })}\n\n`)
  const emit = (type: string, properties: unknown) => {
    for (const stream of streams) stream.enqueue(encode(type, properties))
  }

  function open(): string {
    sessionId ??= newId('ses')
    return sessionId
  }

  function message(info: Record<string, unknown>): Message {
    const made: Message = { info: { role: '', ...info, id: newId('msg'), sessionID: sessionId }, parts: [] }
    messages.push(made)
    emit('message.updated', { sessionID: sessionId, info: made.info })
    return made
  }

  function part(of: Message, fields: Record<string, unknown>): void {
    const made = { id: newId('prt'), ...fields, messageID: of.info.id, sessionID: sessionId }
    of.parts.push(made)
    emit('message.part.updated', { sessionID: sessionId, part: made, time: Date.now() })
  }

  const model = { providerID: 'svc', modelID: 'fake' }

  function turn(given: FakePrompt, reply: Reply): Promise<void> {
    // One turn after the other, as the runtime queues prompts.
    turns = turns.then(() => run(given, reply))
    return turns
  }

  async function run({ text, note, promptId }: FakePrompt, reply: Reply): Promise<void> {
    const user = message({ role: 'user', time: { created: Date.now() }, agent: 'build', model })
    part(user, { type: 'text', text, ...idOfText(promptId) })
    if (note !== undefined) part(user, { type: 'text', text: note, synthetic: true })
    emit('session.status', { sessionID: sessionId, status: { type: 'busy' } })
    const created = Date.now()
    const assistant = message({ role: 'assistant', parentID: user.info.id, ...model, time: { created } })
    const aborted = new Promise<'aborted'>((resolve) => (abortTurn = () => resolve('aborted')))
    const killed = new Promise<'killed'>((resolve) => {
      killTurn = () => {
        part(assistant, { type: 'tool', tool: 'bash', state: { status: 'running', input: { command: 'sleep 600' } } })
        resolve('killed')
      }
    })
    const outcome = await Promise.race([
      ...[aborted, killed],
      reply((piece) => stream(assistant, piece)).then(
        (text) => ({ text }),
        (error: unknown) => ({ failed: error instanceof Error ? error.message : String(error) }),
      ),
    ])
    abortTurn = killTurn = null
    if (outcome === 'killed') return
    if (outcome === 'aborted') finishWith({ name: 'MessageAbortedError', data: { message: 'Aborted' } })
    else if ('failed' in outcome) finishWith({ name: 'UnknownError', data: { message: outcome.failed } })
    else {
      if (outcome.text !== null) stream(assistant, outcome.text)
      endPart(assistant)
      assistant.info = { ...assistant.info, finish: 'stop', time: { created, completed: Date.now() } }
      emit('message.updated', { sessionID: sessionId, info: assistant.info })
    }
    emit('session.status', { sessionID: sessionId, status: { type: 'idle' } })
    emit('session.idle', { sessionID: sessionId })

    function finishWith(error: unknown): void {
      emit('session.error', { sessionID: sessionId, error })
      assistant.info = { ...assistant.info, error, time: { created, completed: Date.now() } }
      emit('message.updated', { sessionID: sessionId, info: assistant.info })
    }
  }

  /** The part names its prompt, as the real daemon has it. */
  function idOfText(promptId: string | null): { id?: string } {
    if (promptId === null || !/^[0-9a-f-]{36}$/.test(promptId)) return {}
    return { id: `prt_${(++serial).toString(16).padStart(12, '0')}${promptId.replaceAll('-', '')}` }
  }

  function stream(assistant: Message, piece: string): void {
    if (assistant.parts.length === 0) part(assistant, { type: 'text', text: '', time: { start: Date.now() } })
    const made = assistant.parts.at(-1)!
    const ids = { sessionID: sessionId, messageID: assistant.info.id, partID: made.id }
    made['text'] = `${String(made['text'])}${piece}`
    emit('message.part.delta', { ...ids, field: 'text', delta: piece })
  }

  function endPart(assistant: Message): void {
    const made = assistant.parts.at(-1)
    if (made === undefined) return
    made['time'] = { start: Date.now(), end: Date.now() }
    emit('message.part.updated', { sessionID: sessionId, part: made, time: Date.now() })
  }

  function events(): Response {
    let mine: ReadableStreamDefaultController<Uint8Array>
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        mine = controller
        controller.enqueue(encode('server.connected', {}))
        streams.add(controller)
        heart ??= setInterval(() => emit('server.heartbeat', {}), 10_000)
      },
      cancel() {
        streams.delete(mine)
      },
    })
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
  }

  return {
    open,
    turn,
    questions: createFakeQuestions({ sessionId: open, newId, emit }),
    cutEvents() {
      for (const stream of streams) stream.close()
      streams.clear()
    },
    /** It dies while its agent runs a command, and starts again with the messages so far. */
    kill() {
      killTurn?.()
      starts++
      for (const stream of streams) stream.close()
      streams.clear()
    },
    get starts() {
      return starts
    },
    get sessionId() {
      return sessionId
    },
    abort() {
      abortTurn?.()
    },
    answer(path: string): Response {
      if (path === '/event') return events()
      if (sessionId !== null && path === `/session/${sessionId}/message`) return Response.json(messages)
      if (path === '/session/status') {
        return Response.json(abortTurn === null ? {} : { [String(sessionId)]: { type: 'busy' } })
      }
      if (path === '/agent') return Response.json([{ name: 'build', mode: 'primary' }])
      return Response.json({ name: 'NotFoundError', data: { message: path } }, { status: 404 })
    },
    close() {
      if (heart !== null) clearInterval(heart)
      abortTurn?.()
      for (const stream of streams) stream.close()
      streams.clear()
    },
  }
}

function isBearer(req: Request, token: string): boolean {
  return token !== '' && req.headers.get('authorization') === `Bearer ${token}`
}

/** Enforces the rules of the signed user context, so that a server that breaks one fails its tests. */
function requireContext(req: Request, url: URL, env: Record<string, string>, used: Set<string>): void {
  const refuse = (reason: string) => new Refusal(401, 'unauthenticated', reason)
  const header = req.headers.get('x-svc-user-context')
  if (header === null) throw refuse('No user context was sent.')
  const [payload = '', mac = ''] = header.split('.')
  const key = Buffer.from(hkdfSync('sha256', env['SVC_TOKEN'] ?? '', new Uint8Array(32), 'svc user context v1', 32))
  const expected = createHmac('sha256', key).update(payload).digest()
  const given = Buffer.from(mac, 'base64url')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw refuse('The signature is wrong.')
  const context = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Record<string, unknown>
  const now = Date.now() / 1000
  const { iat, exp, jti } = context as { iat: number; exp: number; jti: string }
  if (!(exp > now) || exp - iat > 60) throw refuse('The user context has expired or is valid for too long.')
  if (context['session_id'] !== env['SVC_SESSION_ID']) throw refuse('The user context is for another session.')
  if (String(context['generation']) !== env['SVC_SANDBOX_GENERATION'])
    throw refuse('The user context is for another sandbox.')
  if (context['method'] !== req.method) throw refuse('The user context is for another method.')
  if (context['path'] !== url.pathname + url.search) throw refuse('The user context is for another path.')
  if (used.has(jti)) throw refuse('The user context was already used.')
  used.add(jti)
}
