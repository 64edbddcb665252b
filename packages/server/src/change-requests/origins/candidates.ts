/** Calls that may have written a line which no call is known to have written. Pure. */
import { type LineOrigin, originCandidatesMax, parseJson, isRecord } from '@svc/contract'
import { isTelling } from '@svc/contract/schemas/file-writes'
import type { StoredToolCall } from '../../sessions/conversation/tool-calls-store.ts'

export type Candidate = LineOrigin['candidates'][number]

/** The time in which the content of a commit was written: after the commit before it. */
export interface Window {
  after: number
  before: number
}

const reading =
  /^\s*(?:cat|ls|less|head|tail|wc|grep|rg|file|stat|git\s+(?:diff|status|log|show|blame|grep))\b[^|;&<>`$]*$/

/** A call that may have to do with the file. It is read once for all windows. */
export interface Suspect {
  call: StoredToolCall
  reason: 'sub_agent' | 'names_file' | 'ran_before_commit'
}

export function suspectsAmong(commands: readonly StoredToolCall[], paths: readonly string[]): Suspect[] {
  const names = paths.flatMap(namesOf)
  return commands.flatMap((call): Suspect[] => {
    if (call.tool !== 'bash') return hasStep(call, paths) ? [{ call, reason: 'sub_agent' }] : []
    const command = commandOf(call.input)
    if (reading.test(command)) return []
    return [{ call, reason: names.some((name) => name.test(command)) ? 'names_file' : 'ran_before_commit' }]
  })
}

/** Sub-agents and commands of the window that name the file; without such a command, the last ones that may change files. */
export function suspectsIn(window: Window, suspects: readonly Suspect[]): Candidate[] {
  const within = suspects.filter(
    ({ call: { started_at, ended_at } }) =>
      started_at.getTime() < window.before && (ended_at === null || ended_at.getTime() >= window.after),
  )
  const of = (reason: Suspect['reason']) =>
    newest(
      within.filter((each) => each.reason === reason).map(({ call }) => call),
      reason,
    )
  const naming = of('names_file')
  return [...of('sub_agent'), ...(naming.length > 0 ? naming : of('ran_before_commit'))].slice(0, originCandidatesMax)
}

export function newest(calls: readonly { call_id: string }[], reason: Candidate['reason']): Candidate[] {
  return calls
    .slice(-originCandidatesMax)
    .toReversed()
    .map(({ call_id }) => ({ call_id, reason }))
}

function commandOf(input: string): string {
  const given = parseJson(input)
  // A long command is stored whole and read in part, which is no JSON.
  return isRecord(given) && typeof given['command'] === 'string' ? given['command'] : input
}

/** Its path, or its name alone, as a word of a command. */
function namesOf(path: string): RegExp[] {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return isTelling(name) ? [new RegExp(`(?<![\\w.-])${RegExp.escape(name)}(?![\\w-])`)] : []
}

const changing = new Set(['edit', 'write', 'multiedit', 'patch', 'apply_patch', 'bash'])

function hasStep({ steps }: StoredToolCall, paths: readonly string[]): boolean {
  return (steps ?? []).some(
    ({ tool, title, status }) =>
      status === 'completed' && changing.has(tool) && paths.some((path) => title.includes(path)),
  )
}
