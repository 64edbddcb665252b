/** The part of the Kubernetes API that the driver uses, over fetch and WebSocket. */
import { Duplex } from 'node:stream'

import { SandboxError } from '../driver.ts'
import type { ClusterAccess } from './access.ts'

export interface ApiObject {
  apiVersion?: string
  kind?: string
  metadata: {
    name: string
    uid?: string
    resourceVersion?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
    creationTimestamp?: string
    deletionTimestamp?: string
    ownerReferences?: { kind: string }[]
  }
}

export class ClusterError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.name = 'ClusterError'
    this.status = status
  }
}

export interface WatchEvent<Kind> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  object: Kind
}

export type Client = ReturnType<typeof createClient>

const requestMs = 30_000
/**
 * How long an API server that restarts is waited for, and its answers while it does, or has too much to do: it refuses
 * everyone until it has read who may do what.
 */
const retriedMs = 15_000
const againMs = 500
const passing = [401, 403, 429, 502, 503, 504]
/** A request that was taken although its answer was lost. */
const alreadyMade = 409
/**
 * The API server ends a watch by itself; the driver then watches again. One whose machine lost power ends nothing, so a
 * watch is short: with a request that waits for it too, an ended pod is known within the minute that sessions promise.
 */
const watchSeconds = 20
const lateSeconds = 5

export function createClient(access: ClusterAccess) {
  /** Again while the API server does not take it. What a request makes has a name, so it is made once. */
  async function request(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const { accept = [] } = options
    const init = initOf(method, await access.headers(), options)
    const deadline = performance.now() + retriedMs
    // A watch is begun again by its caller.
    const isOver = () => options.signal !== undefined || performance.now() > deadline
    for (let known = accept; ; known = method === 'POST' ? [...accept, alreadyMade] : accept) {
      const reply = await fetch(access.server + path, init()).catch((error: unknown) => {
        if (options.signal !== undefined) throw error
        if (isOver()) throw unreached(error)
        return null
      })
      if (reply?.ok || known.includes(reply?.status ?? 0)) return reply!
      if (reply !== null && (isOver() || !passing.includes(reply.status)))
        throw new ClusterError(
          reply.status,
          messageOf(await reply.text()) || `${method} ${path} answered ${reply.status}`,
        )
      await reply?.arrayBuffer()
      await new Promise((again) => setTimeout(again, againMs))
    }
  }

  const initOf =
    (method: string, headers: Record<string, string>, { body, type, signal }: RequestOptions) =>
    () => ({
      method,
      headers: {
        ...headers,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      tls: access.tls,
      signal: signal ?? AbortSignal.timeout(requestMs),
      ...(signal === undefined ? {} : { timeout: false }),
    })

  return {
    request,
    async json<T>(method: string, path: string, options?: RequestOptions): Promise<T> {
      return (await (await request(method, path, options)).json()) as T
    },
    /** Null when there is no such object. */
    async find<T>(path: string): Promise<T | null> {
      const reply = await request('GET', path, { accept: [404] })
      if (reply.ok) return (await reply.json()) as T
      await reply.arrayBuffer()
      return null
    },
    /** No error when it is gone already. */
    async remove(path: string, body: unknown = {}): Promise<void> {
      await (await request('DELETE', path, { body, accept: [404] })).arrayBuffer()
    },
    /** Ends when the API server ends it. Throws a ClusterError 410 when the version is too old. */
    async *watch<Kind>(path: string): AsyncGenerator<WatchEvent<Kind>> {
      const signal = AbortSignal.timeout((watchSeconds + lateSeconds) * 1000)
      const joint = path.includes('?') ? '&' : '?'
      const reply = await request('GET', `${path}${joint}watch=true&timeoutSeconds=${watchSeconds}`, { signal })
      for await (const line of linesOf(reply.body!)) {
        const event = JSON.parse(line) as { type: string; object: Kind & { code?: number; message?: string } }
        if (event.type === 'ERROR') throw new ClusterError(event.object.code ?? 0, event.object.message ?? 'unknown')
        yield event as WatchEvent<Kind>
      }
    },
    portForward: (namespace: string, pod: string, port: number) => portForward(access, { namespace, pod, port }),
  }
}

interface RequestOptions {
  body?: unknown
  /** Media type of the body. */
  type?: string
  /** Error statuses that the caller handles. */
  accept?: number[]
  signal?: AbortSignal
}

async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true })
    const lines = rest.split('\n')
    rest = lines.pop()!
    for (const line of lines) if (line !== '') yield line
  }
}

const dataChannel = 0
/** Limits the unsent bytes of a WebSocket, which does not report that it is full. */
const unsentBytesMax = 1024 ** 2
const sentLookMs = 5
const openMs = 15_000

/**
 * One WebSocket is one TCP connection to a port of the pod: the first byte of each message is the channel, and each
 * channel begins with the port in two bytes.
 */
async function portForward(
  access: ClusterAccess,
  { namespace, pod, port }: { namespace: string; pod: string; port: number },
): Promise<Duplex> {
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/portforward?ports=${port}`
  const options = {
    headers: await access.headers(),
    protocols: ['v4.channel.k8s.io'],
    tls: access.tls,
  }
  // Bun's WebSocket takes headers and a certificate authority, which the type of the browser does not know.
  const socket = new WebSocket(access.server.replace(/^http/, 'ws') + path, options as unknown as string[])
  socket.binaryType = 'arraybuffer'
  const hasBegun = [false, false]
  const wire = new Duplex({
    read() {},
    write(chunk: Buffer, _, done) {
      socket.send(Buffer.concat([Buffer.from([dataChannel]), chunk]))
      whenSent(socket, done)
    },
    final(done) {
      socket.close()
      done()
    },
    destroy(error, done) {
      socket.close()
      done(error)
    },
  })
  // The caller listens for its end.
  wire.on('error', () => {})
  socket.onmessage = ({ data }) => {
    const bytes = Buffer.from(data as ArrayBuffer)
    const channel = bytes[0] ?? 0
    const isFirst = hasBegun[channel] === false
    hasBegun[channel] = true
    const body = bytes.subarray(isFirst ? 3 : 1)
    if (body.length === 0) return
    if (channel === dataChannel) wire.push(body)
    else wire.destroy(new Error(body.toString('utf8').slice(0, 500)))
  }
  socket.onclose = () => wire.push(null)
  await new Promise<void>((resolve, reject) => {
    const fail = (message: string) => {
      reject(new Error(message))
      wire.destroy(new Error(message))
    }
    const timer = setTimeout(() => fail('The cluster did not open a port-forward in time.'), openMs)
    socket.onopen = () => {
      clearTimeout(timer)
      resolve()
    }
    socket.onerror = () => {
      clearTimeout(timer)
      fail('The cluster refused the port-forward, or it ended.')
    }
  })
  return wire
}

function whenSent(socket: WebSocket, done: () => void): void {
  if (socket.bufferedAmount < unsentBytesMax || socket.readyState !== WebSocket.OPEN) return done()
  setTimeout(() => whenSent(socket, done), sentLookMs)
}

/** Members of projects read it: it names no address. */
function unreached(error: unknown): SandboxError {
  const why = error instanceof Error ? (/^[^:.]+/.exec(error.message)?.[0] ?? error.name) : String(error)
  return new SandboxError('unreached', `The cluster does not answer (${why}).`, { cause: error })
}

function messageOf(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? '')
  } catch {
    // Not JSON, as from a proxy.
    return text.trim().slice(0, 500)
  }
}
