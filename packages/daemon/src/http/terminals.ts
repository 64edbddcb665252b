/** Terminals for people: each WebSocket gets a shell with its own pseudo-terminal, run as the agent. */
import { rmSync } from 'node:fs'

import { errorStatus } from '@svc/contract/errors'
import { parseJson } from '@svc/contract/json'
import {
  terminalCommandCharsMax,
  type TerminalEnd,
  terminalColumnsMax,
  terminalRowsMax,
} from '@svc/contract/daemon/terminal'
import type { ServerWebSocket } from 'bun'

import { asAgent, killGroup } from '../child.ts'
import type { AgentIdentity } from '../config.ts'
import { sandboxProcesses } from '../runtime/processes.ts'

export type Terminals = ReturnType<typeof serveTerminals>

interface Shell {
  columns: number
  rows: number
  /** Runs instead of an interactive shell. */
  command: string | null
  child: Bun.Subprocess | null
  /** Bytes dropped because the client was too slow. */
  dropped: number
  /** The shell has ended: the connection closes when its client has everything. */
  isEnding: boolean
}

/** Each holds a shell and its processes. */
const terminalsMax = 8
const inputBytesMax = 256 * 1024
/** A client further behind than this misses output; the terminal shows how much once the client catches up. */
const behindBytesMax = 1024 * 1024
/** How long a client may take to read the rest of a shell that has ended. */
const restMs = 30_000
/** How long a shell may keep running after a hangup. */
const graceMs = 2_000

/** BASH_ENV brings the session's variables: the first bash reads it, the second inherits them. */
const shell = ['/bin/sh', '-c', 'if command -v bash >/dev/null; then exec bash -c "exec bash -i"; else exec sh -i; fi']
/** The same for a single command. */
const oneCommand = (command: string) => [
  ...['/bin/sh', '-c', 'if command -v bash >/dev/null; then exec bash -c "$1"; else exec sh -c "$1"; fi'],
  ...['svc-terminal', command],
]
/** Programs such as ssh and tmux open the terminal by name, so the agent must own it. */
const handOver = (uid: number) => ['/bin/sh', '-c', `chown ${uid} "$(tty)"; exec "$@"`, 'svc-terminal']

export function serveTerminals(options: {
  socketPath: string
  identity: AgentIdentity
  cwd: string
  env: () => Record<string, string>
  log: (message: string) => void
}) {
  const { identity } = options
  const open = new Set<ServerWebSocket<Shell>>()
  rmSync(options.socketPath, { force: true })
  const umask = process.umask(0o177)
  const server = Bun.serve<Shell>({
    unix: options.socketPath,
    fetch(request, server) {
      const query = new URL(request.url).searchParams
      const columns = sizeOf(query.get('columns'), terminalColumnsMax) ?? 80
      const rows = sizeOf(query.get('rows'), terminalRowsMax) ?? 24
      const command = query.get('command')
      if ((command?.length ?? 0) > terminalCommandCharsMax) return refused('The command is too long for a terminal.')
      if (server.upgrade(request, { data: { columns, rows, command, child: null, dropped: 0, isEnding: false } }))
        return undefined
      return refused('A terminal needs a WebSocket connection.')
    },
    websocket: {
      maxPayloadLength: inputBytesMax,
      idleTimeout: 120,
      sendPings: true,
      open(socket) {
        if (open.size >= terminalsMax)
          return end(socket, `${terminalsMax} terminals are already open. Close one first.`)
        open.add(socket)
        start(socket)
      },
      message(socket, message) {
        const terminal = socket.data.child?.terminal
        if (terminal === undefined || terminal.closed) return
        if (typeof message !== 'string') terminal.write(message)
        else resize(terminal, message)
      },
      drain: closeAtEnd,
      close(socket) {
        open.delete(socket)
        hangUp(socket.data)
      },
    },
  })
  process.umask(umask)

  function start(socket: ServerWebSocket<Shell>): void {
    const { columns, rows, command } = socket.data
    const program = asAgent(identity, command === null ? shell : oneCommand(command))
    try {
      const child = Bun.spawn(identity.uid === null ? program : [...handOver(identity.uid), ...program], {
        cwd: options.cwd,
        env: { ...options.env(), TERM: 'xterm-256color', COLORTERM: 'truecolor' },
        terminal: { cols: columns, rows, name: 'xterm-256color', data: (_terminal, bytes) => show(socket, bytes) },
      })
      socket.data.child = child
      void child.exited.then((code) => {
        end(socket, code === 0 ? 'The shell ended.' : `The shell ended with ${code}.`, code)
      })
    } catch (error) {
      options.log(`a terminal could not start: ${String(error)}`)
      end(socket, `The shell could not start: ${(error as Error).message}`)
    }
  }

  return {
    /** Admitted connections are forwarded here. Only the daemon's uid may connect. */
    socketPath: options.socketPath,
    stop(): void {
      for (const socket of open) hangUp(socket.data)
      void server.stop(true)
    },
  }
}

function show(socket: ServerWebSocket<Shell>, bytes: Uint8Array): void {
  const { data } = socket
  // A terminal cannot slow its writer down, so drop what the client cannot read in time.
  if (socket.getBufferedAmount() > behindBytesMax) {
    data.dropped += bytes.byteLength
    return
  }
  noteDropped(socket)
  socket.send(bytes)
}

function noteDropped(socket: ServerWebSocket<Shell>): void {
  const { data } = socket
  if (data.dropped > 0) socket.send(Buffer.from(`\r\n[${data.dropped} bytes skipped]\r\n`))
  data.dropped = 0
}

function resize(terminal: Bun.Terminal, text: string): void {
  // Our own pages send only valid JSON, and a shell cannot answer an invalid message.
  const message = parseJson(text) as Record<string, unknown> | null | undefined
  const columns = sizeOf(message?.columns, terminalColumnsMax)
  const rows = sizeOf(message?.rows, terminalRowsMax)
  if (message?.type === 'resize' && columns !== null && rows !== null) terminal.resize(columns, rows)
}

function refused(error: string): Response {
  return Response.json({ error, code: 'invalid' }, { status: errorStatus('invalid') })
}

function end(socket: ServerWebSocket<Shell>, reason: string, code: number | null = null): void {
  if (socket.readyState !== WebSocket.OPEN) return
  noteDropped(socket)
  socket.send(JSON.stringify({ type: 'end', reason, code } satisfies TerminalEnd))
  socket.data.isEnding = true
  closeAtEnd(socket)
  setTimeout(() => socket.close(1000), restMs).unref()
}

/** To close a socket drops what its client has not read yet. */
function closeAtEnd(socket: ServerWebSocket<Shell>): void {
  if (socket.data.isEnding && socket.getBufferedAmount() === 0) socket.close(1000)
}

/** Hangs up like a closed terminal. A shell that ignores it is killed with its jobs. */
function hangUp({ child }: Shell): void {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return
  killGroup(child.pid, 'SIGHUP')
  child.terminal?.close()
  setTimeout(() => child.exitCode === null && killJobs(child.pid), graceMs).unref()
}

function killJobs(shell: number): void {
  const groups = sandboxProcesses().flatMap(({ session, group }) => (session === shell ? [group] : []))
  for (const group of new Set(groups)) killGroup(group)
}

function sizeOf(value: unknown, max: number): number | null {
  const number = typeof value === 'string' ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) && number > 0 && number <= max ? number : null
}
