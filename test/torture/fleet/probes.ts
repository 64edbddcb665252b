/** Reads every project through the balancer all the time, and keeps how long each answer took. */
import { setTimeout as delay } from 'node:timers/promises'
import type { FleetServer } from './fleet.ts'
import { count, type Run } from './run.ts'

const probeHeader = 'x-torture-probe'
const pauseMs = 100
const answerMsMax = 60_000
const samplesMax = 20

export class Probes {
  readonly #taken: { of: string; ms: number }[] = []
  /** Null: nothing counts. */
  round: { kind: string; number: number } | null = null
  readonly refused: Record<string, number> = {}
  /** The first of each kind, to be looked at. */
  readonly samples: Record<string, string[]> = {}

  /** Requests about a harmed home, or that came in at a harmed server, are left out. */
  async keep({ fleet, harmed, gate }: Run, over: AbortSignal): Promise<void> {
    const entrances = new Map<string, FleetServer>()
    fleet.balancer.onChoice = (request, url) => {
      const probe = request.headers[probeHeader]
      const server = fleet.servers.find((each) => each.server.url === url)
      if (typeof probe === 'string' && server !== undefined) entrances.set(probe, server)
    }
    const isAffected = (id: string, homes: FleetServer[]) => {
      const entrance = entrances.get(id)
      return entrance === undefined || harmed.has(entrance) || homes.some((home) => harmed.has(home))
    }
    const read = async (n: number) => {
      const project = fleet.projects[n]!
      for (let asked = 0; !over.aborted; asked++) {
        await gate.passed
        const id = `${n}-${asked}`
        const { round } = this
        const { home } = project
        const began = performance.now()
        const path = `/v1/projects/${project.id}${asked % 2 === 0 ? '' : '/branches'}`
        const headers = { authorization: `Bearer ${project.home.server.token}`, [probeHeader]: id }
        const answer = await fetch(fleet.balancer.url + path, {
          headers,
          signal: AbortSignal.timeout(answerMsMax),
        }).then(readWhole, (error: Error) => ({ status: 0, text: error.message }))
        // Its home may have changed meanwhile.
        const isCounted = round !== null && round === this.round && !isAffected(id, [home, project.home])
        const entrance = entrances.get(id)?.name
        entrances.delete(id)
        const ms = performance.now() - began
        if (isCounted && answer.status === 200) this.#taken.push({ of: round.kind, ms })
        else if (isCounted) {
          count(this.refused, round.kind)
          const names = `round ${round.number}, ${new Date().toISOString()}, in at ${entrance}, home ${home.name}, after ${Math.round(ms)} ms`
          const samples = (this.samples[round.kind] ??= [])
          if (samples.length < samplesMax)
            samples.push(`${path} (${names}): ${answer.status} ${answer.text.slice(0, 200)}`)
        }
        await delay(pauseMs)
      }
    }
    await Promise.all(fleet.projects.map((_, n) => read(n)))
  }

  of(round: string): { count: number; p50: number; p99: number } {
    const sorted = this.#taken.filter(({ of }) => of === round).map(({ ms }) => ms)
    sorted.sort((a, b) => a - b)
    const at = (part: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0)
    return { count: sorted.length, p50: at(0.5), p99: at(0.99) }
  }
}

async function readWhole(response: Response): Promise<{ status: number; text: string }> {
  return { status: response.status, text: await response.text() }
}
