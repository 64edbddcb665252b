/** Proxies a request or an upgraded connection to the daemon of a sandbox, with backpressure in both directions. */
import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { userContextHeader } from '@svc/contract'
import { asLines, asObject, headerLines } from '@svc/contract/daemon/raw-headers'
import { tunnelUpgrade } from '@svc/contract/daemon/upgrade-tunnel'
import { send } from '../http/admission/other-origin.ts'
import { asksForWorker, endingWorker, isNoWorker, neverKept } from '../http/worker-script.ts'
import { type DaemonAddress, prepareUse, signedUserContext } from './daemon-client.ts'
import { answerHeaders, requestHeaders } from './passed-headers.ts'

export interface Passage {
  daemon: DaemonAddress
  /** `/proxy/<port>/…`, or a path of the agent runtime. */
  path: string
  userId: string
  role: string
  credentials: 'for the program' | 'for us'
  /** Request headers for the program, beside those of the browser. */
  extra: string[]
  /** Response headers for the browser, which replace those of the program with the same name. */
  answerExtra: Record<string, string>
  /** A policy that the browser enforces beside those of the program, from the headers of the program. */
  framing?: (rawHeaders: string[]) => string | 'refused'
}

/** The daemon refused or is unavailable, or the program allows no frame, before any part of a response was sent. */
export type TunnelFailure =
  | { kind: 'unavailable' }
  | { kind: 'refused'; status: number; code: string }
  | { kind: 'unframeable' }
type OnFailure = (failure: TunnelFailure) => void

/** Marks a refusal of the daemon. Responses of programs lose every x-svc header on the way. */
const daemonErrorHeader = 'x-svc-error'

export async function passRequest(
  request: IncomingMessage,
  response: ServerResponse,
  passage: Passage,
  onFailure: OnFailure,
): Promise<void> {
  const headers = [...(await headersFor(passage, request)), 'Host', 'sandbox']
  const chunked = headerLines(request.rawHeaders, 'transfer-encoding').length > 0
  if (chunked) headers.push('Transfer-Encoding', 'chunked')
  const out = httpRequest({
    socketPath: passage.daemon.socket,
    method: request.method ?? 'GET',
    path: passage.path,
    headers: asObject(headers),
    setHost: false,
    // Each request has its own connection, so that no leftover bytes reach another response.
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
    const framing = framingOf(passage, answer)
    if (framing === 'refused') {
      answer.resume()
      onFailure({ kind: 'unframeable' })
      return
    }
    const passed = {
      ...asObject([...answerHeaders(answer.rawHeaders), ...framing]),
      ...passage.answerExtra,
      ...(forWorker ? neverKept : {}),
    }
    response.writeHead(answer.statusCode ?? 200, answer.statusMessage, passed)
    // The headers of an event stream must not wait for its first event.
    response.flushHeaders()
    answer.pipe(response)
    answer.on('error', () => response.destroy())
    answer.on('aborted', () => response.destroy())
  })
  out.on('error', () => {
    if (response.headersSent) response.destroy()
    else onFailure({ kind: 'unavailable' })
  })
  // The browser disconnected, so the upstream request ends too.
  response.on('close', () => out.destroy())
  request.on('aborted', () => out.destroy())
  request.pipe(out)
}

/** Proxies WebSockets and other upgrades: a raw pipe after the head, which parses no frames. */
export async function passUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  passage: Passage,
  onFailure: OnFailure,
): Promise<void> {
  const upgrade = headerLines(request.rawHeaders, 'upgrade').join(', ')
  const headers = [...(await headersFor(passage, request)), 'Host', 'sandbox']
  headers.push('Connection', 'Upgrade', 'Upgrade', upgrade)
  const extra = Object.entries(passage.answerExtra).flat()
  tunnelUpgrade(socket, connect({ path: passage.daemon.socket }), {
    requestHead: `${request.method} ${passage.path} HTTP/1.1\r\n${asLines(headers)}\r\n`,
    head,
    answerHeaders: (raw) => [...answerHeaders(raw), ...extra],
    failed: () => onFailure({ kind: 'unavailable' }),
  })
}

function framingOf({ framing }: Passage, { statusCode = 200, rawHeaders }: IncomingMessage): string[] | 'refused' {
  // The stored response keeps its policies. One of ours alone could replace them.
  if (framing === undefined || statusCode === 304) return []
  const policy = framing(rawHeaders)
  // The browser follows a redirect without a look at its policies.
  const isRedirect = statusCode >= 300 && statusCode < 400
  if (policy === 'refused') return isRedirect ? [] : 'refused'
  return ['Content-Security-Policy', policy]
}

async function headersFor(passage: Passage, { rawHeaders, method = 'GET' }: IncomingMessage): Promise<string[]> {
  await prepareUse(passage.daemon, passage.path)
  const context = await signedUserContext(passage.daemon, { ...passage, method })
  return [...requestHeaders(rawHeaders, passage.credentials), ...passage.extra, userContextHeader, context]
}
