/** Describes the target and the outcome of an agent's tool call for the pages and the client. Loads no zod: both use it. */
import type { MessagePart } from '../api.gen.ts'
import { isRecord, parseJson } from '../json.ts'

export type ToolPart = Extract<MessagePart, { type: 'tool' }>

export interface ToolOutcome {
  mark: '✓' | '✗' | '…'
  hasFailed: boolean
  /** Such as `exit 2` or `timed out`; empty for a call that succeeded or has no exit code. */
  note: string
}

/** The runtime ends a command after two minutes, unless the agent asked for more. */
const timedOut = /terminated command after exceeding timeout/

/** `isOver`: the turn of the call ended, so a call without a result was interrupted. */
export function toolOutcome(
  { status, exit_code: code, output }: Pick<ToolPart, 'status' | 'exit_code' | 'output'>,
  { isOver = false }: { isOver?: boolean } = {},
): ToolOutcome {
  if (status === 'pending' || status === 'running')
    return isOver ? { mark: '✗', hasFailed: true, note: 'interrupted' } : { mark: '…', hasFailed: false, note: '' }
  const killed = timedOut.test(output) ? 'timed out' : 'killed'
  const note = code === undefined || code === 0 ? '' : code === null ? killed : `exit ${code}`
  const hasFailed = status === 'error' || note !== ''
  return { mark: hasFailed ? '✗' : '✓', hasFailed, note }
}

/** The fields of a tool's input that say what it works on, the most telling first. */
const targets = ['command', 'filePath', 'path', 'pattern', 'url', 'query', 'description', 'name']

/** The command or the target of a call. The runtime names most calls only when they end. */
export function toolTarget({ title, input }: Pick<ToolPart, 'title' | 'input'>): string {
  if (title !== '') return title
  const given = parseJson(input)
  if (!isRecord(given)) return input
  const target = targets.map((name) => given[name]).find((value) => typeof value === 'string' && value !== '')
  if (typeof target === 'string') return target
  return Object.keys(given).length === 0 ? '' : input
}
