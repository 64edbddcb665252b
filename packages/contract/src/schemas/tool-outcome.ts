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
  if (title !== '') return withoutSubshell(title)
  const given = parseJson(input)
  if (!isRecord(given)) return input
  const target = targets.map((name) => given[name]).find((value) => typeof value === 'string' && value !== '')
  if (typeof target === 'string') return withoutSubshell(target)
  return Object.keys(given).length === 0 ? '' : input
}

/** A subshell around all of a command, or around its first line, says nothing about what it does. */
export function withoutSubshell(command: string): string {
  return command.replace(/^\(([^]*)\n\)$/, '$1').replace(/^\((.*)\n\)\n/, '$1\n')
}

export interface PlanItem {
  text: string
  state: 'pending' | 'active' | 'done' | 'cancelled'
}

const planStates: Record<string, PlanItem['state']> = {
  in_progress: 'active',
  completed: 'done',
  cancelled: 'cancelled',
}
const planItemsMax = 200

/** The plan that a call of the runtime's to-do tool writes, or null. */
export function planIn({ tool, status, input }: Pick<ToolPart, 'tool' | 'status' | 'input'>): PlanItem[] | null {
  if (tool !== 'todowrite' || status === 'error') return null
  const given = parseJson(input)
  if (!isRecord(given) || !Array.isArray(given['todos'])) return null
  return (given['todos'] as unknown[]).slice(0, planItemsMax).flatMap((item) => {
    if (!isRecord(item) || typeof item['content'] !== 'string') return []
    return [{ text: item['content'], state: planStates[String(item['status'])] ?? 'pending' }]
  })
}

/** Such as `12 ms`, `0.3 s` or `2 min 5 s`. */
export function durationText(ms: number): string {
  if (ms < 100) return `${Math.round(ms)} ms`
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
