/** How a tool call of an agent ended, in the words of the pages and the client. Loads no zod: both use it. */
import type { MessagePart } from '../api.gen.ts'

export type ToolPart = Extract<MessagePart, { type: 'tool' }>

export interface ToolOutcome {
  mark: '✓' | '✗' | '…'
  hasFailed: boolean
  /** Such as `exit 2` or `killed`; empty for a call that succeeded or has no exit code. */
  note: string
}

export function toolOutcome({ status, exit_code: code }: Pick<ToolPart, 'status' | 'exit_code'>): ToolOutcome {
  if (status === 'pending' || status === 'running') return { mark: '…', hasFailed: false, note: '' }
  const note = code === undefined || code === 0 ? '' : code === null ? 'killed' : `exit ${code}`
  const hasFailed = status === 'error' || note !== ''
  return { mark: hasFailed ? '✗' : '✓', hasFailed, note }
}
