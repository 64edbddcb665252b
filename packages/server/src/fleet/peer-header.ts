/**
 * The header by which a server vouches for a request that it forwards: who sent it, and that it came from one of the
 * servers, which alone derive the key. It covers method, path, host, caller and time, so it fits no other request.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Forwarded } from '../http/ingress.ts'

export const peerHeader = 'x-svc-peer'
/** The answer of a server that is not the home any more. */
export const movedHeader = 'x-svc-peer-moved'
/** The answer of a server whose clock differs: by how many seconds that of the sender is ahead. */
export const clockHeader = 'x-svc-peer-clock'
/** For clocks that differ. A request on its way takes milliseconds. */
export const ageMsMax = 60_000

interface Signed extends Forwarded {
  /** The server it is for. */
  to: string
  at: number
}

export function signForward(key: Buffer, request: IncomingMessage, signed: Signed): string {
  const { to, at, fromSandbox, address } = signed
  return [to, at, fromSandbox ? 1 : 0, address, mac(key, request, signed)].join(' ')
}

/** One with `aheadMs` must be refused. */
export interface ReadForward extends Forwarded {
  /** By how much the clock of the sender is ahead, or behind when it is negative. Null: by no more than requests may differ. */
  aheadMs: number | null
}

/** Null unless one of the servers signed this request for this server. */
export function readForward(
  key: Buffer,
  request: IncomingMessage,
  own: { serverName: string; now: number },
): ReadForward | null {
  const value = request.headers[peerHeader]
  const match = typeof value === 'string' ? /^(\S+) (\d{1,16}) ([01]) (\S+) ([\w-]{43})$/.exec(value) : null
  if (match === null) return null
  const [, to = '', at = '', fromSandbox, address = '', given = ''] = match
  const signed = { to, at: Number(at), fromSandbox: fromSandbox === '1', address }
  const isValid = timingSafeEqual(Buffer.from(given), Buffer.from(mac(key, request, signed)))
  if (!isValid || to !== own.serverName) return null
  return { address, fromSandbox: signed.fromSandbox, aheadMs: beyondAge(signed.at - own.now) }
}

function beyondAge(aheadMs: number): number | null {
  return Math.abs(aheadMs) <= ageMsMax ? null : aheadMs
}

function mac(key: Buffer, { method, url, headers }: IncomingMessage, { to, at, fromSandbox, address }: Signed): string {
  return macOf(key, [to, at, fromSandbox, address, method, url, headers.host ?? ''])
}

function macOf(key: Buffer, parts: unknown[]): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url')
}

/** The header of a request that a server makes itself. It has a key of its own, so no forwarded request can have it. */
export const serverHeader = 'x-svc-server'
export const serverKeyPurpose = 'requests of servers'

interface Between {
  from: string
  to: string
}

export function signOwn(
  key: Buffer,
  { method, path }: { method: string; path: string },
  { from, to }: Between,
  at: number,
) {
  return [from, to, at, macOf(key, [from, to, at, method, path])].join(' ')
}

export interface Own {
  from: string
  /** By how much the clock of that server is ahead, or behind when it is negative. Null: by no more than requests may differ. */
  aheadMs: number | null
}

interface Received {
  method: string
  path: string
  header: string | undefined
}

/** The server that signed this request for this server. Null: none did. One with `aheadMs` must be refused. */
export function readOwn(key: Buffer, received: Received, own: { serverName: string; now: number }): Own | null {
  const signed = readSigned(key, received)
  if (signed?.to !== own.serverName) return null
  return { from: signed.from, aheadMs: beyondAge(signed.at - own.now) }
}

/** Reads what a server signed, at any time and for any server. Null: no server signed it. */
export function readSigned(key: Buffer, { method, path, header }: Received): (Between & { at: number }) | null {
  const [, from = '', to = '', at = '', given = ''] = /^(\S+) (\S+) (\d{1,16}) ([\w-]{43})$/.exec(header ?? '') ?? []
  if (given === '') return null
  const expected = macOf(key, [from, to, Number(at), method, path])
  return timingSafeEqual(Buffer.from(given), Buffer.from(expected)) ? { from, to, at: Number(at) } : null
}

/** The header of an answer by which a server proves its name. `asked` is the header of the question: it fits no other. */
export const nameHeader = 'x-svc-server-name'

export function signName(key: Buffer, name: string, asked: string): string {
  return `${name} ${macOf(key, [name, asked])}`
}

export function readName(key: Buffer, value: string | null, asked: string): string | null {
  const [, name = '', given = ''] = /^(\S+) ([\w-]{43})$/.exec(value ?? '') ?? []
  if (given === '') return null
  return timingSafeEqual(Buffer.from(given), Buffer.from(macOf(key, [name, asked]))) ? name : null
}

/** Removes a header of servers, so that no handler, log or program sees it. */
export function removeHeader(request: IncomingMessage, name: string): void {
  delete request.headers[name]
  const { rawHeaders } = request
  for (let i = rawHeaders.length - 2; i >= 0; i -= 2) if (rawHeaders[i]!.toLowerCase() === name) rawHeaders.splice(i, 2)
}
