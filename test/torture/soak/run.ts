/** What the parts of a soak share: how long things take, what was done, and what the harness itself broke and when. */
import type { TortureProject, World } from '../world.ts'

export interface Pace {
  runMs: number
  warmUpMs: number
  sampleMs: number
  restartMs: number
  /** How long a project lives before it is purged and replaced. */
  projectMs: number
  /** Between two prompts of a session. */
  pauseMs: { min: number; max: number }
  fireMs: number
}

export interface Soak {
  world: World
  random: () => number
  pace: Pace
  sessions: number
  projects: Map<number, TortureProject>
  /** How often each thing was done. */
  done: Record<string, number>
  outages: Outages
  problems: string[]
  over: AbortSignal
}

export function did(soak: Soak, what: string): void {
  soak.done[what] = (soak.done[what] ?? 0) + 1
}

export interface Outage {
  how: 'SIGTERM' | 'SIGKILL'
  fromMs: number
  toMs: number
}

/** A server that has just answered still takes over sandboxes, and clients still get what the earlier one broke. */
const recoveryMs = 15_000

/** When the server was stopped by the harness, and until when that explains an error. */
export class Outages {
  readonly all: Outage[] = []

  /** `answered`: when the next server was ready. Until then the outage goes on. */
  begin(how: Outage['how']): { answered(): void } {
    const outage: Outage = { how, fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY }
    this.all.push(outage)
    return { answered: () => (outage.toMs = Date.now()) }
  }

  explains(fromMs: number, toMs = fromMs): boolean {
    return this.all.some((outage) => fromMs < outage.toMs + recoveryMs && toMs > outage.fromMs)
  }
}
