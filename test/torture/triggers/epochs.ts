/** Computes from the edits of svc.toml and the clocks which schedule was in force at what time. */
import { expectedSlots, type Schedule } from './expected-slots.ts'

export interface Definition extends Schedule {
  slug: string
  enabled: boolean
}

export interface TriggerRow {
  slug: string
  enabled: boolean
  appeared_at: Date
  next_due_at: Date | null
  last_fired_at: Date | null
  definition: { cron: string; timezone: string }
}

interface Epoch extends Schedule {
  slug: string
  /** In force after this time. */
  from: number
  /** Everything due until this time must be in the ledger; null while the schedule is in force. */
  mustUntil: number | null
  /** Nothing due after this time may be in the ledger. */
  mayUntil: number | null
}

export class Epochs {
  readonly #all: Epoch[] = []
  readonly problems: string[] = []

  /** `from` and `until` bracket the moment a server applied svc.toml to these rows. */
  note(rows: TriggerRow[], { from, until, highest }: { from: number; until: number; highest: number }): void {
    for (const epoch of this.#all.filter(({ mayUntil }) => mayUntil === null)) {
      const row = rows.find(({ slug }) => slug === epoch.slug)
      if (row?.enabled === true && row.appeared_at.getTime() === epoch.from && isOf(row, epoch)) continue
      epoch.mustUntil = from
      epoch.mayUntil = Math.max(until, highest)
    }
    for (const row of rows) {
      if (!row.enabled || this.#all.some(({ slug, mayUntil }) => slug === row.slug && mayUntil === null)) continue
      const appeared = row.appeared_at.getTime()
      if (appeared < from || appeared > until)
        this.problems.push(`${row.slug}: appeared at ${iso(appeared)}, and not from ${iso(from)} to ${iso(until)}`)
      const { cron, timezone } = row.definition
      this.#all.push({ slug: row.slug, cron, timezone, from: appeared, mustUntil: null, mayUntil: null })
    }
  }

  /** The slots that the ledger must contain, and those that it may contain. */
  expected(row: { slug: string; next_due_at: Date | null }, highest: number): { must: Set<number>; may: Set<number> } {
    const must = new Set<number>()
    const may = new Set<number>()
    for (const epoch of this.#all.filter(({ slug }) => slug === row.slug)) {
      const next = row.next_due_at?.getTime() ?? Number.POSITIVE_INFINITY
      const mustUntil = epoch.mustUntil ?? Math.min(next - 1, highest)
      const mayUntil = epoch.mayUntil ?? Math.min(next - 1, highest)
      for (const time of expectedSlots(epoch, epoch.from, Math.max(mustUntil, mayUntil))) {
        if (time <= mustUntil) must.add(time)
        if (time <= mayUntil) may.add(time)
      }
    }
    return { must, may }
  }

  get slugs(): Set<string> {
    return new Set(this.#all.map(({ slug }) => slug))
  }
}

const isOf = ({ definition }: TriggerRow, { cron, timezone }: Epoch) =>
  definition.cron === cron && definition.timezone === timezone
const iso = (time: number) => new Date(time).toISOString()
