/** Shells in the sandbox for people who look in: each a WebSocket with a pseudo-terminal of its own, run as the agent. */
import { rmSync } from 'node:fs'

import { errorStatus } from '@svc/contract/errors'
import { type TerminalEnd, terminalColumnsMax, terminalRowsMax } from '@svc/contract/terminal'
import type { ServerWebSocket } from 'bun'

import { asAgent } from './child.ts'
import type { AgentIdentity } from './config.ts'

export interface Terminals {
  /** Where connections that were let in are passed on to. For the daemon's uid alone. */
  socketPath: string
  stop(): void
}

interface Shell {
  columns: number
  rows: number
  child: Bun.Subprocess | null
  /** Bytes that were left out since the reader fell behind. */
  dropped: number
}

/** Each holds a shell and whatever runs in it. */
const terminalsMax = 8
const inputBytesMax = 256 * 1024
/** A browser that is behind by so much sees the next output once it has caught up, and is told what it missed. */
const behindBytesMax = 1024 * 1024
/** What a shell that was hung up may still do. */
const graceMs = 2_000

/** The session's own variables come by BASH_ENV, which the first of the two reads and the second inherits. */
const shell = ['/bin/sh', '-c', 'if command -v bash >/dev/null; then exec bash -c "exec bash -i"; else exec sh -i; fi']
/** Programs such as ssh and tmux open the terminal by its name, which belongs to who made it. */
const handOver = (uid: number) => ['/bin/sh', '-c', `chown ${uid} "$(tty)"; exec "$@"`, 'svc-terminal']

export function serveTerminals(options: {
  socketPath: string
  identity: AgentIdentity
  cwd: string
  env: () => Record<string, string>
  log: (message: string) => void
}): Terminals {
  const { identity } = options
  const open = new Set<ServerWebSocket<Shell>>()
  rmSync(options.socketPath, { force: true })
  const umask = process.umask(0o177)
  const server = Bun.serve<Shell>({
    unix: options.socketPath,
    fetch(request, server) {
      const asked = new URL(request.url).searchParams
      const columns = sizeOf(asked.get('columns'), terminalColumnsMax) ?? 80
      const rows = sizeOf(asked.get('rows'), terminalRowsMax) ?? 24
      if (server.upgrade(request, { data: { columns, rows, child: null, dropped: 0 } })) return undefined
      return Response.json({ error: 'A terminal is a WebSocket.', code: 'invalid' }, { status: errorStatus('invalid') })
    },
    websocket: {
      maxPayloadLength: inputBytesMax,
      idleTimeout: 120,
      sendPings: true,
      open(socket) {
        if (open.size >= terminalsMax)
          return end(socket, `There are ${terminalsMax} terminals open already. Close one first.`)
        open.add(socket)
        start(socket)
      },
      message(socket, message) {
        const terminal = socket.data.child?.terminal
        if (terminal === undefined || terminal.closed) return
        if (typeof message !== 'string') terminal.write(message)
        else resize(terminal, message)
      },
      close(socket) {
        open.delete(socket)
        hangUp(socket.data)
      },
    },
  })
  process.umask(umask)

  function start(socket: ServerWebSocket<Shell>): void {
    const { columns, rows } = socket.data
    const command = asAgent(identity, shell)
    try {
      const child = Bun.spawn(identity.uid === null ? command : [...handOver(identity.uid), ...command], {
        cwd: options.cwd,
        env: { ...options.env(), TERM: 'xterm-256color', COLORTERM: 'truecolor' },
        terminal: { cols: columns, rows, name: 'xterm-256color', data: (_terminal, bytes) => show(socket, bytes) },
      })
      socket.data.child = child
      void child.exited.then((code) => end(socket, code === 0 ? 'The shell ended.' : `The shell ended with ${code}.`))
    } catch (error) {
      options.log(`a terminal could not be started: ${String(error)}`)
      end(socket, `The shell could not be started: ${(error as Error).message}`)
    }
  }

  return {
    socketPath: options.socketPath,
    stop() {
      for (const socket of open) hangUp(socket.data)
      void server.stop(true)
    },
  }
}

function show(socket: ServerWebSocket<Shell>, bytes: Uint8Array): void {
  const { data } = socket
  // Nothing stops what writes into a terminal, so what nobody can read in time is not kept.
  if (socket.getBufferedAmount() > behindBytesMax) {
    data.dropped += bytes.byteLength
    return
  }
  if (data.dropped > 0) socket.send(Buffer.from(`\r\n[${data.dropped} bytes left out]\r\n`))
  data.dropped = 0
  socket.send(bytes)
}

function resize(terminal: Bun.Terminal, text: string): void {
  let message: Record<string, unknown> | null
  try {
    message = JSON.parse(text) as typeof message
  } catch {
    // Nothing of ours says it, and a shell has no answer to it.
    return
  }
  const columns = sizeOf(message?.columns, terminalColumnsMax)
  const rows = sizeOf(message?.rows, terminalRowsMax)
  if (message?.type === 'resize' && columns !== null && rows !== null) terminal.resize(columns, rows)
}

function end(socket: ServerWebSocket<Shell>, reason: string): void {
  if (socket.readyState !== WebSocket.OPEN) return
  socket.send(JSON.stringify({ type: 'end', reason } satisfies TerminalEnd))
  socket.close(1000)
}

/** As a terminal that is closed does: everything in it hears of it, and what does not care is ended. */
function hangUp({ child }: Shell): void {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return
  const group = (signal: NodeJS.Signals) => {
    try {
      process.kill(-child.pid, signal)
    } catch {
      // ESRCH: it ended meanwhile.
    }
  }
  group('SIGHUP')
  child.terminal?.close()
  setTimeout(() => child.exitCode === null && group('SIGKILL'), graceMs).unref()
}

function sizeOf(value: unknown, max: number): number | null {
  const number = typeof value === 'string' ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) && number > 0 && number <= max ? number : null
}
