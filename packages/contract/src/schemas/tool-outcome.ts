/** How a tool call of an agent ended, in the words of the pages and the client. Loads no zod: both use it. */
import type { MessagePart } from '../api.gen.ts'

export type ToolPart = Extract<MessagePart, { type: 'tool' }>

export interface ToolOutcome {
  mark: '✓' | '✗' | '…'
  hasFailed: boolean
  /** Such as `exit 2` or `timed out`; empty for a call that succeeded or has no exit code. */
  note: string
}

/** The runtime ends a command after two minutes, unless the agent asked for more. */
const timedOut = /terminated command after exceeding timeout/

export function toolOutcome({
  status,
  exit_code: code,
  output,
}: Pick<ToolPart, 'status' | 'exit_code' | 'output'>): ToolOutcome {
  if (status === 'pending' || status === 'running') return { mark: '…', hasFailed: false, note: '' }
  const killed = timedOut.test(output) ? 'timed out' : 'killed'
  const note = code === undefined || code === 0 ? '' : code === null ? killed : `exit ${code}`
  const hasFailed = status === 'error' || note !== ''
  return { mark: hasFailed ? '✗' : '✓', hasFailed, note }
}
