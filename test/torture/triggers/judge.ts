/** Reads the ledger at the end and returns every inconsistency. */
import type pg from 'pg'
import type { Epochs, TriggerRow } from './epochs.ts'

interface SlotRow {
  slot_id: string
  slug: string
  due_at: Date
  created_at: Date
  fired_at: Date | null
  status: string
  reason: string | null
  caught_up: boolean
  session_id: string | null
}

/** Between these times every clock jumped. */
export interface Leap {
  after: number
  until: number
}

export interface Judgement {
  problems: string[]
  slots: Record<string, number>
  sessions: number
}

export async function judge(
  db: pg.Client,
  input: { projectId: string; epochs: Epochs; leaps: Leap[]; highest: number },
): Promise<Judgement> {
  const { epochs, highest } = input
  const problems = [...epochs.problems]
  const triggers = await readTriggers(db, input.projectId)
  const slots = await read<SlotRow>(db, 'select * from trigger_slots where project_id = $1 order by due_at', input)
  const sessions = await read<{ session_id: string; slot_id: string | null }>(
    db,
    `select session_id, metadata->'trigger'->>'slot_id' as slot_id from project_sessions where project_id = $1`,
    input,
  )
  const events = await read<{ type: string; slot_id: string }>(
    db,
    `select type, data->>'slot_id' as slot_id from project_events where project_id = $1 and type like 'trigger.%'`,
    input,
  )
  const bySlug = Map.groupBy(slots, ({ slug }) => slug)
  for (const slug of new Set([...epochs.slugs, ...bySlug.keys()])) {
    const own = bySlug.get(slug) ?? []
    const row = triggers.find((trigger) => trigger.slug === slug) ?? null
    problems.push(...times(own, epochs.expected({ slug, next_due_at: row?.next_due_at ?? null }, highest), slug))
    problems.push(...catchingUp(own, input.leaps, slug))
    const fired = own.flatMap(({ fired_at }) => (fired_at === null ? [] : [fired_at.getTime()]))
    const last = fired.length === 0 ? null : Math.max(...fired)
    if (row !== null && (row.last_fired_at?.getTime() ?? null) !== last)
      problems.push(`${slug}: says it fired ${row.last_fired_at?.toISOString()}, and did ${last}`)
  }
  problems.push(...fates(slots, sessions, events))
  const count = (fits: (slot: SlotRow) => boolean) => slots.filter(fits).length
  return {
    problems,
    slots: {
      due: slots.length,
      'fired in time': count(({ status, caught_up }) => status === 'fired' && !caught_up),
      'caught up with': count(({ status, caught_up }) => status === 'fired' && caught_up),
      missed: count(({ status, reason }) => status === 'skipped' && isMissed(reason)),
      'skipped for another reason': count(({ status, reason }) => status === 'skipped' && !isMissed(reason)),
    },
    sessions: sessions.length,
  }
}

export function readTriggers(db: pg.Client, projectId: string): Promise<TriggerRow[]> {
  return read<TriggerRow>(db, 'select * from triggers where project_id = $1', { projectId })
}

async function read<Row>(db: pg.Client, statement: string, { projectId }: { projectId: string }): Promise<Row[]> {
  return (await db.query(statement, [projectId])).rows as Row[]
}

function times(slots: SlotRow[], { must, may }: { must: Set<number>; may: Set<number> }, slug: string): string[] {
  const had = new Set(slots.map(({ due_at }) => due_at.getTime()))
  return [
    ...(had.size < slots.length ? [`${slug}: a time has two rows`] : []),
    ...[...must].filter((time) => !had.has(time)).map((time) => `${slug}: ${iso(time)} was due and has no row`),
    ...[...had].filter((time) => !may.has(time)).map((time) => `${slug}: ${iso(time)} has a row and was not due`),
  ]
}

/** At most one of the slots that became due together is fired late, per poll and per jump of the clock. */
function catchingUp(slots: SlotRow[], leaps: Leap[], slug: string): string[] {
  const started = slots.filter(({ reason }) => !isMissed(reason))
  const looks = Map.groupBy(started, ({ created_at }) => created_at.getTime())
  return [
    ...[...looks].filter(([, own]) => own.length > 1).map(([at, own]) => `${slug}: ${own.length} at once, ${iso(at)}`),
    ...leaps.flatMap(({ after, until }) => {
      const own = started.filter(({ due_at }) => due_at.getTime() > after && due_at.getTime() <= until)
      return own.length > 1 ? [`${slug}: ${own.length} caught up with from ${iso(after)} to ${iso(until)}`] : []
    }),
  ]
}

function fates(
  slots: SlotRow[],
  sessions: { session_id: string; slot_id: string | null }[],
  events: { type: string; slot_id: string }[],
): string[] {
  const problems: string[] = []
  const sessionsOf = Map.groupBy(sessions, ({ slot_id }) => slot_id)
  const eventsOf = Map.groupBy(events, ({ slot_id }) => slot_id)
  for (const { slot_id, slug, due_at, status, reason, session_id } of slots) {
    const name = `${slug} ${due_at.toISOString()}`
    const own = sessionsOf.get(slot_id) ?? []
    const isFired = status === 'fired'
    if (own.length !== (isFired ? 1 : 0)) problems.push(`${name}: ${status} with ${own.length} sessions`)
    if (isFired && own[0]?.session_id !== session_id) problems.push(`${name}: names another session than its own`)
    if (status === 'claimed') problems.push(`${name}: still claimed (${reason ?? 'for no reason'})`)
    if (status === 'skipped' && reason === null) problems.push(`${name}: skipped for no reason`)
    const told = (eventsOf.get(slot_id) ?? []).map(({ type }) => type).join()
    if (told !== (isFired ? 'trigger.fired' : 'trigger.missed')) problems.push(`${name}: ${status}, told of as ${told}`)
  }
  const known = new Set(slots.map(({ slot_id }) => slot_id))
  for (const { session_id, slot_id } of sessions)
    if (slot_id === null || !known.has(slot_id)) problems.push(`session ${session_id} belongs to no slot`)
  return problems
}

const isMissed = (reason: string | null) => reason?.startsWith('missed: ') === true
const iso = (time: number) => new Date(time).toISOString()
