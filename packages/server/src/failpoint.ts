/**
 * Named points at which a test can end, delay or fail a server that runs from source:
 * `SVC_FAILPOINTS=merge.after_push=kill@2,open.before_row=throw`. A global function, since the build can drop calls
 * of one (`--drop`): the built program contains neither the calls nor their names.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

declare global {
  /** Does nothing unless a test has armed the point of this name. */
  function failpoint(name: string): Promise<void>
}

declare const SVC_RELEASE: boolean | undefined

/** `pause` creates the file when it is reached and continues when the file is removed. */
type Action = { kind: 'kill' } | { kind: 'throw' } | { kind: 'delay'; ms: number } | { kind: 'pause'; file: string }

export interface Failpoint {
  name: string
  action: Action
  /** Acts at this hit only; null: at every hit. */
  at: number | null
}

export class FailpointError extends Error {
  constructor(name: string) {
    super(`The failpoint ${name} is set to fail.`)
    this.name = 'FailpointError'
  }
}

/** The points, or a description of what is wrong with the text. */
export function parseFailpoints(text: string): Failpoint[] | string {
  if (typeof SVC_RELEASE === 'boolean') return 'only works in a server that runs from source'
  const points: Failpoint[] = []
  for (const part of text.split(',')) {
    const [, name = '', written = '', at] = /^([a-z]+(?:\.[a-z_]+)+)=(.+?)(?:@([1-9]\d{0,8}))?$/.exec(part.trim()) ?? []
    const action = parseAction(written)
    if (action === null)
      return 'must be a list of <name>=kill|throw|delay:<ms>|pause:<file>, each optionally with @<hit>'
    points.push({ name, action, at: at === undefined ? null : Number(at) })
  }
  return points
}

function parseAction(written: string): Action | null {
  if (written === 'kill' || written === 'throw') return { kind: written }
  const [, ms] = /^delay:(\d{1,6})$/.exec(written) ?? []
  if (ms !== undefined) return { kind: 'delay', ms: Number(ms) }
  const [, file] = /^pause:(\/.+)$/.exec(written) ?? []
  return file === undefined ? null : { kind: 'pause', file }
}

/** Armed per process, as a kill ends one process. */
let armed: Failpoint[] = []
const hits = new Map<string, number>()

export function armFailpoints(points: Failpoint[]): void {
  armed = points
  hits.clear()
}

async function reach(name: string): Promise<void> {
  if (armed.length === 0) return
  const hit = (hits.get(name) ?? 0) + 1
  hits.set(name, hit)
  for (const point of armed)
    if (point.name === name && (point.at === null || point.at === hit)) await act(point.name, point.action)
}

const lookEveryMs = 5

async function act(name: string, action: Action): Promise<void> {
  switch (action.kind) {
    case 'kill':
      process.kill(process.pid, 'SIGKILL')
      // The signal is on its way, and nothing after this line may run.
      return new Promise(() => {})
    case 'throw':
      throw new FailpointError(name)
    case 'delay':
      return delay(action.ms)
    case 'pause':
      writeFileSync(action.file, name)
      while (existsSync(action.file)) await delay(lookEveryMs)
      return
    default:
      return action satisfies never
  }
}

if (typeof SVC_RELEASE !== 'boolean') globalThis.failpoint = reach
