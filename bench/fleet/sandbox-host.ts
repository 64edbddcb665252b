/**
 * Sandboxes in a process beside their server, so that what they cost is not counted as the server's. They are those of the
 * fake driver: an HTTP server each, on a Unix socket, that answers like a daemon with an agent runtime.
 */
import type { Sandbox, SandboxSpec } from '../../packages/sandbox/src/index.ts'
import { createFakeDriver } from '../../packages/sandbox/src/testing.ts'
import { until } from '../../test/e2e/harness.ts'

/** What a server needs to take over a sandbox that an earlier one made. */
export type LeftSandbox = Pick<SandboxSpec, 'sandboxId' | 'env'>

export class SandboxHost {
  readonly socket: string
  readonly #child: Bun.Subprocess

  private constructor(socket: string, child: Bun.Subprocess) {
    this.socket = socket
    this.#child = child
  }

  static async start(socket: string): Promise<SandboxHost> {
    const child = Bun.spawn([process.execPath, import.meta.path, socket], { stdout: 'inherit', stderr: 'inherit' })
    const host = new SandboxHost(socket, child)
    await until('the process of sandboxes to listen', () =>
      askHost(socket, '/list', {}).then(
        () => true,
        () => false,
      ),
    )
    return host
  }

  get pid(): number {
    return this.#child.pid
  }

  /** Makes sandboxes as an earlier server left them. */
  async leave(left: LeftSandbox[]): Promise<void> {
    for (let at = 0; at < left.length; at += 500) await askHost(this.socket, '/leave', left.slice(at, at + 500))
  }

  async end(): Promise<void> {
    this.#child.kill('SIGTERM')
    await this.#child.exited
  }
}

export async function askHost<T>(socket: string, path: string, body: unknown): Promise<T> {
  const response = await fetch(`http://host${path}`, {
    unix: socket,
    method: 'POST',
    body: JSON.stringify(body),
  } as RequestInit)
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as T
}

/** As the daemon: a runtime without use for this long sleeps. */
const sleepsAfterMs = 60_000
const longAgoMs = 600_000
const limits = { memoryBytesMax: 1, cpuMax: 1, processesMax: 1, diskBytesMax: 1 }

if (import.meta.main) await serve(process.argv[2]!)

async function serve(socket: string): Promise<void> {
  const usedAt = new Map<string, number>()
  const driver = createFakeDriver({
    outlives: true,
    onPrompt: ({ sandboxId, text }) => {
      usedAt.set(sandboxId, performance.now())
      return `Done: ${text}`
    },
    asleep: (sandboxId) => {
      const ms = performance.now() - (usedAt.get(sandboxId) ?? -longAgoMs)
      if (ms < sleepsAfterMs) return null
      return { ms: Math.round(ms - sleepsAfterMs), wake: async () => void usedAt.set(sandboxId, performance.now()) }
    },
  })
  const never = new AbortController().signal
  const make = (spec: SandboxSpec): Promise<Sandbox> => driver.create(spec, never)
  const actions: Record<string, (body: never) => Promise<unknown>> = {
    '/create': async (spec: SandboxSpec) => {
      usedAt.set(spec.sandboxId, performance.now())
      return make(spec)
    },
    // They have slept for long, as most sessions have.
    '/leave': (left: LeftSandbox[]) => Promise.all(left.map((each) => make({ ...each, limits, relaySocket: null }))),
    '/list': () => driver.list(),
    '/stop': async (sandboxId: string) => {
      await driver.stop(sandboxId)
      return null
    },
  }
  const server = Bun.serve({
    unix: socket,
    async fetch(request) {
      const action = actions[new URL(request.url).pathname]
      if (action === undefined) return new Response(null, { status: 404 })
      return Response.json(await action((await request.json()) as never))
    },
  })
  process.once('SIGTERM', async () => {
    await server.stop(true)
    await driver.close()
    process.exit(0)
  })
}
