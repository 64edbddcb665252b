/** Passes one request to another server: its head and body as they came, and the answer back, with backpressure. */
import { type ClientRequest, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { type Duplex, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { connect as connectTls } from 'node:tls'
import { asLines, asObject, headerLines, passedHeaders } from '@svc/contract/daemon/raw-headers'
import { tunnelUpgrade } from '@svc/contract/daemon/upgrade-tunnel'
import { clockHeader, movedHeader, peerHeader } from './peer-header.ts'
import { asFetchOptions, type PeerTrust } from './peer-tls.ts'

/**
 * `unreachable`: it did not answer. `moved`: it is not the home any more. `clock`: it took nothing, because the clock of
 * this server differs from its own. Nothing was sent to the client.
 */
export type NotPassed = { kind: 'unreachable' | 'moved' } | { kind: 'clock'; aheadSeconds: number }

const unreachable: NotPassed = { kind: 'unreachable' }

interface Passed {
  peerUrl: string
  /** Null: without encryption. */
  trust: PeerTrust | null
  /** The value of the header that vouches for the request. */
  signature: string
  /** The header by which the other server goes on in the trace of this one. */
  trace: Record<string, string>
  /** Aborted when that server has died. An answer that it has begun is cut. */
  signal: AbortSignal
  /** Called when that server has begun an answer, which is the client's. */
  began: (status: number) => void
  /** A read changes nothing. That is not known of the programs of a project. */
  mayRepeat: boolean
}

/** Resolves when the answer is complete. */
export async function passRequest(
  request: IncomingMessage,
  response: ServerResponse,
  passed: Passed,
): Promise<NotPassed | null> {
  const outcome = isPlainRead(request, passed.peerUrl) ? await passRead(request, response, passed) : 'not sent'
  if (outcome !== 'not sent') return outcome
  return passed.signal.aborted ? unreachable : passWhole(request, response, passed)
}

/** A read without a body whose path and headers `fetch` sends as they are. It adds these two where they are missing. */
function isPlainRead({ method, url = '', headers, rawHeaders }: IncomingMessage, peerUrl: string): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  if (headers['user-agent'] === undefined || headers.accept === undefined) return false
  if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) return false
  if (url.includes('#') || headerLines(rawHeaders, 'host').length !== 1) return false
  const whole = `${peerUrl}${url}`
  // fetch makes one slash of several at the start.
  return /^\/(?!\/)/.test(url) && URL.canParse(whole) && new URL(whole).href === whole
}

/** Smaller answers are read whole, which costs less than a stream. */
const wholeBytesMax = 256 * 1024

/**
 * Over a pooled connection, which costs a third of a new one. `not sent`: there was no answer, as when the connection
 * closed at that moment, or an answer was cut that may be asked for again.
 */
async function passRead(
  request: IncomingMessage,
  response: ServerResponse,
  passed: Passed,
): Promise<NotPassed | 'not sent' | null> {
  const { peerUrl, trust, signal, began } = passed
  const left = new AbortController()
  // Aborting a request that has ended costs a tenth of the hop.
  response.once('close', () => response.writableFinished || left.abort())
  // fetch would name the encodings that it knows, and the client may know none.
  const encodings = request.headers['accept-encoding'] === undefined ? ['Accept-Encoding', 'identity'] : []
  const { method = 'GET', url = '' } = request
  const options = { method, headers: pairsOf([...headersOf(request, passed), ...encodings]), redirect: 'manual' }
  const signals = AbortSignal.any([left.signal, signal])
  const answer = await fetch(`${peerUrl}${url}`, {
    ...options,
    decompress: false,
    signal: signals,
    ...asFetchOptions(trust),
  } as object).catch(noAnswer)
  if (answer === null) return response.destroyed ? null : 'not sent'
  const refused = refusalOf(answer.headers.get(movedHeader), answer.headers.get(clockHeader))
  if (refused !== null) return refused
  const small = await smallBody(answer, method)
  if (small === null && passed.mayRepeat) return response.destroyed ? null : 'not sent'
  began(answer.status)
  response.writeHead(answer.status, answer.statusText, asObject(passedHeaders([...answer.headers].flat(), whole)))
  if (small !== null && small !== 'long') {
    response.end(small)
    return null
  }
  // The headers of an event stream must not wait for its first event.
  response.flushHeaders()
  if (small === null) {
    response.destroy()
    return null
  }
  // Either side left before the end. A cut connection says so; a complete answer would hide it.
  await pipeline(Readable.fromWeb(answer.body as never), response).catch(() => response.destroy())
  return null
}

/** By the headers with which a server refuses what another one passes on. */
function refusalOf(moved: unknown, clock: unknown): NotPassed | null {
  if (clock != null) return { kind: 'clock', aheadSeconds: Number(clock) }
  return moved == null ? null : { kind: 'moved' }
}

/** Null: the answer was cut. A head that was written before it would make an empty answer of it. */
async function smallBody(answer: Response, method: string): Promise<Buffer | 'long' | null> {
  if (answer.body === null || method === 'HEAD') return Buffer.alloc(0)
  if (Number(answer.headers.get('content-length') ?? Number.POSITIVE_INFINITY) > wholeBytesMax) return 'long'
  return answer.arrayBuffer().then(Buffer.from, noAnswer)
}

function noAnswer(): null {
  return null
}

function pairsOf(rawHeaders: string[]): [string, string][] {
  return Array.from({ length: rawHeaders.length / 2 }, (_, i) => [rawHeaders[2 * i]!, rawHeaders[2 * i + 1]!])
}

function passWhole(request: IncomingMessage, response: ServerResponse, passed: Passed): Promise<NotPassed | null> {
  const { peerUrl, trust, signal, began } = passed
  const isLarge = bodyBytesOf(request) > sentAtOnceMax
  return new Promise((resolve) => {
    const out = (trust === null ? httpRequest : httpsRequest)({
      ...addressOf(peerUrl),
      ...trust,
      method: request.method ?? 'GET',
      path: request.url ?? '/',
      headers: asObject([...headersOf(request, passed), ...framingOf(request), ...(isLarge ? awaited : [])]),
      setHost: false,
      // A connection of its own: a pooled one can close at the moment it is used, and a write must not be sent twice.
      agent: false,
    })
    let isAnswered = false
    const fail = () => {
      if (isAnswered) return
      isAnswered = true
      request.unpipe(out)
      out.destroy()
      resolve(unreachable)
    }
    out.on('response', (answer) => {
      if (isAnswered) return void answer.destroy()
      isAnswered = true
      const refused = refusalOf(answer.headers[movedHeader], answer.headers[clockHeader])
      if (refused !== null) {
        answer.resume()
        resolve(refused)
        return
      }
      began(answer.statusCode ?? 200)
      response.writeHead(
        answer.statusCode ?? 200,
        answer.statusMessage,
        asObject(passedHeaders(answer.rawHeaders, whole)),
      )
      // The headers of an event stream must not wait for its first event.
      response.flushHeaders()
      answer.pipe(response)
      answer.on('error', () => response.destroy())
      answer.on('aborted', () => response.destroy())
      response.on('close', () => resolve(null))
    })
    out.on('error', fail)
    const die = () => {
      if (isAnswered) response.destroy()
      else fail()
    }
    signal.addEventListener('abort', die, { once: true })
    response.on('close', () => {
      out.destroy()
      resolve(null)
    })
    request.on('aborted', () => out.destroy())
    request.on('error', () => out.destroy())
    if (!isLarge) return sendBody(request, out)
    out.once('continue', () => sendBody(request, out))
    out.flushHeaders()
  })
}

/** Larger bodies are sent when the other server reads them. An answer that comes while one is written can get lost. */
const sentAtOnceMax = 64 * 1024
const awaited = ['Expect', '100-continue']

function bodyBytesOf({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY
  return Number(headers['content-length'] ?? 0)
}

/** A body that its client did not send whole must not arrive as a whole one. */
function sendBody(request: IncomingMessage, out: ClientRequest): void {
  const announced = Number(request.headers['content-length'] ?? Number.NaN)
  let sent = 0
  request.on('data', (chunk: Buffer) => void (sent += chunk.length))
  request.on('end', () => {
    if (sent < announced) out.destroy()
    else out.end()
  })
  request.pipe(out, { end: false })
}

/** The same for an upgrade, after whose head only bytes are copied. */
export function passUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  passed: Passed & { failed: () => void },
): void {
  const { peerUrl, trust, signal, began, failed } = passed
  const upgrade = headerLines(request.rawHeaders, 'upgrade').join(', ')
  const lines = [...headersOf(request, passed), 'Connection', 'Upgrade', 'Upgrade', upgrade]
  const address = addressOf(peerUrl)
  const upstream = trust === null ? connect(address) : connectTls({ ...address, ...trust })
  signal.addEventListener('abort', () => upstream.destroy(new Error('That server does not answer.')), { once: true })
  tunnelUpgrade(socket, upstream, {
    requestHead: `${request.method} ${request.url} HTTP/1.1\r\n${asLines(lines)}\r\n`,
    head,
    answerHeaders(raw) {
      began(switchingProtocols)
      return passedHeaders(raw, whole)
    },
    failed,
  })
}

export function addressOf(peerUrl: string): { host: string; port: number } {
  const { protocol, hostname, port } = new URL(peerUrl)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (protocol === 'https:' ? 443 : 80) }
}

/** The host stays the one that the client named: previews and cookies depend on it. */
function headersOf({ rawHeaders }: IncomingMessage, { signature, trace }: Passed): string[] {
  const hosts = headerLines(rawHeaders, 'host').flatMap((host) => ['Host', host])
  // This server has answered it already.
  const own = passedHeaders(rawHeaders, (name, value) => (name === 'expect' ? null : value))
  return [...hosts, ...own, peerHeader, signature, ...Object.entries(trace).flat()]
}

function framingOf({ rawHeaders }: IncomingMessage): string[] {
  return headerLines(rawHeaders, 'transfer-encoding').length > 0 ? ['Transfer-Encoding', 'chunked'] : []
}

const switchingProtocols = 101
const whole = (_name: string, value: string) => value
