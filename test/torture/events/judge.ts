/** Compares the clients' operations, the database, the events that readers saw and the deliveries that receivers got. */
import { isDeepStrictEqual } from 'node:util'
import { wantsEvent } from '@svc/contract'
import type pg from 'pg'
import type { Act } from './acts.ts'
import type { Reader } from './readers.ts'
import type { Receiver } from './receivers.ts'

export interface EventRow {
  number: number
  type: string
  data: { cr_id?: string; title?: string; changed?: string[] }
}

export async function readEvents(db: pg.Client, projectId: string): Promise<EventRow[]> {
  const statement = 'select number, type, data from project_events where project_id = $1 order by number nulls last'
  return (await db.query<EventRow>(statement, [projectId])).rows.map((row) => ({ ...row, number: Number(row.number) }))
}

/** Each acknowledged operation has one event, and the numbers have no gap. */
export function judgeEvents(events: EventRow[], acts: Act[]): string[] {
  const problems: string[] = []
  for (const [index, { number }] of events.entries())
    if (number !== index + 1) problems.push(`event ${index + 1} of the database has the number ${number}`)
  const key = ({ type, crId, title }: Act) => `${type} ${crId} ${title ?? ''}`
  const told = events.map(({ type, data }) => {
    const isNamed = type === 'change_request.updated' && data.changed?.includes('title') === true
    return key({ type, crId: data.cr_id ?? '', ...(isNamed ? { title: data.title ?? '' } : {}) })
  })
  const counts = Map.groupBy(told, (each) => each)
  for (const act of acts) {
    const times = counts.get(key(act))?.length ?? 0
    if (times !== 1) problems.push(`${key(act)} was done once and told ${times} times`)
  }
  return problems
}

export function judgeReader({ name, events: seen, problems }: Reader, events: EventRow[]): string[] {
  const found = [...problems]
  if (seen.size !== events.length) found.push(`${name} saw ${seen.size} of ${events.length} events`)
  for (const { number, type, data } of events) {
    const event = seen.get(number) as { type?: string; data?: object } | undefined
    if (event?.type !== type || !isDeepStrictEqual(event.data, data))
      found.push(`${name} saw ${JSON.stringify(event)} where ${number} is ${type}`)
  }
  return found
}

/** Delivered at least once, in order, under one id, and signed. */
export function judgeReceiver(receiver: Receiver, events: EventRow[], feed: Map<number, object>): string[] {
  const { name, letters } = receiver
  const problems: string[] = []
  const wanted = events.filter(({ type }) => wantsEvent(receiver.events, type)).map(({ number }) => number)
  const ids = new Map<number, string>()
  let next = 0
  for (const letter of letters) {
    if (!letter.isGenuine) problems.push(`${name}: the signature of ${letter.id} (${letter.type}) is not genuine`)
    if (!isDeepStrictEqual(letter.event, feed.get(letter.id)))
      problems.push(`${name}: ${letter.id} was sent as ${JSON.stringify(letter.event)}, and is another in the feed`)
    const known = ids.get(letter.id) ?? letter.deliveryId
    ids.set(letter.id, known)
    if (known !== letter.deliveryId) problems.push(`${name}: ${letter.id} came under ${known} and ${letter.deliveryId}`)
    // Either the next one, or the last one again when its sender died before it recorded the delivery.
    const [due, before] = [wanted[next], wanted[next - 1]]
    if (letter.id !== due && letter.id !== before)
      problems.push(`${name}: ${letter.id} was sent where ${due} was to come`)
    if (letter.id === due && letter.isTaken === true) next++
  }
  if (next < wanted.length)
    problems.push(`${name}: ${wanted.length - next} of ${wanted.length} events were never taken`)
  return problems
}

export function repeats({ letters }: Receiver): number {
  const taken = letters.filter(({ isTaken }) => isTaken === true)
  return taken.length - new Set(taken.map(({ id }) => id)).size
}
