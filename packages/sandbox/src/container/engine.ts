/** The API of a Docker or Podman engine over its Unix socket. Many machines have the client without an engine. */
import { existsSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

export type Engine = NonNullable<Awaited<ReturnType<typeof connectEngine>>>

export interface EngineRequest {
  body?: unknown
  /** A body that is sent as is. */
  stream?: ReadableStream<Uint8Array> | Blob
  signal?: AbortSignal
  /** Error statuses that the caller handles. */
  accept?: number[]
}

export class EngineError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.name = 'EngineError'
    this.status = status
  }
}

type EngineOutcome = { kind: 'found'; engine: Engine } | { kind: 'none'; tried: string[] }

/** API 1.40: Docker 19.03, and every Podman since 3. */
const api = '/v1.40'

export async function findEngine(sockets: string[]): Promise<EngineOutcome> {
  const tried: string[] = []
  for (const socket of sockets) {
    if (!existsSync(socket)) continue
    const engine = await connectEngine(socket)
    if (engine !== null) return { kind: 'found', engine }
    tried.push(socket)
  }
  return { kind: 'none', tried }
}

/** Default sockets of engines; `given` (DOCKER_HOST) replaces them when set. */
export function engineSockets(given: string | undefined, runtimeDir: string | undefined): string[] {
  if (given) return given.startsWith('unix://') ? [given.slice('unix://'.length)] : []
  const own = runtimeDir ? [`${runtimeDir}/docker.sock`, `${runtimeDir}/podman/podman.sock`] : []
  return [...own, '/var/run/docker.sock', '/run/podman/podman.sock']
}

async function connectEngine(socket: string) {
  const call = (method: string, path: string, { body, stream, signal }: EngineRequest = {}): Promise<Response> =>
    fetch(`http://engine${api}${path}`, {
      unix: socket,
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      ...(stream === undefined ? {} : { body: stream as BodyInit, headers: { 'content-type': 'application/x-tar' } }),
      // The signal is the limit then: fetch by itself gives up after five minutes without a byte.
      ...(signal === undefined ? {} : { signal, timeout: false }),
    })
  const request = async (method: string, path: string, options: EngineRequest = {}): Promise<Response> => {
    const reply = await call(method, path, options)
    if (reply.ok || options.accept?.includes(reply.status)) return reply
    const text = await reply.text()
    throw new EngineError(reply.status, messageOf(text) || `${method} ${path} answered ${reply.status}`)
  }
  try {
    const signal = AbortSignal.timeout(5000)
    const version = (await (await call('GET', '/version', { signal })).json()) as {
      Version: string
      Components?: { Name: string }[]
    }
    const info = (await (await call('GET', '/info', { signal })).json()) as { SecurityOptions?: string[] }
    const isPodman = version.Components?.some(({ Name }) => /podman/i.test(Name)) ?? false
    return {
      kind: isPodman ? ('podman' as const) : ('docker' as const),
      version: version.Version,
      socket,
      /** Root in its containers is this user, not the machine's root user. */
      isRootless: info.SecurityOptions?.some((option) => option.includes('rootless')) ?? false,
      request,
      /** Like `request`, with the answer as JSON; throws an EngineError unless the request succeeds. */
      json: async <T>(method: string, path: string, options?: EngineRequest) =>
        (await (await request(method, path, options)).json()) as T,
      /** Whether the engine has this; false for a 404. */
      has: async (path: string) => {
        const reply = await request('GET', path, { accept: [404] })
        await reply.arrayBuffer()
        return reply.ok
      },
      /** Keeps the container's standard input open until the socket is destroyed or this process ends. */
      holdInput: (container: string) => holdInput(socket, container),
    }
  } catch {
    // Nothing listens there, or not an engine.
    return null
  }
}

function holdInput(socket: string, container: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const held = connect(socket, () => {
      held.write(
        `POST ${api}/containers/${container}/attach?stream=1&stdin=1 HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n`,
      )
    })
    held.once('error', reject)
    held.once('data', (answer: Buffer) => {
      held.on('error', () => held.destroy())
      const line = answer.toString('latin1').split('\r\n', 1)[0] ?? ''
      if (/^HTTP\/1\.1 (101|200) /.test(line)) resolve(held)
      else reject(new EngineError(0, `The engine did not attach to the container's input: ${line}`))
    })
  })
}

function messageOf(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? '')
  } catch {
    // Not JSON, as from a proxy.
    return text.trim().slice(0, 500)
  }
}
