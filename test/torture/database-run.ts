import { setTimeout as delay } from 'node:timers/promises'
import { check } from './check.ts'
import { doHarm, type Harm, harms } from './database-harm.ts'
import { startClients } from './kills.ts'
import { randomFrom } from './random.ts'
import type { World } from './world.ts'

/**
 * The longest time from the harm to each server's first response that needs the database. A longer wait is a hang, however slow
 * the machine is.
 */
const recoveryMsMax = 60_000
/** Cutting locks is cheapest and hits most often, so every second harm does it. */
const turns: Harm[] = ['killed', 'cut', 'crashed', 'cut', 'frozen', 'cut']
const restMs = { min: 100, max: 1_500 }

export interface DatabaseReport {
  problems: string[]
  harmed: Record<Harm, number>
  merged: number
  acknowledged: number
  outsidePushes: number
  /** The times until every server responded again, by kind of harm. */
  recoveryMs: Partial<Record<Harm, { median: number; slowest: number }>>
}

/** Needs running servers. A server that exits is a problem, since none is restarted. */
export async function tortureDatabase(
  world: World,
  options: {
    database: { dataDir: string; url: string }
    count: number
    seed: number
    perProject: number
    say?: (line: string) => void
  },
): Promise<DatabaseReport> {
  const random = randomFrom(options.seed)
  const enough = new AbortController()
  const problems: string[] = []
  const harmed = { killed: 0, crashed: 0, restarted: 0, frozen: 0, cut: 0 }
  const took: Record<Harm, number[]> = { killed: [], crashed: [], restarted: [], frozen: [], cut: [] }
  const clients = startClients(world, { perProject: options.perProject, enough: enough.signal, random })
  const harming = (async () => {
    let done = 0
    while (done < options.count) {
      const harm = turns[done % turns.length]!
      await delay(restMs.min + random() * (restMs.max - restMs.min))
      if (!(await doHarm(harm, options.database))) continue
      harmed[harm]++
      done++
      const began = performance.now()
      const stuck = await untilAllAnswer(world)
      problems.push(...stuck.map((what) => `after it was ${harm}: ${what}`))
      if (stuck.length > 0) return
      took[harm].push(performance.now() - began)
      world.history.write({ kind: 'harm', harm, recoveryMs: took[harm].at(-1)! })
      if (done % 20 === 0) options.say?.(`${done} times harmed`)
    }
  })().finally(() => enough.abort())
  await Promise.race([harming, clients.then(() => harming)])
  await clients
  const findings = await check(world)
  const recoveryMs: DatabaseReport['recoveryMs'] = {}
  for (const harm of harms) {
    const sorted = took[harm].toSorted((a, b) => a - b).map(Math.round)
    if (sorted.length > 0)
      recoveryMs[harm] = { median: sorted[Math.floor(sorted.length / 2)]!, slowest: sorted.at(-1)! }
  }
  const { violations, merged, acknowledged, outsidePushes } = findings
  return { problems: [...problems, ...violations], harmed, merged, acknowledged, outsidePushes, recoveryMs }
}

/** Asks each server for something that needs the database. Meanwhile it may only refuse with 503. */
async function untilAllAnswer(world: World): Promise<string[]> {
  const deadline = Date.now() + recoveryMsMax
  const problems: string[] = []
  for (const [n, server] of world.servers.entries()) {
    for (;;) {
      if (!server.isRunning) return [...problems, `server ${n + 1} ended: ${server.output.slice(-1000)}`]
      const response = await fetch(`${server.url}/v1/projects`, {
        headers: { authorization: `Bearer ${server.token}` },
        signal: AbortSignal.timeout(recoveryMsMax),
      }).catch((error: Error) => error)
      if (response instanceof Error) return [...problems, `server ${n + 1}: ${response.message}`]
      const body = await response.text()
      if (response.ok) break
      if (response.status !== 503 || response.headers.get('retry-after') === null)
        problems.push(`server ${n + 1} answered ${response.status} ${body}`)
      if (Date.now() > deadline) return [...problems, `server ${n + 1} is still away: ${body}`]
      await delay(20)
    }
  }
  return problems
}
