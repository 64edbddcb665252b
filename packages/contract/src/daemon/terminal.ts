/** The shell of a session over one WebSocket. Binary messages are input and output; text messages are the ones below. */
import { parseJson } from '../json.ts'

/** The path at the daemon. The server forwards the browser's connection to it. */
export const terminalPath = '/svc/terminal'
/** Before the project and the session are filled in. */
export const terminalRoute = '/v1/projects/:projectId/sessions/:sessionId/terminal'

export const terminalColumnsMax = 500
export const terminalRowsMax = 300
/** The limit of `?command=`, which runs in place of an interactive shell. */
export const terminalCommandCharsMax = 4_000

/** From the browser. */
export interface TerminalResize {
  type: 'resize'
  columns: number
  rows: number
}

/** From the daemon: its last message. */
export interface TerminalEnd {
  type: 'end'
  reason: string
  /** The exit code of the shell; null when it did not end by itself. */
  code: number | null
}

/** Null for any other message. A daemon of an earlier version sends no code. */
export function readTerminalEnd(text: string): TerminalEnd | null {
  const { type, reason, code = null } = (parseJson(text) ?? {}) as Partial<TerminalEnd>
  if (type !== 'end' || typeof reason !== 'string') return null
  if (code !== null && !(Number.isInteger(code) && code >= 0 && code <= 255)) return null
  return { type, reason, code }
}

interface SessionNow {
  status: string
  error: string | null
  sandbox: { generation: number } | null
  sandbox_ended?: string | null
}

/**
 * Why a terminal broke without a last message, by its session afterwards. `generation` is that of its sandbox. The session
 * learns of the end of a sandbox some moments later: until then the loss is `unknown`.
 */
export function lossOfTerminal(generation: number, session: SessionNow) {
  const { status, error, sandbox, sandbox_ended: ended = null } = session
  if (status === 'stopped' || status === 'failed' || status === 'completed')
    return { kind: 'over', says: `The terminal ended, because its session is ${status}`, why: error } as const
  if (status === 'running' && sandbox?.generation === generation)
    return { kind: 'unknown', says: 'The connection to the sandbox ended', why: stillRuns } as const
  const says = 'The terminal ended, because the session starts again in a new sandbox'
  return { kind: 'restarted', says, why: ended } as const
}

const stillRuns =
  'The session still runs. The server may have restarted, the network may have been cut, or you may not use the terminal any more.'
