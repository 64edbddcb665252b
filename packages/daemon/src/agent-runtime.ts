/** The agent runtime as a child: started, probed, started again when it dies, and given up on with its last words. */
import { runtimePort as specifiedPort } from '@svc/contract/daemon'

import { asAgent, lastLines } from './child.ts'
import type { AgentIdentity } from './config.ts'

export type RuntimeState = 'starting' | 'ready' | 'stopped' | 'failed'

export interface AgentRuntime {
  readonly state: RuntimeState
  readonly port: number
  readonly error: string | null
  /** How often it was started. */
  readonly starts: number
  start(): void
  /** Resolves once it answers, rejects when it is given up on. */
  whenReady(): Promise<void>
  restart(): Promise<void>
  stop(): Promise<void>
}

export interface RuntimeOptions {
  command: string[]
  cwd: string
  env: () => Record<string, string>
  identity: AgentIdentity
  port?: number
  log: (message: string) => void
  /** Milliseconds to wait before each new try. Past the last one it is given up. */
  backoffMs?: number[]
}

/** Its port accepts before it can answer, and what is asked in that window is never answered: so short, and each time anew. */
const probeMs = { first: 150, most: 2_000 }
/** The longer it takes the busier is the machine, and with it the answer. */
const patienceMs = (waitedMs: number) => Math.min(probeMs.most, probeMs.first + waitedMs / 20)
const probeEveryMs = 25
const startMs = 60_000
/** Alive for that long, a death is news and no series. */
const settledMs = 60_000
const outputMax = 8192
/** For output that is on its way when the runtime ends; a busy daemon may read it late. */
const lastWordsMs = 1_000

export function createAgentRuntime(options: RuntimeOptions): AgentRuntime {
  const port = options.port ?? specifiedPort
  const backoff = options.backoffMs ?? [250, 500, 1000, 2000, 4000]
  let state: RuntimeState = 'stopped'
  let error: string | null = null
  let child: Bun.Subprocess<'ignore', 'pipe', 'pipe'> | null = null
  // Each start has a number; what an older one still does is nobody's business any more.
  let run = 0
  let tries = 0
  let starts = 0
  let waiting: { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } = ready()

  function ready() {
    const made = Promise.withResolvers<void>()
    // Rejected while nobody waits is no accident: `error` and `state` say it too.
    made.promise.catch(() => {})
    return made
  }

  function launch(): void {
    const mine = ++run
    starts += 1
    const startedAt = Date.now()
    state = 'starting'
    let output = ''
    let started: Bun.Subprocess<'ignore', 'pipe', 'pipe'>
    try {
      started = Bun.spawn(asAgent(options.identity, options.command), {
        cwd: options.cwd,
        env: options.env(),
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
        // A group of its own, so that its helpers go with it.
        detached: true,
      })
    } catch (cause) {
      giveUp(`The agent runtime could not be started: ${(cause as Error).message}`)
      return
    }
    child = started
    const keep = async (stream: ReadableStream<Uint8Array>) => {
      const decoder = new TextDecoder()
      for await (const chunk of stream) output = (output + decoder.decode(chunk, { stream: true })).slice(-outputMax)
    }
    const read = Promise.allSettled([keep(started.stdout), keep(started.stderr)])
    void probe(mine, startedAt)
    void started.exited.then(async (code) => {
      if (mine !== run) return
      // A grandchild may hold the pipes open for ever; its words are not worth waiting for.
      await Promise.race([read, Bun.sleep(lastWordsMs)])
      if (mine === run) died(code, startedAt, output)
    })
  }

  async function probe(mine: number, startedAt: number): Promise<void> {
    while (mine === run && state === 'starting') {
      if (await answers(port, patienceMs(Date.now() - startedAt))) {
        if (mine !== run || state !== 'starting') return
        state = 'ready'
        error = null
        options.log(`agent runtime ready after ${Date.now() - startedAt} ms`)
        waiting.resolve()
        return
      }
      if (Date.now() - startedAt > startMs) {
        // Neither alive nor dead: its end starts the next try.
        killGroup()
        return
      }
      await Bun.sleep(probeEveryMs)
    }
  }

  function died(code: number, startedAt: number, output: string): void {
    const said = lastLines(output)
    const what = `The agent runtime ended with exit code ${code}.${said === '' ? '' : ` Its last lines: ${said}`}`
    options.log(what)
    if (state === 'ready') waiting = ready()
    if (Date.now() - startedAt > settledMs) tries = 0
    const wait = backoff[tries++]
    if (wait === undefined) {
      giveUp(what)
      return
    }
    state = 'starting'
    error = what
    const mine = run
    setTimeout(() => {
      if (mine === run) launch()
    }, wait)
  }

  function giveUp(why: string): void {
    state = 'failed'
    error = why
    waiting.reject(new Error(why))
  }

  function killGroup(): void {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // ESRCH: it ended meanwhile.
    }
  }

  async function stop(): Promise<void> {
    run += 1
    state = 'stopped'
    waiting.reject(new Error('The agent runtime was stopped.'))
    waiting = ready()
    killGroup()
    await child?.exited
  }

  return {
    port,
    get state() {
      return state
    },
    get error() {
      return error
    },
    get starts() {
      return starts
    },
    start() {
      tries = 0
      launch()
    },
    whenReady: () => waiting.promise,
    async restart() {
      await stop()
      tries = 0
      launch()
      await waiting.promise
    },
    stop,
  }
}

async function answers(port: number, withinMs: number): Promise<boolean> {
  try {
    const reply = await fetch(`http://127.0.0.1:${port}/global/health`, {
      signal: AbortSignal.timeout(withinMs),
      keepalive: false,
      headers: { connection: 'close' },
    })
    await reply.arrayBuffer()
    return reply.status < 500
  } catch {
    return false
  }
}
