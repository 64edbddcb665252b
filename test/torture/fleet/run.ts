/** What the parts of a run of the fleet share. */
import type { Process } from '../sandbox-leaks.ts'
import type { Fleet, FleetProject, FleetServer } from './fleet.ts'

export interface Run {
  fleet: Fleet
  random: () => number
  /** A tenth of the usual durations, for a run of a minute. */
  isBrief: boolean
  ledger: Ledger
  gate: Gate
  /** Servers that are harmed at this moment, or recover. */
  harmed: Set<FleetServer>
  /** Processes of sandboxes. */
  seen: Process[]
  /** What was killed in a sandbox, by its id. */
  victims: Map<string, string>
  problems: string[]
}

/** What servers acknowledged. */
export interface Ledger {
  pushes: { project: FleetProject; branch: string; sha: string }[]
  sessions: LedgerSession[]
  fired: { project: FleetProject; sessionId: string }[]
  counts: Record<string, number>
}

export interface LedgerSession {
  project: FleetProject
  id: string
  path: string
  prompts: { id: string; text: string }[]
  saved: string[]
}

export const newLedger = (): Ledger => ({ pushes: [], sessions: [], fired: [], counts: {} })

export function count(counts: Record<string, number>, what: string): void {
  counts[what] = (counts[what] ?? 0) + 1
}

/** Clients begin nothing while it is closed. */
export class Gate {
  #opened = Promise.withResolvers<void>()
  #isOpen = false
  /** What clients are doing, by the number of the client. */
  readonly busy = new Map<number, string>()

  open(): void {
    this.#isOpen = true
    this.#opened.resolve()
  }

  close(): void {
    if (this.#isOpen) this.#opened = Promise.withResolvers<void>()
    this.#isOpen = false
  }

  get passed(): Promise<void> {
    return this.#opened.promise
  }
}
