import { expect, test } from 'bun:test'
import type { IncomingMessage } from 'node:http'
import {
  peerHeader,
  readForward,
  readName,
  readOwn,
  removeHeader,
  signForward,
  signName,
  signOwn,
} from './peer-header.ts'

const key = Buffer.alloc(32, 1)
const at = Date.parse('2026-11-24T12:00:00Z')
const signed = { to: 'bob', at, address: '203.0.113.9', fromSandbox: true }
const own = { serverName: 'bob', now: at + 1_000 }

function request(changes: { method?: string; url?: string; host?: string } = {}): IncomingMessage {
  const { method = 'POST', url = '/v1/projects/x?y=1', host = 'svc.example' } = changes
  return { method, url, headers: { host }, rawHeaders: ['Host', host] } as unknown as IncomingMessage
}

function received(header: string, changes?: Parameters<typeof request>[0]): IncomingMessage {
  const arrived = request(changes)
  arrived.headers[peerHeader] = header
  arrived.rawHeaders.push('X-Svc-Peer', header)
  return arrived
}

test('believes what another server signed for exactly this request', () => {
  const header = signForward(key, request(), signed)
  expect(readForward(key, received(header), own)).toEqual({ address: '203.0.113.9', fromSandbox: true, aheadMs: null })
})

test('believes nothing else', () => {
  const header = signForward(key, request(), signed)
  expect(readForward(key, received(header, { method: 'GET' }), own)).toBeNull()
  expect(readForward(key, received(header, { url: '/v1/projects/z?y=1' }), own)).toBeNull()
  expect(readForward(key, received(header, { host: 'other.example' }), own)).toBeNull()
  expect(readForward(key, received(header), { ...own, serverName: 'cyd' })).toBeNull()
  expect(readForward(Buffer.alloc(32, 2), received(header), own)).toBeNull()
  expect(readForward(key, received(header.replace('203.0.113.9', '203.0.113.8')), own)).toBeNull()
  expect(readForward(key, received('bob'), own)).toBeNull()
})

test('tells a request of a server whose clock differs from a forged one', () => {
  const header = signForward(key, request(), signed)
  expect(readForward(key, received(header), { ...own, now: at + 61_000 })?.aheadMs).toBe(-61_000)
  expect(readForward(key, received(header), { ...own, now: at - 61_000 })?.aheadMs).toBe(61_000)
  expect(readForward(Buffer.alloc(32, 2), received(header), { ...own, now: at + 61_000 })).toBeNull()
})

test('removes the header before any handler sees it', () => {
  const arrived = received('anything')
  removeHeader(arrived, peerHeader)
  expect(arrived.headers).toEqual({ host: 'svc.example' })
  expect(arrived.rawHeaders).toEqual(['Host', 'svc.example'])
})

test('believes a request of a server itself for one path, receiver and minute, and no forwarded one', () => {
  const asked = { method: 'POST', path: '/v1/replicas/x/fill?epoch=1' }
  const header = signOwn(key, asked, { from: 'ada', to: 'bob' }, at)
  expect(readOwn(key, { ...asked, header }, own)).toEqual({ from: 'ada', aheadMs: null })
  expect(readOwn(key, { ...asked, path: '/v1/replicas/x/fill?epoch=2', header }, own)).toBeNull()
  expect(readOwn(key, { ...asked, method: 'GET', header }, own)).toBeNull()
  expect(readOwn(key, { ...asked, header }, { ...own, serverName: 'cyd' })).toBeNull()
  expect(readOwn(key, { ...asked, header }, { ...own, now: at + 61_000 })).toEqual({ from: 'ada', aheadMs: -61_000 })
  expect(readOwn(key, { ...asked, header: header.replace('ada', 'eve') }, own)).toBeNull()
  expect(readOwn(key, { ...asked, header: signForward(key, request(), signed) }, own)).toBeNull()
  expect(readOwn(key, { ...asked, header: undefined }, own)).toBeNull()
})

test('a proof of a name fits one question', () => {
  const proof = signName(key, 'bob', 'a question')
  expect(readName(key, proof, 'a question')).toBe('bob')
  expect(readName(key, proof, 'another question')).toBeNull()
  expect(readName(key, proof.replace('bob', 'eve'), 'a question')).toBeNull()
  expect(readName(Buffer.alloc(32), proof, 'a question')).toBeNull()
  expect(readName(key, null, 'a question')).toBeNull()
})
