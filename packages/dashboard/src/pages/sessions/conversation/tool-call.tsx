/** One tool call as a compact row. What it printed is folded, except for the end of a failure. */
import { isRecord, parseJson } from '@svc/contract/json'
import { durationText, planIn, toolOutcome, toolTarget, withoutSubshell } from '@svc/contract/schemas/tool-outcome'
import { Check, LoaderCircle, X } from 'lucide-react'
import { type ReactNode, useRef, useState } from 'react'
import { Stat } from '../../../ui/stat.tsx'
import type { Message } from '../queries.ts'
import { countLines, DiffLines } from './diff-lines.tsx'
import { Foldable, isUnfolded } from './foldable.tsx'
import { InChangeRequest } from './in-change-request.tsx'
import { useTarget } from './place.ts'

export type ToolPart = Extract<Message['parts'][number], { type: 'tool' }>

const tailLines = 5
const verbs: Record<string, string> = {
  ...{ edit: 'Edited', write: 'Wrote', patch: 'Edited', apply_patch: 'Edited', read: 'Read', list: 'Listed' },
  ...{ glob: 'Looked for', grep: 'Searched for', webfetch: 'Fetched', task: 'Sub-agent', skill: 'Used the skill' },
  todowrite: 'Updated the plan',
}

export function ToolCall({ part, isOver }: { part: ToolPart; isOver: boolean }) {
  const [isOpen, setOpen] = useState(() => isUnfolded(part.id))
  const outcome = toolOutcome(part, { isOver })
  const diff = diffOf(part)
  const tail = outcome.hasFailed && !isOpen ? tailOf(part.output) : ''
  const element = useRef<HTMLDivElement>(null)
  const isTarget = useTarget(element, { part: part.id })
  return (
    <div
      ref={element}
      className={`overflow-hidden rounded-md border bg-panel text-sm ${isTarget ? 'border-accent' : 'border-edge'}`}
    >
      <Foldable id={part.id} onFold={setOpen} className="group">
        <summary className="flex min-h-8 cursor-pointer list-none items-center gap-2 px-3 py-1 hover:bg-hover [&::-webkit-details-marker]:hidden">
          <OutcomeMark outcome={outcome} status={part.status} />
          <span className="flex min-w-0 flex-1 items-center gap-2">
            <Target part={part} />
            {diff !== null && <Stat {...countLines(diff)} />}
          </span>
          <span className={`flex-none text-xs tabular-nums ${outcome.hasFailed ? 'text-bad' : 'text-faint'}`}>
            {factsOf(part, outcome)}
          </span>
        </summary>
        <div className="border-t border-line">
          {diff === null ? (
            <InputAndOutput part={part} />
          ) : (
            <DiffLines diff={diff} label={`Diff of ${toolTarget(part)}`} />
          )}
          {isOpen && diff !== null && <InChangeRequest part={part} />}
        </div>
      </Foldable>
      {tail !== '' && (
        <pre
          tabIndex={0}
          aria-label="End of the output"
          className="max-h-40 overflow-auto border-t border-line px-3 py-1.5 font-mono text-xs whitespace-pre-wrap text-dim"
        >
          {tail}
        </pre>
      )}
      {part.steps !== undefined && part.steps.length > 0 && <Steps steps={part.steps} isOver={isOver} />}
    </div>
  )
}

function Target({ part }: { part: ToolPart }) {
  const { tool } = part
  if (tool === 'bash') return <code className="truncate font-mono text-xs text-text">{commandOf(part)}</code>
  const target = tool === 'todowrite' ? planText(part) : toolTarget(part).split('\n')[0]!
  return (
    <>
      <span className="flex-none">{verbs[tool] ?? tool}</span>
      <code className="truncate font-mono text-xs text-dim">{target}</code>
    </>
  )
}

/** The command itself. A description that is part of it is its telling part. */
function commandOf(part: ToolPart): string {
  const input = parseJson(part.input)
  const given = (name: string) => (isRecord(input) && typeof input[name] === 'string' ? input[name] : '')
  const command = withoutSubshell(given('command')) || toolTarget(part)
  const description = given('description')
  const telling = description !== '' && command.includes(description) ? description : command
  return telling.trim().split('\n')[0]!
}

function planText(part: ToolPart): string {
  const plan = planIn(part)
  return plan === null ? '' : `${plan.filter(({ state }) => state === 'done').length} of ${plan.length} done`
}

type Outcome = ReturnType<typeof toolOutcome>

/** Such as `exit 2 · 0.3 s`. */
function factsOf(part: Pick<ToolPart, 'tool' | 'exit_code' | 'duration_ms'>, { note }: Outcome): string {
  const code = note !== '' ? note : part.exit_code === 0 ? 'exit 0' : ''
  const time = part.duration_ms === undefined ? '' : durationText(part.duration_ms)
  return [code, time].filter((text) => text !== '').join(' · ')
}

function OutcomeMark({ outcome: { hasFailed, mark }, status }: { outcome: Outcome; status: ToolPart['status'] }) {
  const isRunning = mark === '…'
  const look = isRunning ? 'text-accent' : hasFailed ? 'bg-bad-soft text-bad' : 'bg-good-soft text-good'
  const Icon = isRunning ? LoaderCircle : hasFailed ? X : Check
  return (
    <span
      role="img"
      aria-label={hasFailed ? 'failed' : status}
      className={`grid size-4 flex-none place-items-center rounded-full ${look}`}
    >
      <Icon aria-hidden className={`size-3 ${isRunning ? 'animate-spin' : ''}`} strokeWidth={3} />
    </span>
  )
}

/** The diff of an edit. A new file is all additions. */
function diffOf({ tool, diff, status, input }: ToolPart): string | null {
  if (diff !== undefined) return diff
  if (tool !== 'write' || status === 'error') return null
  const given = parseJson(input)
  if (!isRecord(given) || typeof given['content'] !== 'string' || given['content'] === '') return null
  const lines = given['content'].replace(/\n$/, '').split('\n')
  return [`@@ +1,${lines.length} @@`, ...lines.map((line) => `+${line}`)].join('\n')
}

function InputAndOutput({ part }: { part: ToolPart }) {
  return [
    ['Input', inputText(part.input)],
    ['Output', part.output],
  ].map(
    ([label, text]) =>
      text !== '' && (
        <Block key={label} label={label!}>
          {text}
        </Block>
      ),
  )
}

function Block({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="border-b border-line px-3 py-2 last:border-0">
      <p className="text-xs text-faint">{label}</p>
      <pre tabIndex={0} aria-label={label} className="max-h-80 overflow-auto font-mono text-xs whitespace-pre-wrap">
        {children}
      </pre>
    </div>
  )
}

/** A command as it is written; other inputs as they are. */
function inputText(input: string): string {
  const given = parseJson(input)
  if (!isRecord(given)) return input
  return typeof given['command'] === 'string' ? given['command'] : Object.keys(given).length === 0 ? '' : input
}

function tailOf(output: string): string {
  return output.trimEnd().split('\n').slice(-tailLines).join('\n').trim().slice(-2_000)
}

function Steps({ steps, isOver }: { steps: NonNullable<ToolPart['steps']>; isOver: boolean }) {
  return (
    <ul aria-label="Calls of the sub-agent" className="flex flex-col gap-1 border-t border-line px-3 py-2">
      {steps.map((step, at) => {
        const outcome = toolOutcome({ ...step, output: '' }, { isOver })
        return (
          <li key={at} className="flex items-center gap-2 pl-4">
            <OutcomeMark outcome={outcome} status={step.status} />
            <code className="min-w-0 flex-1 truncate font-mono text-xs text-dim">
              {step.tool === 'bash' ? step.title : `${step.tool} ${step.title}`}
            </code>
            <span className={`text-xs ${outcome.hasFailed ? 'text-bad' : 'text-faint'}`}>{factsOf(step, outcome)}</span>
          </li>
        )
      })}
    </ul>
  )
}
