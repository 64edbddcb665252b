/** A daemon that was taken over: whatever it says, the server stays bounded in time and memory, and says what is the matter. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redaction } from '../../redaction/redaction.ts'
import { Conversation } from '../conversation/assemble.ts'
import { TranscriptRedactor } from '../conversation/transcript-redaction.ts'
import { type DaemonAddress, readHealth, sendEnv, sendPrompt } from '../../sandboxes/daemon-client.ts'
import { readFilesInSandbox } from '../../sandboxes/daemon-files.ts'
import { requestWork } from '../../sandboxes/daemon-work.ts'
import { makeSessionApp, type SessionApp } from '../testing.ts'
import { saveWip } from '../unfinished-work/wip.ts'
import { wipOf } from '../unfinished-work/store.ts'

/** The reply to any request. */
type Behaviour = (socket: Socket) => void

const json =
  (body: string, status = '200 OK', more = ''): Behaviour =>
  (socket) =>
    void socket.end(
      `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n${more}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    )
const raw =
  (text: string, stays = false): Behaviour =>
  (socket) =>
    void (stays ? socket.write(text) : socket.end(text))
/** Writes as fast as it is read, until the connection closes. */
const endless =
  (head: string, chunk: string): Behaviour =>
  (socket) => {
    socket.write(head)
    const more = () => {
      while (!socket.destroyed && socket.write(chunk));
    }
    socket.on('drain', more)
    more()
  }
const ok = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
const health = (changes: object) =>
  JSON.stringify({
    ...{ daemon: 'ok', status: 'ready', runtime: 'ready', repository: '', branch: '', commit: null, generation: 1 },
    ...{ uptime_ms: 1, boot: [], runtime_session_id: null, error: null },
    ...changes,
  })

/** None of these is an answer: the server says that the daemon is away or refused, and goes on. */
const noAnswers: Record<string, Behaviour> = {
  'hangs up': (socket) => void socket.destroy(),
  'says nothing': () => {},
  'half a status line': raw('HTTP/1.'),
  garbage: raw('\x00\x01\x02 not http at all\r\n\r\n'),
  'a head without an end': endless('HTTP/1.1 200 OK\r\n', `x-more: ${'a'.repeat(1000)}\r\n`),
  'one endless header': endless('HTTP/1.1 200 OK\r\nx-more: ', 'a'.repeat(10_000)),
  'a body that never comes': raw(`${ok}content-length: 10\r\n\r\n`, true),
  'a body without an end': endless(`${ok}\r\n`, ' '.repeat(65_536)),
  'an endless chunked body': endless(`${ok}transfer-encoding: chunked\r\n\r\n`, `10000\r\n${'a'.repeat(65_536)}\r\n`),
  'chunks of nonsense size': raw(`${ok}transfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n`),
  'less than it announced': raw(`${ok}content-length: 100000\r\n\r\n{}`),
  'two lengths': raw(`${ok}content-length: 2\r\ncontent-length: 200\r\n\r\n{}`),
  'a bomb': (socket) => {
    const body = Bun.gzipSync(new Uint8Array(64 * 1024 * 1024))
    socket.write(`${ok}content-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`)
    socket.end(body)
  },
  'damaged gzip': json('not gzip', '200 OK', 'content-encoding: gzip\r\n'),
  'a page': raw('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>'),
  'half of JSON': json('{"daemon": "ok", '),
  null: json('null'),
  'a list': json('[]'),
  'a number': json('7'),
  'JSON a hundred thousand deep': json(`${'['.repeat(100_000)}${']'.repeat(100_000)}`),
  'a redirect elsewhere': raw('HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n'),
  'another protocol': raw('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n', true),
  'a status that is none': raw('HTTP/1.1 999 What\r\ncontent-length: 2\r\n\r\n{}'),
  'an error without a shape': json('{"error": {"nested": true}}', '500 Oops'),
  'an endless error': endless('HTTP/1.1 500 Oops\r\ncontent-type: application/json\r\n\r\n', ' '.repeat(65_536)),
  'one hundred continues': raw('HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)),
  'another daemon': json(health({ daemon: 'evil' })),
  'a state that is none': json(health({ status: 'excellent' })),
  'times that are none': json(health({ boot: [{ step: 'x', at_ms: -1e308, ms: 1e308 }] })),
  'an uptime of ages': json(health({ uptime_ms: 1e300 })),
  'ten thousand steps': json(health({ boot: Array.from({ length: 10_000 }, () => ({ step: 'x', at_ms: 0, ms: 0 })) })),
  'an error of a megabyte': json(health({ error: 'x'.repeat(900_000) })),
}

let folder: string
let server: Server
let behave: Behaviour
let daemon: DaemonAddress
const sockets = new Set<Socket>()

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-hostile-'))
  const path = join(folder, 'd.sock')
  server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.once('data', () => behave(socket))
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  daemon = { socket: path, sandboxKey: 'svc_sbx_x', sessionId: '', generation: 1 }
})
afterAll(() => {
  for (const socket of sockets) socket.destroy()
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('invalid replies of a daemon', () => {
  test('this test has at least forty invalid replies', () => {
    expect(Object.keys(noAnswers).length + Object.keys(lies).length).toBeGreaterThanOrEqual(40)
  })

  test.each(Object.entries(noAnswers))('treats this reply as a failure: %s', async (name, behaviour) => {
    behave = behaviour
    Bun.gc(true)
    const before = process.memoryUsage().rss
    const outcome = await readHealth(daemon.socket)
    expect([name, outcome.kind]).not.toEqual([name, 'ok'])
    if (outcome.kind !== 'ok') expect(outcome.reason.length).toBeLessThanOrEqual(20_000)
    const work = await requestWork(
      daemon,
      { pushed: [], have: [], message: '', file_bytes_max: 1, bytes_max: 1 },
      { bytesMax: 1 << 20, signal: AbortSignal.timeout(1_000) },
    )
    expect([name, work.kind]).not.toEqual([name, 'ok'])
    const files = await readFilesInSandbox(daemon, { path: '' }, AbortSignal.timeout(1_000))
    expect([name, files.kind]).not.toEqual([name, 'ok'])
    for (const socket of sockets) socket.destroy()
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024)
  })

  test('makes text storable that no database accepts', async () => {
    behave = json(health({ error: 'a\0b\ud800c', boot: [{ step: 'x\0y', at_ms: 0, ms: 1 }] }))
    const outcome = await readHealth(daemon.socket)
    if (outcome.kind !== 'ok') throw new Error(outcome.reason)
    expect([outcome.value.error, outcome.value.boot[0]?.step]).toEqual(['a\u{fffd}b\u{fffd}c', 'x\u{fffd}y'])
  })

  test('accepts replies of control routes only in their shape', async () => {
    for (const body of [
      '{"ok": false, "runtime_session_id": "x"}',
      '{"ok": true}',
      `{"ok": true, "runtime_session_id": "${'x'.repeat(5000)}"}`,
    ]) {
      behave = json(body)
      expect((await sendPrompt(daemon, { text: 'x', prompt_id: 'x' })).kind).toBe('unavailable')
    }
    behave = json(JSON.stringify({ ok: true, changed: Array.from({ length: 20_000 }, () => 'x') }))
    expect((await sendEnv(daemon, { revision: '1', env: {} })).kind).toBe('unavailable')
  })
})

const listed = (...entries: object[]) => ({ kind: 'directory', git: null, entries, truncated: false })
const named = (name: string) => ({ name, kind: 'file', size: 1, git: null })

describe('invalid files of a work tree', () => {
  test.each(
    Object.entries({
      'a name that leads up': listed(named('..')),
      'a name that is a path': listed(named('a/../../etc')),
      'an absolute name': listed(named('/etc')),
      'no name': listed(named('')),
      'a name with NUL': listed(named('a\0b')),
      'a name that is no bytes': listed(named('\u{202e}')),
      'a name of a megabyte': listed(named('x'.repeat(1 << 20))),
      'more entries than there may be': listed(...Array.from({ length: 5_001 }, (_, at) => named(`${at}`))),
      'a kind that is none': listed({ ...named('a'), kind: 'door' }),
      'a size that is none': listed({ ...named('a'), size: -1 }),
      'a state that is none': listed({ ...named('a'), git: 'excellent' }),
      'content that is no base64': { kind: 'file', git: null, size: 1, content_base64: '<script>' },
      'more content than asked for': { kind: 'file', git: null, size: 1, content_base64: 'a'.repeat(6 * 1024 * 1024) },
      'twelve megabytes': { kind: 'file', git: null, size: 1, content_base64: 'a'.repeat(12 * 1024 * 1024) },
      'a target that is no bytes': { kind: 'symlink', git: null, target: '\u{1f600}' },
      'an answer without content': { kind: 'file', git: null, size: 1 },
      'another answer': { kind: 'ok' },
    }),
  )('are no answer: %s', async (_, reply) => {
    behave = json(JSON.stringify(reply))
    const outcome = await readFilesInSandbox(daemon, { path: '' }, AbortSignal.timeout(5_000))
    expect(outcome.kind).toBe('unavailable')
  })
})

const id = 'a'.repeat(40)
const work = (changes: object) =>
  JSON.stringify({
    state: 'saved',
    commit: id,
    base: null,
    files: 1,
    paths: [],
    unpushed: 0,
    notes: [],
    pack: true,
    ...changes,
  })
const sent =
  (line: string, rest: string | Uint8Array = ''): Behaviour =>
  (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\nconnection: close\r\n\r\n${line}\n`)
    socket.end(rest)
  }

/** Work that is none: what was saved before stays, and nothing of this is kept. */
const lies: Record<string, Behaviour> = {
  'no pack at all': sent(work({})),
  'a pack of garbage': sent(work({}), 'PACK and then nothing of the kind'),
  'a pack of another commit': sent(work({}), new Uint8Array(Buffer.from('5041434b00000002000000009d08', 'hex'))),
  'a pack without an end': (socket) => endless(`HTTP/1.1 200 OK\r\n\r\n${work({})}\n`, '\0'.repeat(65_536))(socket),
  'an id that is none': sent(work({ commit: '--upload-pack=x' })),
  'an id of the other format': sent(work({ commit: 'b'.repeat(64) })),
  'work without a commit': sent(work({ commit: null })),
  'clean with a commit': sent(work({ state: 'clean' })),
  'files without number': sent(work({ files: -1 })),
  'a path of a megabyte': sent(work({ paths: ['x'.repeat(1 << 20)] })),
  'a thousand notes': sent(work({ notes: Array.from({ length: 1000 }, () => 'x') })),
}

describe('invalid unfinished work', () => {
  let app: SessionApp
  beforeAll(async () => {
    app = await makeSessionApp()
  }, 120_000)
  afterAll(() => app.close())

  test.each(Object.entries(lies))('refuses invalid work: %s', async (_, behaviour) => {
    const session = await app.running()
    behave = behaviour
    const lying = { ...daemon, sessionId: session.session_id }
    const outcome = await saveWip(app.deps, lying, AbortSignal.timeout(3_000)).catch((error: unknown) => ({
      kind: 'failed' as const,
      reason: String(error),
    }))
    for (const socket of sockets) socket.destroy()
    expect(outcome.kind).toBe('failed')
    expect(await wipOf(app.deps.db, session.session_id)).toEqual([])
    expect((await app.request('GET', app.path(session.session_id, 'wip'))).body).toMatchObject({
      commit: null,
      files: 0,
    })
    await app.request('POST', app.path(session.session_id, 'stop'))
  })
})

describe('a lying runtime', () => {
  const updated = (info: unknown) => ({ type: 'message.updated', properties: { sessionID: 's', info } })
  const message = (messageId: string) => ({ id: messageId, role: 'assistant', time: { created: 1 } })
  const part = (changes: object) => ({
    type: 'message.part.updated',
    properties: { sessionID: 's', part: { id: 'p', messageID: 'm', type: 'text', text: 'x', ...changes } },
  })

  test('adds no keys, exhausts no memory and crashes nothing', () => {
    const conversation = new Conversation('s', new TranscriptRedactor(new Redaction().of('s'), () => new Date()))
    conversation.apply(updated(message('m')))
    const odd: unknown[] = [
      ...[null, 7, 'x', [], {}, { type: 'message.updated' }, { type: 'message.updated', properties: null }],
      ...[
        updated(null),
        updated([]),
        updated(message('x'.repeat(100_000))),
        updated(message('a\0b')),
        updated(message('../x')),
      ],
      ...[updated({ ...message('n'), time: { created: 1e300 } }), updated({ ...message('n'), role: 'system' })],
      ...[
        part({ id: 7 }),
        part({ id: 'x'.repeat(5000) }),
        part({ text: 7 }),
        part({ type: 'tool', state: 7 }),
        part({ type: 'tool', state: { metadata: 7 } }),
      ],
      ...[part({ type: 'tool', tool: { toString: 1 }, state: { title: [], input: 7n.toString(), output: {} } })],
      { type: 'session.error', properties: { sessionID: 's', error: { data: { message: { deep: 1 } } } } },
      {
        type: 'message.part.delta',
        properties: { sessionID: 's', messageID: 'm', partID: 'p', field: '__proto__', delta: 'x' },
      },
    ]
    for (const event of odd) conversation.apply(event)
    for (const messageId of ['m', 'n', 'x']) conversation.message(messageId)
    for (let i = 0; i < 30_000; i++) conversation.apply(updated(message(`f${i}`)))
    expect(conversation.message('f25000')).toBeNull()
    for (let i = 0; i < 1_000; i++) conversation.apply(part({ id: `p${i}`, text: 'y'.repeat(1_000_000) }))
    expect(conversation.message('m')!.parts.length).toBeLessThanOrEqual(500)
    expect(JSON.stringify(conversation.message('m')).length).toBeLessThan(100 * 1024 * 1024)
    expect(
      conversation.load([{ info: message('z'), parts: Array.from({ length: 10_000 }, () => 7) }, 7, null]),
    ).toEqual([])
  })
})
