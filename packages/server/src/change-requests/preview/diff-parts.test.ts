/** A long diff: in parts, and compressed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { ChangeRequestDiff } from '@svc/contract'
import { buildApp } from '../../app.ts'
import { Listener } from '../../listen.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { testProject } from '../testing.ts'

let app: TestApp
let token: string
let path: string
let small: string
const door = new Listener({ fromSandbox: false })
const relay = new Listener({ fromSandbox: true })
let port: number
let relayPort: number
beforeAll(async () => {
  app = await makeTestApp()
  const managed = await app.managedProject({ 'a.txt': 'a\n' })
  const at = testProject(app, managed)
  const lines = Array.from({ length: 12_000 }, (_, n) => `line ${n} of many 😀\n`).join('')
  path = at.path((await at.open('long', { 'a.txt': 'b\n', 'long.txt': lines, 'z.txt': 'z\n' })).cr_id, 'diff')
  small = at.path((await at.open('small', { 'a.txt': 'c\n' })).cr_id, 'diff')
  token = (await app.makeSession(managed.project)).token
  const served = buildApp(app.deps)
  port = await door.onPort('127.0.0.1', 0)
  relayPort = await relay.onPort('127.0.0.1', 0)
  for (const listener of [door, relay]) listener.answerWith((request, env) => served.fetch(request, env))
}, 120_000)
afterAll(async () => {
  await Promise.all([door.close(), relay.close()])
  await app.close()
})

/** The reply as it crosses the network. */
async function over(wire: { path?: string; port?: number; accept?: string; encoding?: string }) {
  const response = await fetch(`http://127.0.0.1:${wire.port ?? port}${wire.path ?? path}`, {
    decompress: false,
    headers: {
      authorization: `Bearer ${token}`,
      accept: wire.accept ?? 'application/json',
      'accept-encoding': wire.encoding ?? 'identity',
      host: wire.port === relayPort ? '127.0.0.1:61080' : `127.0.0.1:${port}`,
    },
  })
  expect(response.status).toBe(200)
  const bytes = new Uint8Array(await response.arrayBuffer())
  return { bytes, encoding: response.headers.get('content-encoding'), type: response.headers.get('content-type') }
}

const textOf = (bytes: Uint8Array) => new TextDecoder('utf-8', { fatal: true }).decode(bytes)

test('answers a diff in lines that join to the same diff', async () => {
  const whole = JSON.parse(textOf((await over({})).bytes)) as ChangeRequestDiff
  const { bytes, type } = await over({ accept: 'application/x-ndjson' })
  expect(type).toBe('application/x-ndjson; charset=utf-8')
  const [head, ...pieces] = textOf(bytes)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Partial<ChangeRequestDiff>)
  expect(head).not.toHaveProperty('patch')
  expect(head!.files?.map(({ path }) => path)).toEqual(['a.txt', 'long.txt', 'z.txt'])
  expect(pieces.length).toBeGreaterThan(3)
  expect({ ...head, patch: pieces.map(({ patch }) => patch).join('') }).toEqual(whole)
})

test.each(['application/json', 'application/x-ndjson', 'text/x-diff'])(
  'compresses a long diff as %s with what the client accepts',
  async (accept) => {
    const plain = await over({ accept })
    expect(plain.encoding).toBeNull()
    const zstd = await over({ accept, encoding: 'gzip, deflate, br, zstd' })
    const gzip = await over({ accept, encoding: 'gzip;q=0.5, zstd;q=0' })
    expect([zstd.encoding, gzip.encoding]).toEqual(['zstd', 'gzip'])
    expect(textOf(zstdDecompressSync(zstd.bytes))).toBe(textOf(plain.bytes))
    expect(textOf(gunzipSync(gzip.bytes))).toBe(textOf(plain.bytes))
    for (const { bytes } of [zstd, gzip]) expect(bytes.length).toBeLessThan(plain.bytes.length / 3)
  },
)

test('sends a short reply, and one to a sandbox, as it is', async () => {
  const encoding = 'gzip, zstd'
  expect((await over({ path: small, encoding })).encoding).toBeNull()
  expect((await over({ port: relayPort, encoding })).encoding).toBeNull()
  expect((await over({ port: relayPort, encoding, accept: 'text/x-diff' })).encoding).toBeNull()
})

test('a client that leaves in the middle of a compressed diff ends it', async () => {
  const stop = new AbortController()
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    signal: stop.signal,
    headers: { authorization: `Bearer ${token}`, accept: 'application/x-ndjson', 'accept-encoding': 'gzip' },
  })
  const reader = response.body!.getReader()
  await reader.read()
  stop.abort()
  expect((await over({ encoding: 'gzip' })).encoding).toBe('gzip')
})
