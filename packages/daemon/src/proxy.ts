/** Requests and upgrades on to a program on loopback: to the agent runtime, or to a port the agent listens on. */
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

import { asLines, asObject, headerLines, passedAnswerHead, passedHeaders } from '@svc/contract/raw-headers'
import { ControlError, sendError } from './reply.ts'

export interface Upstream {
  port: number
  path: string
  /** What to say when nothing listens there. */
  refused: () => ControlError
}

/** What upgrades may also be the daemon's own, behind a socket that no other program here can open. */
export type UpgradeUpstream = Upstream | (Omit<Upstream, 'port'> & { socketPath: string })

const headBytesMax = 64 * 1024

export const nothingListens = (port: number) =>
  new ControlError(502, 'nothing_listens', `Nothing listens on port ${port} in the sandbox.`, {
    hint: `Start a server on 127.0.0.1:${port} in the session, then try again.`,
  })

export function proxyRequest(req: IncomingMessage, res: ServerResponse, upstream: Upstream, serviceKey: string): void {
  const headers = passed(req.rawHeaders, serviceKey)
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
    res.writeHead(answer.statusCode ?? 502, answer.statusMessage, asObject(passed(answer.rawHeaders, serviceKey)))
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
  upstream: UpgradeUpstream,
  serviceKey: string,
): void {
  const target =
    'port' in upstream ? connect({ host: '127.0.0.1', port: upstream.port }) : connect({ path: upstream.socketPath })
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
    const headers = passed(req.rawHeaders, serviceKey)
    headers.push('Host', 'port' in upstream ? `localhost:${upstream.port}` : 'localhost', 'Connection', 'Upgrade')
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
    const answer = held.subarray(0, end).toString('latin1')
    socket.write(
      passedAnswerHead(answer, (raw) => passed(raw, serviceKey)),
      'latin1',
    )
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

/** Without ours: no program in the sandbox sees or sends an x-svc header. */
function passed(rawHeaders: string[], serviceKey: string): string[] {
  return passedHeaders(rawHeaders, (name, value) => {
    if (name.startsWith('x-svc-')) return null
    return name === 'authorization' && value === `Bearer ${serviceKey}` ? null : value
  })
}

const brokenAnswer = (port: number, cause: Error) =>
  new ControlError(502, 'bad_answer', `The program on port ${port} broke off before it answered.`, { cause })
