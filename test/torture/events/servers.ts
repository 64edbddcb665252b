/** Kills real servers on one database while clients act, readers follow and receivers get deliveries. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Webhook } from '@svc/contract'
import type pg from 'pg'
import { withClient } from '../../../packages/server/src/db/testing-cluster.ts'
import { keepKilling, type Kills } from '../lives.ts'
import { sharedTortureProgram } from '../program.ts'
import { randomFrom } from '../random.ts'
import { withPostgres, withServers } from '../run.ts'
import { pointsOf } from '../scenarios.ts'
import type { World } from '../world.ts'
import { type Act, act } from './acts.ts'
import { judgeEvents, judgeReader, judgeReceiver, readEvents, repeats } from './judge.ts'
import { startReader } from './readers.ts'
import { type Receiver, startReceivers } from './receivers.ts'

export interface EventsOptions {
  /** Runs until enough events happened and enough servers died. */
  events: number
  killsMin?: number
  seed: number
  servers: number
  clients: number
  readers: number
  lifeMs: { min: number; max: number }
  killsMax?: number | undefined
  say?: (line: string) => void
}

export interface EventsReport {
  events: number
  acknowledged: number
  kills: Kills
  connections: number
  letters: Record<string, { sent: number; taken: number; twice: number }>
  problems: string[]
}

const drainMs = 180_000

export async function tortureEvents(options: EventsOptions): Promise<EventsReport> {
  const random = randomFrom(options.seed)
  const receivers = await startReceivers(random)
  const program = await sharedTortureProgram()
  try {
    return await withPostgres((databaseUrl) => {
      const shared = { databaseUrl, ...program }
      // Connected before the servers, which take all the connections that PostgreSQL has.
      return withClient(databaseUrl, (db) =>
        withServers({ kinds: ['managed'], count: options.servers, shared }, (world) =>
          torture(world, { db, receivers, random, options }),
        ),
      )
    })
  } finally {
    for (const receiver of receivers) await receiver.close()
  }
}

interface Run {
  db: pg.Client
  receivers: Receiver[]
  random: () => number
  options: EventsOptions
}

async function torture(world: World, { db, receivers, random, options }: Run): Promise<EventsReport> {
  const project = world.projects[0]!
  const path = `/v1/projects/${project.id}`
  for (const receiver of receivers) {
    const { url, events } = receiver
    const made = await world.ask<Webhook & { secret: string }>('POST', `${path}/webhooks`, { url, events })
    if (made.status !== 201) throw new Error(`no webhook: ${JSON.stringify(made)}`)
    receiver.webhookId = made.body.webhook_id
    receiver.secret = made.body.secret
  }
  const [enough, over] = [new AbortController(), new AbortController()]
  const acts: Act[] = []
  const readers = Array.from({ length: options.readers }, (_, n) =>
    startReader(world.servers, { name: `reader ${n}`, path: `${path}/events`, random, over: over.signal }),
  )
  const killing = keepKilling(world.servers, {
    ...{ random, points: pointsOf('events'), over: enough.signal, lifeMs: options.lifeMs, killsMax: options.killsMax },
  })
  const clients = Promise.all(
    Array.from({ length: options.clients }, () => act(world, project, { random, acts, enough: enough.signal })),
  )
  const last = async () => {
    const { rows } = await db.query<{ last: string }>(
      'select coalesce(max(last), 0) as last from project_event_counters where project_id = $1',
      [project.id],
    )
    return Number(rows[0]!.last)
  }
  let said = 0
  while ((await last()) < options.events || killing.kills.total < (options.killsMin ?? 0)) {
    // A failure of any part ends the run.
    await Promise.race([delay(1_000), clients, killing.failed])
    if (++said % 30 === 0) options.say?.(`${await last()} events, ${killing.kills.total} kills`)
  }
  enough.abort()
  await killing.ended
  for (const server of world.servers) if (!server.isRunning) await server.start()
  await clients
  for (const receiver of receivers) receiver.behave()
  const owed = await drained(db, { projectId: project.id, readers: readers.map(({ reader }) => reader), last })
  over.abort()
  await Promise.all(readers.map(({ ended }) => ended))
  const events = await readEvents(db, project.id)
  const feed = readers[0]!.reader.events
  return {
    ...{ events: events.length, acknowledged: acts.length, kills: killing.kills },
    connections: readers.reduce((sum, { reader }) => sum + reader.connections, 0),
    letters: Object.fromEntries(
      receivers.map((receiver) => {
        const { name, letters } = receiver
        const taken = letters.filter(({ isTaken }) => isTaken === true).length
        return [name, { sent: letters.length, taken, twice: repeats(receiver) }]
      }),
    ),
    problems: [
      ...owed,
      ...judgeEvents(events, acts),
      ...readers.flatMap(({ reader }) => judgeReader(reader, events)),
      ...receivers.flatMap((receiver) => judgeReceiver(receiver, events, feed)),
    ],
  }
}

/** Every receiver behaves from here on, so pending deliveries arrive soon or never. */
async function drained(
  db: pg.Client,
  input: { projectId: string; readers: { name: string; last: number }[]; last: () => Promise<number> },
): Promise<string[]> {
  const deadline = performance.now() + drainMs
  for (;;) {
    const last = await input.last()
    const { rows } = await db.query<{ url: string; cursor: string }>(
      'select url, cursor from webhooks where project_id = $1 and cursor < $2',
      [input.projectId, last],
    )
    const behind = [
      ...rows.map(({ url, cursor }) => `the webhook ${url} is at ${cursor} of ${last}`),
      ...input.readers
        .filter((reader) => reader.last < last)
        .map((each) => `${each.name} is at ${each.last} of ${last}`),
    ]
    if (behind.length === 0) return []
    if (performance.now() > deadline) return behind.map((what) => `${what} after ${drainMs / 1000} s`)
    await delay(200)
  }
}
