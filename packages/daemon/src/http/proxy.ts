/** Proxies requests and upgrades to a program on loopback: the agent runtime, or a port the agent listens on. */
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

import { asLines, asObject, headerLines, passedHeaders } from '@svc/contract/daemon/raw-headers'
import { tunnelUpgrade } from '@svc/contract/daemon/upgrade-tunnel'
import { passEvents } from './event-stream.ts'
import { ControlError, sendError } from './reply.ts'

export interface Upstream {
  port: number
  path: string
  /** The error to return when nothing listens on the port. */
  refused: () => ControlError
  /** Called once the request no longer needs the program. */
  done?: () => void
  /** Keeps an event stream that ended because its program sleeps. Returns null when it does not sleep. */
  hold?: (reopen: () => Promise<void>) => (() => void) | null
}

/** Upgrades may also go to the daemon's own socket, which no other program in the sandbox can open. */
export type UpgradeUpstream = Upstream | (Omit<Upstream, 'port'> & { socketPath: string })

export const nothingListens = (port: number) =>
  new ControlError(502, 'nothing_listens', `Nothing listens on port ${port} in the sandbox.`, {
    hint: `Start a server on 127.0.0.1:${port} in the session, then try again.`,
  })

export function proxyRequest(req: IncomingMessage, res: ServerResponse, upstream: Upstream, serviceKey: string): void {
  const done = () => upstream.done?.()
  // The client left while the program woke up.
  if (res.destroyed) return done()
  const headers = passed(req.rawHeaders, serviceKey)
  headers.push('Host', `localhost:${upstream.port}`)
  // The proxy chooses the body's framing.
  if (headerLines(req.rawHeaders, 'transfer-encoding').length > 0) headers.push('Transfer-Encoding', 'chunked')
  const ask = () =>
    request({
      host: '127.0.0.1',
      port: upstream.port,
      method: req.method,
      path: upstream.path,
      headers: asObject(headers),
      setHost: false,
      // One connection per request, so that leftovers of one answer cannot become part of another.
      agent: false,
    })
  const out = ask()
  const { hold } = upstream
  let isStream = false
  out.on('response', (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.statusMessage, asObject(passed(answer.rawHeaders, serviceKey)))
    // The headers of an event stream must not wait for its first event.
    res.flushHeaders()
    // A stream that stays open may wait for an event as long as it likes.
    if (hold !== undefined && answer.headers['content-type']?.startsWith('text/event-stream')) {
      isStream = true
      done()
      return passEvents(answer, res, { ask, hold })
    }
    answer.pipe(res)
    answer.on('error', () => res.destroy())
    answer.on('aborted', () => res.destroy())
  })
  out.on('error', (error: NodeJS.ErrnoException) => {
    // The end of a stream is handled where its events pass.
    if (isStream) return
    if (res.headersSent) res.destroy()
    else sendError(res, error.code === 'ECONNREFUSED' ? upstream.refused() : brokenAnswer(upstream.port, error))
  })
  // The client disconnected, so cancel the upstream request.
  res.on('close', () => {
    out.destroy()
    done()
  })
  req.on('aborted', () => out.destroy())
  req.pipe(out)
}

/** Tunnels WebSockets and other upgrades: after the head it copies bytes and interprets no frame. */
export function proxyUpgrade(
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  upstream: UpgradeUpstream,
  serviceKey: string,
): void {
  if (socket.destroyed) return upstream.done?.()
  const target =
    'port' in upstream ? connect({ host: '127.0.0.1', port: upstream.port }) : connect({ path: upstream.socketPath })
  const headers = passed(req.rawHeaders, serviceKey)
  headers.push('Host', 'port' in upstream ? `localhost:${upstream.port}` : 'localhost', 'Connection', 'Upgrade')
  headers.push('Upgrade', headerLines(req.rawHeaders, 'upgrade').join(', '))
  target.on('close', () => upstream.done?.())
  tunnelUpgrade(socket, target, {
    requestHead: `${req.method} ${upstream.path} HTTP/1.1\r\n${asLines(headers)}\r\n`,
    head,
    answerHeaders: (raw) => passed(raw, serviceKey),
    failed(error) {
      if (error.code === 'ECONNREFUSED') writeErrorHead(socket, upstream.refused())
      socket.destroy()
    },
  })
}

export function writeErrorHead(socket: Duplex, error: ControlError): void {
  const body = JSON.stringify(error.body())
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
    'X-Svc-Error': error.code,
    ...error.headers,
  }
  socket.end(`HTTP/1.1 ${error.status} ${error.code}\r\n${asLines(Object.entries(headers).flat())}\r\n${body}`)
}

/** Removes the service key and all x-svc headers: no program in the sandbox may see or send them. */
function passed(rawHeaders: string[], serviceKey: string): string[] {
  return passedHeaders(rawHeaders, (name, value) => {
    if (name.startsWith('x-svc-')) return null
    return name === 'authorization' && value === `Bearer ${serviceKey}` ? null : value
  })
}

const brokenAnswer = (port: number, cause: Error) =>
  new ControlError(502, 'bad_answer', `The program on port ${port} closed the connection before answering.`, { cause })
