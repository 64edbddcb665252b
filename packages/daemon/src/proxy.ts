/** Requests and upgrades on to a program on loopback: to the agent runtime, or to a port the agent listens on. */
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

import { headerLines } from './access.ts'
import { ControlError, sendError } from './reply.ts'

export interface Upstream {
  port: number
  path: string
  /** What to say when nothing listens there. */
  refused: () => ControlError
}

const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
const headBytesMax = 64 * 1024

export const nothingListens = (port: number) =>
  new ControlError(502, 'nothing_listens', `Nothing listens on port ${port} in the sandbox.`, {
    hint: `Start a server on 127.0.0.1:${port} in the session, then try again.`,
  })

export function proxyRequest(req: IncomingMessage, res: ServerResponse, upstream: Upstream, serviceKey: string): void {
  const headers = passedHeaders(req.rawHeaders, serviceKey)
  headers.push('Host', `localhost:${upstream.port}`)
  // The body's framing is ours to choose; its length is known or it is not.
  if (headerLines(req.rawHeaders, 'transfer-encoding').length > 0) headers.push('Transfer-Encoding', 'chunked')
  const out = request({
    host: '127.0.0.1',
    port: upstream.port,
    method: req.method,
    path: upstream.path,
    headers: asObject(headers),
    setHost: false,
    // A connection each: what one request left behind can never become part of another's answer.
    agent: false,
  })
  out.on('response', (answer) => {
    const kept = passedHeaders(answer.rawHeaders, serviceKey)
    res.writeHead(answer.statusCode ?? 502, answer.statusMessage, asObject(kept))
    // Headers of an event stream must not wait for its first event.
    res.flushHeaders()
    answer.pipe(res)
    answer.on('error', () => res.destroy())
    answer.on('aborted', () => res.destroy())
  })
  out.on('error', (error: NodeJS.ErrnoException) => {
    if (res.headersSent) res.destroy()
    else sendError(res, error.code === 'ECONNREFUSED' ? upstream.refused() : brokenAnswer(upstream.port, error))
  })
  // Whoever asked has gone: so does the question.
  res.on('close', () => out.destroy())
  req.on('aborted', () => out.destroy())
  req.pipe(out)
}

/** WebSockets and everything else that upgrades: after the head it is a raw pipe, so no frame is ours to understand. */
export function proxyUpgrade(
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  upstream: Upstream,
  serviceKey: string,
): void {
  const target = connect({ host: '127.0.0.1', port: upstream.port })
  const end = () => {
    socket.destroy()
    target.destroy()
  }
  socket.on('error', end)
  socket.on('close', () => target.destroy())
  target.on('close', () => socket.destroy())
  target.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNREFUSED') writeErrorHead(socket, upstream.refused())
    end()
  })
  target.on('connect', () => {
    const headers = passedHeaders(req.rawHeaders, serviceKey)
    headers.push('Host', `localhost:${upstream.port}`, 'Connection', 'Upgrade')
    headers.push('Upgrade', headerLines(req.rawHeaders, 'upgrade').join(', '))
    target.write(`${req.method} ${upstream.path} HTTP/1.1\r\n${asLines(headers)}\r\n`, 'latin1')
    if (head.length > 0) target.write(head)
    socket.pipe(target)
  })
  passAnswerHead(target, socket, serviceKey)
}

/** The answer's head loses the same headers as any other; after it the bytes pass untouched. */
function passAnswerHead(target: Duplex, socket: Duplex, serviceKey: string): void {
  let held = Buffer.alloc(0)
  const onData = (chunk: Buffer) => {
    held = Buffer.concat([held, chunk])
    const end = held.indexOf('\r\n\r\n')
    if (end === -1) {
      if (held.length > headBytesMax) target.destroy()
      return
    }
    target.off('data', onData)
    const [status = '', ...lines] = held.subarray(0, end).toString('latin1').split('\r\n')
    const raw = lines.flatMap((line) => {
      const colon = line.indexOf(':')
      return colon === -1 ? [] : [line.slice(0, colon), line.slice(colon + 1).trim()]
    })
    const switched = /^HTTP\/1\.1 101\b/.test(status)
    const kept = passedHeaders(raw, serviceKey)
    const again = switched
      ? ['Connection', 'Upgrade', 'Upgrade', headerLines(raw, 'upgrade').join(', ')]
      : ['Connection', 'close']
    // A refusal keeps its framing: its body passes as it is, chunk sizes included.
    const framing = switched
      ? []
      : headerLines(raw, 'transfer-encoding').flatMap((value) => ['Transfer-Encoding', value])
    socket.write(`${status}\r\n${asLines([...kept, ...again, ...framing])}\r\n`, 'latin1')
    const rest = held.subarray(end + 4)
    if (rest.length > 0) socket.write(rest)
    target.pipe(socket)
  }
  target.on('data', onData)
}

export function writeErrorHead(socket: Duplex, error: ControlError): void {
  const body = JSON.stringify(error.body())
  const headers = [
    'Content-Type',
    'application/json',
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Connection',
    'close',
    'X-Svc-Error',
    error.code,
  ]
  for (const [name, value] of Object.entries(error.headers)) headers.push(name, value)
  socket.end(`HTTP/1.1 ${error.status} ${error.code}\r\n${asLines(headers)}\r\n${body}`)
}

/** Without what belongs to one connection, and without ours: no program in the sandbox sees or sends an x-svc header. */
function passedHeaders(rawHeaders: string[], serviceKey: string): string[] {
  const named = new Set(
    headerLines(rawHeaders, 'connection').flatMap((value) => value.split(',').map((name) => name.trim().toLowerCase())),
  )
  const kept: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    const value = rawHeaders[i + 1]!
    const lower = name.toLowerCase()
    if (hopByHop.has(lower) || lower === 'host' || named.has(lower) || lower.startsWith('x-svc-')) continue
    if (lower === 'authorization' && value === `Bearer ${serviceKey}`) continue
    kept.push(name, value)
  }
  return kept
}

function asObject(flat: string[]): Record<string, string | string[]> {
  // Without a prototype, so that a header called __proto__ is a header.
  const headers = Object.create(null) as Record<string, string | string[]>
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const name = flat[i]!.toLowerCase()
    const before = headers[name]
    const value = flat[i + 1]!
    if (before === undefined) headers[name] = value
    else headers[name] = Array.isArray(before) ? [...before, value] : [before, value]
  }
  return headers
}

function asLines(flat: string[]): string {
  let text = ''
  for (let i = 0; i + 1 < flat.length; i += 2) text += `${flat[i]}: ${flat[i + 1]}\r\n`
  return text
}

const brokenAnswer = (port: number, cause: Error) =>
  new ControlError(502, 'bad_answer', `The program on port ${port} broke off before it answered.`, { cause })
