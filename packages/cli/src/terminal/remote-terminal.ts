/** Connects this terminal to a shell in a sandbox: bytes pass unchanged, and every exit restores the terminal. */
import type { ReadStream, WriteStream } from 'node:tty'
import {
  readTerminalEnd,
  terminalColumnsMax,
  type TerminalResize,
  terminalRowsMax,
} from '@svc/contract/daemon/terminal'
import { EscapeKeys } from './escape-keys.ts'
import type { Io } from '../io.ts'

/** The daemon's limit for a message is 256 KiB. */
const chunkBytesMax = 64 * 1024

/** Bun's WebSocket accepts headers and has `terminate`; the DOM types hide both. */
const RuntimeWebSocket = WebSocket as unknown as new (
  url: URL,
  options: { headers: Record<string, string> },
) => WebSocket & { terminate(): void }

type RemoteEnd =
  /** The connection never opened; a WebSocket does not report why. */
  | { kind: 'refused' }
  | { kind: 'ended'; reason: string; code: number | null }
  /** The peer sent an unexpected message. */
  | { kind: 'invalid' }
  /** The connection broke, or the session ended. */
  | { kind: 'broken' }
  /** The user left by the escape keys or a signal. */
  | { kind: 'left' }

export function joinTerminal(
  io: Pick<Io, 'stdin' | 'stdout' | 'signal'>,
  url: URL,
  headers: Record<string, string>,
): Promise<RemoteEnd> {
  const input = io.stdin as ReadStream
  const output = io.stdout.stream as WriteStream
  const { columns, rows } = sizeOf(output)
  url.searchParams.set('columns', String(columns))
  url.searchParams.set('rows', String(rows))
  const socket = new RuntimeWebSocket(url, { headers })
  socket.binaryType = 'arraybuffer'
  const modes = new ScreenModes()
  const keys = new EscapeKeys()
  let end: RemoteEnd = { kind: 'refused' }

  const leave = () => {
    end = { kind: 'left' }
    socket.terminate()
  }
  const onKeys = (typed: Buffer) => {
    const { passed, leaves } = keys.take(typed)
    if (socket.readyState === WebSocket.OPEN)
      for (let at = 0; at < passed.length; at += chunkBytesMax) socket.send(passed.subarray(at, at + chunkBytesMax))
    if (leaves) leave()
  }
  const onResize = () => {
    if (socket.readyState === WebSocket.OPEN)
      socket.send(JSON.stringify({ type: 'resize', ...sizeOf(output) } satisfies TerminalResize))
  }
  return new Promise<RemoteEnd>((resolve) => {
    socket.addEventListener('open', () => {
      if (end.kind === 'left') return
      end = { kind: 'broken' }
      input.setRawMode(true)
      input.on('data', onKeys)
      input.resume()
      output.on('resize', onResize)
      onResize()
    })
    socket.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (typeof data === 'string') {
        const message = readTerminalEnd(data)
        end = message === null ? { kind: 'invalid' } : { kind: 'ended', reason: message.reason, code: message.code }
        if (message === null) socket.terminate()
        return
      }
      const bytes = new Uint8Array(data)
      modes.note(bytes)
      output.write(bytes)
    })
    socket.addEventListener('error', () => {
      // The close event follows and reports the same.
    })
    socket.addEventListener('close', () => resolve(end))
    if (io.signal.aborted) leave()
    io.signal.addEventListener('abort', leave, { once: true })
  }).finally(() => {
    io.signal.removeEventListener('abort', leave)
    input.off('data', onKeys)
    output.off('resize', onResize)
    // The terminal is not raw if the connection did not open.
    if (input.isRaw) {
      output.write(modes.reset())
      input.setRawMode(false)
    }
    input.pause()
  })
}

function sizeOf({ columns, rows }: { columns?: number; rows?: number }): { columns: number; rows: number } {
  const within = (value: number | undefined, usual: number, max: number) =>
    value === undefined || value < 1 ? usual : Math.min(value, max)
  return { columns: within(columns, 80, terminalColumnsMax), rows: within(rows, 24, terminalRowsMax) }
}

/** Interrupted programs leave the alternate screen, a hidden cursor and mouse reporting on. */
class ScreenModes {
  #isOtherPage = false
  #tail = ''

  note(bytes: Uint8Array): void {
    // An escape sequence may be split across chunks.
    const text = this.#tail + Buffer.from(bytes).toString('latin1')
    const on = text.lastIndexOf('\x1b[?1049h')
    const off = text.lastIndexOf('\x1b[?1049l')
    if (on !== off) this.#isOtherPage = on > off
    this.#tail = text.slice(-7)
  }

  reset(): string {
    const modes = [1, 1000, 1002, 1003, 1006, 2004].map((mode) => `\x1b[?${mode}l`).join('')
    return `${this.#isOtherPage ? '\x1b[?1049l' : ''}${modes}\x1b>\x1b[?25h\x1b[0m`
  }
}
