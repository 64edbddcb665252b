/** Runs the agent runtime as a child process: starts it, probes it, and restarts it until it fails too often. */
import { runtimePort as specifiedPort } from '@svc/contract/daemon/control'

import { isRecord, parseJson } from '@svc/contract/json'

import { handledLater, killGroup, lastLines, startWatched } from '../child.ts'
import type { AgentIdentity } from '../config.ts'
import { type SandboxProcess, sandboxProcesses } from './processes.ts'
import { createSleep } from './sleep.ts'

type RuntimeState = 'starting' | 'ready' | 'stopped' | 'failed'

export type AgentRuntime = ReturnType<typeof createAgentRuntime>

interface RuntimeOptions {
  command: string[]
  cwd: string
  env: () => Record<string, string>
  identity: AgentIdentity
  port?: number
  log: (message: string) => void
  /** Delays before each restart, in milliseconds. After the last one the runtime has failed. */
  backoffMs?: number[]
  /** The idle runtime freezes after this time; null for never. */
  freezeMs?: number | null
  /** The frozen runtime stops after this time; null for never. */
  stopMs?: () => number | null
  processes?: () => SandboxProcess[]
}

/** The port accepts early and never answers those requests, so each probe is short and on a new connection. */
const probeMs = { first: 150, most: 2_000 }
/** The longer the start takes, the busier the machine is, so later probes wait longer. */
const patienceMs = (waitedMs: number) => Math.min(probeMs.most, probeMs.first + waitedMs / 20)
const probeEveryMs = 25
/** On a machine with thirty waiting tasks per core a start takes two minutes, and a second one would begin from nothing. */
const startMs = 150_000
/** A crash after this long does not count toward the restart limit. */
const settledMs = 60_000
const outputMax = 8192
/** Time to read the output that is still buffered when the runtime exits. */
const drainMs = 1_000
const statusMs = 5_000

export function createAgentRuntime(options: RuntimeOptions) {
  const port = options.port ?? specifiedPort
  const backoff = options.backoffMs ?? [250, 500, 1000, 2000, 4000]
  let state: RuntimeState = 'stopped'
  let error: string | null = null
  let child: Bun.Subprocess | null = null
  // Numbers the starts. Callbacks from an earlier start are ignored.
  let run = 0
  let tries = 0
  let starts = 0
  let waiting = ready()
  const sleep = createSleep({
    freezeMs: options.freezeMs ?? null,
    stopMs: options.stopMs ?? (() => null),
    stop,
    async start() {
      tries = 0
      launch()
      // Sleep ends no turn, so this is not a start that a turn could have been lost by.
      starts -= 1
      // `state` and `error` report the failure.
      await waiting.promise.catch(handledLater)
    },
    pid: () => (state === 'ready' ? (child?.pid ?? null) : null),
    isBusy: () => isBusy(port),
    processes: options.processes ?? sandboxProcesses,
    log: options.log,
  })

  function ready() {
    const made = Promise.withResolvers<void>()
    // Nobody may be waiting; `error` and `state` report the failure as well.
    made.promise.catch(handledLater)
    return made
  }

  function launch(): void {
    const mine = ++run
    starts += 1
    const startedAt = Date.now()
    state = 'starting'
    let output = ''
    const writer = () => ({ write: (text: string) => (output = (output + text).slice(-outputMax)), end() {} })
    let started: ReturnType<typeof startWatched>
    try {
      started = startWatched({ ...options, env: options.env(), drainMs, writer })
    } catch (cause) {
      giveUp(`The agent runtime could not start: ${(cause as Error).message}`)
      return
    }
    child = started.child
    void probe(mine, startedAt)
    void started.ended.then((code) => {
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
        sleep.started()
        return
      }
      if (Date.now() - startedAt > startMs) {
        // The runtime hangs. Killing it triggers the next restart.
        kill()
        return
      }
      await Bun.sleep(probeEveryMs)
    }
  }

  function died(code: number, startedAt: number, output: string): void {
    const lastOutput = lastLines(output)
    const what = `The agent runtime ended with exit code ${code}.${lastOutput === '' ? '' : ` Its last lines: ${lastOutput}`}`
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

  function kill(): void {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    killGroup(child.pid)
  }

  async function stop(): Promise<void> {
    run += 1
    state = 'stopped'
    error = null
    waiting.reject(new Error('The agent runtime was stopped.'))
    waiting = ready()
    kill()
    await child?.exited
  }

  return {
    port,
    get state(): RuntimeState {
      return state
    },
    get error() {
      return error
    },
    /** The number of starts so far. */
    get starts() {
      return starts
    },
    /** Numbers the processes of the runtime. */
    get run() {
      return run
    },
    /** How long the idle runtime has been frozen, and then `ready`, or stopped; null when it is awake. */
    get asleepMs() {
      return sleep.asleepMs
    },
    /** Wakes the runtime and keeps it awake until the returned function is called. */
    use: sleep.use,
    usePort: sleep.usePort,
    hold: sleep.hold,
    async whileInUse<T>(act: () => Promise<T>): Promise<T> {
      const done = await sleep.use()
      try {
        return await act()
      } finally {
        done()
      }
    },
    start(): void {
      tries = 0
      launch()
    },
    /** Whether that start of the runtime has ended. Its connections close a moment before its exit is known. */
    async hasEnded(start: number, withinMs: number): Promise<boolean> {
      if (start !== starts || state !== 'ready' || child === null) return true
      return Promise.race([child.exited.then(() => true), Bun.sleep(withinMs).then(() => false)])
    },
    /** Resolves once the runtime answers; rejects when it has failed for good. */
    whenReady: () => waiting.promise,
    async restart(): Promise<void> {
      await stop()
      tries = 0
      launch()
      await waiting.promise
    },
    stop,
  }
}

/** Whether a turn runs in any conversation. Null when the runtime has no such route. */
async function isBusy(port: number): Promise<boolean | null> {
  try {
    const reply = await fetch(`http://127.0.0.1:${port}/session/status`, {
      signal: AbortSignal.timeout(statusMs),
      keepalive: false,
      headers: { connection: 'close' },
    })
    const statuses = parseJson(await reply.text())
    if (!reply.ok || !isRecord(statuses)) return null
    return Object.values(statuses).some((status) => !isRecord(status) || status['type'] !== 'idle')
  } catch {
    return null
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
