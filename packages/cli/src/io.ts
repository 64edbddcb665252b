/** The client's view of its process. Tests pass their own. */
import type { Writable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { assumeWidth } from './terminal/assume-width.ts'

export interface Sink {
  write(text: string): void
  readonly isTTY: boolean
  readonly columns: number
  readonly stream: Writable
}

export interface Io {
  env: Readonly<Record<string, string | undefined>>
  cwd: string
  stdin: NodeJS.ReadableStream & { isTTY?: boolean }
  stdout: Sink
  stderr: Sink
  now(): number
  newId(): string
  /** Throws when the command is interrupted. */
  sleep(ms: number): Promise<void>
  /** Aborted by Ctrl-C, unless a handler of `onInterrupt` takes it. */
  signal: AbortSignal
  /** The newest handler takes the next Ctrl-C. Returns a function that removes it. */
  onInterrupt(handler: () => void): () => void
}

/** `written` resolves when all output is flushed, and throws when a write failed. */
export function processIo(process: NodeJS.Process): { io: Io; written(): Promise<void> } {
  const interrupt = new AbortController()
  const handlers: (() => void)[] = []
  process.on('SIGINT', () => {
    const handler = handlers.at(-1)
    if (handler !== undefined) handler()
    else if (interrupt.signal.aborted) process.exit(1)
    else interrupt.abort()
  })
  const stdout = sink(process.stdout)
  const stderr = sink(process.stderr)
  const io: Io = {
    env: process.env,
    cwd: process.cwd(),
    // Created on first use: most commands read nothing, and it slows the start.
    get stdin() {
      return process.stdin
    },
    stdout,
    stderr,
    now: () => Date.now(),
    newId: () => crypto.randomUUID(),
    sleep: (ms) => sleep(ms, interrupt.signal),
    signal: interrupt.signal,
    onInterrupt(handler) {
      handlers.push(handler)
      return () => {
        const at = handlers.indexOf(handler)
        if (at !== -1) handlers.splice(at, 1)
      }
    },
  }
  return {
    io,
    async written() {
      await stdout.written()
      await stderr.written()
    },
  }
}

interface WrittenSink extends Sink {
  written(): Promise<void>
}

function sink(stream: NodeJS.WriteStream): WrittenSink {
  let failure: NodeJS.ErrnoException | null = null
  assumeWidth(stream)
  stream.on('error', (error) => (failure ??= error))
  return {
    stream,
    write: (text) => void (failure === null && stream.write(text)),
    get isTTY() {
      return stream.isTTY === true
    },
    get columns() {
      return stream.columns ?? 80
    },
    async written() {
      if (failure === null && stream.writableLength > 0) await new Promise((resolve) => stream.write('', resolve))
      // A write error arrives one turn of the event loop later.
      await new Promise((resolve) => setImmediate(resolve))
      // A reader that closes early (`svc cr diff 3 | head`) is no failure.
      if (failure !== null && failure.code !== 'EPIPE') throw failure
    },
  }
}

export const sleep = (ms: number, signal: AbortSignal): Promise<void> => setTimeout(ms, undefined, { signal })
