/** What the client needs of the process it runs in. Tests hand in their own. */
import type { Writable } from 'node:stream'

export interface Sink {
  write(text: string): void
  readonly isTTY: boolean
  readonly columns: number
  /** What a prompt draws on. */
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
  /** Ends early, by throwing, when the command is interrupted. */
  sleep(ms: number): Promise<void>
  /** Aborted by Ctrl-C, unless a handler of `onInterrupt` takes it. */
  signal: AbortSignal
  /** The newest handler takes the next Ctrl-C; the answer removes it. */
  onInterrupt(handler: () => void): () => void
}

export function processIo(process: NodeJS.Process): Io {
  const interrupt = new AbortController()
  const handlers: (() => void)[] = []
  process.on('SIGINT', () => {
    const handler = handlers.at(-1)
    if (handler !== undefined) handler()
    else if (interrupt.signal.aborted) process.exit(1)
    else interrupt.abort()
  })
  return {
    env: process.env,
    cwd: process.cwd(),
    stdin: process.stdin,
    stdout: sink(process.stdout),
    stderr: sink(process.stderr),
    now: () => Date.now(),
    newId: () => crypto.randomUUID(),
    sleep: (ms) => sleep(ms, interrupt.signal),
    signal: interrupt.signal,
    onInterrupt(handler) {
      handlers.push(handler)
      return () => handlers.splice(handlers.indexOf(handler), 1)
    },
  }
}

function sink(stream: NodeJS.WriteStream): Sink {
  let gone = false
  // A reader that has seen enough (`svc cr diff 3 | head`) is no failure: the rest is dropped.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    gone = true
  })
  return {
    stream,
    write: (text) => void (gone || stream.write(text)),
    get isTTY() {
      return stream.isTTY === true
    },
    get columns() {
      return stream.columns ?? 80
    },
  }
}

export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}
