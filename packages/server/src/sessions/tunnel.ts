/** A request or an upgraded connection, on to the daemon of a sandbox. Bytes pass as they come, both ways, as fast as the slower side takes them. */
import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { signUserContext, userContextHeader, userContextKey } from '@svc/contract'
import { asLines, asObject, headerLines, passedAnswerHead } from '@svc/contract/raw-headers'
import { send } from '../http/other-origin.ts'
import { asksForWorker, endingWorker, isNoWorker, neverKept } from '../http/worker-script.ts'
import type { DaemonAddress } from './daemon-client.ts'
import { answerHeaders, requestHeaders } from './passed-headers.ts'

export interface Passage {
  daemon: DaemonAddress
  /** What the daemon is asked for: `/proxy/<port>/…`, or a path of the runtime. */
  path: string
  userId: string
  role: string
  /** Whom the caller's Authorization and cookies are for. */
  credentials: 'for the program' | 'for us'
  /** Said to the program beside what the browser said. */
  extra: string[]
  /** Said to the browser beside what the program said; one of the same name is replaced. */
  answerExtra: Record<string, string>
}

/** The daemon refused or is gone: nothing of an answer was sent yet. */
export type OnFailure = (failure: { kind: 'away' } | { kind: 'refused'; status: number; code: string }) => void

const headBytesMax = 64 * 1024
/** The daemon's own refusals carry it; the answers of programs lose every x-svc header on their way. */
const daemonErrorHeader = 'x-svc-error'

export async function passRequest(
  request: IncomingMessage,
  response: ServerResponse,
  passage: Passage,
  onFailure: OnFailure,
): Promise<void> {
  const headers = [
    ...requestHeaders(request.rawHeaders, passage.credentials),
    ...passage.extra,
    userContextHeader,
    await contextOf(passage, request),
  ]
  headers.push('Host', 'sandbox')
  const chunked = headerLines(request.rawHeaders, 'transfer-encoding').length > 0
  if (chunked) headers.push('Transfer-Encoding', 'chunked')
  const out = httpRequest({
    socketPath: passage.daemon.socket,
    method: request.method ?? 'GET',
    path: passage.path,
    headers: asObject(headers),
    setHost: false,
    // A connection each: what one request left behind can never become part of another's answer.
    agent: false,
  })
  out.on('response', (answer) => {
    const code = answer.headers[daemonErrorHeader]
    if (typeof code === 'string') {
      answer.resume()
      onFailure({ kind: 'refused', status: answer.statusCode ?? 0, code })
      return
    }
    const forWorker = asksForWorker(request)
    if (forWorker && isNoWorker(answer.statusCode ?? 200, answer.headers['content-type'])) {
      answer.resume()
      void send(response, endingWorker())
      return
    }
    const kept = {
      ...asObject(answerHeaders(answer.rawHeaders)),
      ...passage.answerExtra,
      ...(forWorker ? neverKept : {}),
    }
    response.writeHead(answer.statusCode ?? 200, answer.statusMessage, kept)
    // Headers of an event stream must not wait for its first event.
    response.flushHeaders()
    answer.pipe(response)
    answer.on('error', () => response.destroy())
    answer.on('aborted', () => response.destroy())
  })
  out.on('error', () => {
    if (response.headersSent) response.destroy()
    else onFailure({ kind: 'away' })
  })
  // Whoever asked has gone: so does the question.
  response.on('close', () => out.destroy())
  request.on('aborted', () => out.destroy())
  request.pipe(out)
}

/** WebSockets and everything else that upgrades: after the head it is a raw pipe, so no frame is ours to understand. */
export async function passUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  passage: Passage,
  onFailure: OnFailure,
): Promise<void> {
  const context = await contextOf(passage, request)
  const daemon = connect({ path: passage.daemon.socket })
  let answered = false
  socket.on('close', () => daemon.destroy())
  socket.on('error', () => daemon.destroy())
  daemon.on('close', () => socket.destroy())
  daemon.on('error', () => {
    if (answered) socket.destroy()
    else onFailure({ kind: 'away' })
  })
  daemon.on('connect', () => {
    const headers = [
      ...requestHeaders(request.rawHeaders, passage.credentials),
      ...passage.extra,
      userContextHeader,
      context,
    ]
    headers.push('Host', 'sandbox', 'Connection', 'Upgrade')
    headers.push('Upgrade', headerLines(request.rawHeaders, 'upgrade').join(', '))
    daemon.write(`${request.method} ${passage.path} HTTP/1.1\r\n${asLines(headers)}\r\n`, 'latin1')
    if (head.length > 0) daemon.write(head)
    socket.pipe(daemon)
  })
  let held = Buffer.alloc(0)
  const onData = (chunk: Buffer) => {
    held = Buffer.concat([held, chunk])
    const end = held.indexOf('\r\n\r\n')
    if (end === -1) {
      if (held.length > headBytesMax) daemon.destroy()
      return
    }
    daemon.off('data', onData)
    answered = true
    const answer = held.subarray(0, end).toString('latin1')
    const extra = Object.entries(passage.answerExtra).flat()
    socket.write(
      passedAnswerHead(answer, (raw) => [...answerHeaders(raw), ...extra]),
      'latin1',
    )
    const rest = held.subarray(end + 4)
    if (rest.length > 0) socket.write(rest)
    daemon.pipe(socket)
  }
  daemon.on('data', onData)
}

async function contextOf({ daemon, userId, role, path }: Passage, request: IncomingMessage): Promise<string> {
  const issuedAt = Math.floor(Date.now() / 1000)
  return signUserContext(await userContextKey(daemon.sandboxKey), {
    user_id: userId,
    session_id: daemon.sessionId,
    generation: daemon.generation,
    role,
    method: request.method ?? 'GET',
    path,
    iat: issuedAt,
    exp: issuedAt + 60,
    jti: crypto.randomUUID(),
  })
}
