/** What users and agents do meanwhile: prompts whose turns end, change requests that close and open again, and readers. */
import { eventsOf } from '../../packages/server/src/testing-events.ts'
import type { FleetServer } from '../fleet/servers.ts'
import type { LiveSession, LoadWorld } from './world.ts'

/** One of so many events is of a change request, the others are ends of turns. */
const everyNth = 6

/** Sends requests so that about `perSecond` events follow, evenly, until the time is over. Returns the failures. */
export async function drive(
  world: LoadWorld,
  { perSecond, seconds, changeRequests }: { perSecond: number; seconds: number; changeRequests: ChangeRequest[] },
): Promise<{ sent: number; failures: string[] }> {
  const failures: string[] = []
  const failed = (error: Error) => void failures.push(error.message)
  const sent: Promise<void>[] = []
  const began = performance.now()
  for (let n = 0; performance.now() - began < seconds * 1000; n++) {
    const at = began + (n * 1000) / perSecond
    if (at > performance.now()) await Bun.sleep(at - performance.now())
    const action = n % everyNth === 0 ? toggle(world, changeRequests[n % changeRequests.length]!) : prompt(world, n)
    sent.push(action.catch(failed))
  }
  await Promise.all(sent)
  return { sent: sent.length, failures }
}

/** So many prompts at once. Returns the failures. */
export async function burst(world: LoadWorld, count: number): Promise<string[]> {
  const failures: string[] = []
  const failed = (error: Error) => void failures.push(error.message)
  await Promise.all(Array.from({ length: count }, (_, n) => prompt(world, n * 31).catch(failed)))
  return failures
}

export interface ChangeRequest {
  cr_id: string
  project_id: string
  isOpen: boolean
}

/** Any server takes it. */
const anyOf = (world: LoadWorld, n: number): FleetServer => world.fleet.servers[n % world.fleet.servers.length]!

async function prompt(world: LoadWorld, n: number): Promise<void> {
  const { project_id, session_id } = world.sessions[(n * 7919) % world.sessions.length]!
  await anyOf(world, n).send('POST', `/v1/projects/${project_id}/sessions/${session_id}/prompt`, { text: 'Go on.' })
}

async function toggle(world: LoadWorld, change: ChangeRequest): Promise<void> {
  const path = `/v1/projects/${change.project_id}/change-requests/${change.cr_id}`
  const verb = change.isOpen ? 'close' : 'reopen'
  change.isOpen = !change.isOpen
  await anyOf(world, change.cr_id.charCodeAt(0)).send('POST', `${path}/${verb}`)
}

/** Readers of project events, each at a server that is not the home of its project. */
export class Readers {
  readonly #over = new AbortController()
  /** From the commit of each event to its arrival, in ms. */
  lags: number[] = []

  static async open(world: LoadWorld, projects: Pick<LiveSession, 'project_id' | 'home'>[]): Promise<Readers> {
    const readers = new Readers()
    await Promise.all(
      projects.map(async ({ project_id, home }, n) => {
        const elsewhere = world.fleet.servers.filter(({ name }) => name !== home)
        await readers.#read(elsewhere[n % elsewhere.length]!, project_id)
      }),
    )
    return readers
  }

  /** Resolves when the stream is ready. */
  async #read(server: FleetServer, projectId: string): Promise<void> {
    const response = await server.api(`/v1/projects/${projectId}/events`, {
      headers: { accept: 'text/event-stream' },
      signal: this.#over.signal,
    })
    const reader = eventsOf(response.body!).getReader()
    await reader.read()
    void this.#take(reader).catch(closed)
  }

  async #take(reader: ReadableStreamDefaultReader<{ data: string; event?: string | undefined }>): Promise<void> {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const event = JSON.parse(next.value.data) as { created_at?: string }
      if (event.created_at !== undefined) this.lags.push(Date.now() - Date.parse(event.created_at))
    }
  }

  close(): void {
    this.#over.abort()
  }
}

/** The readers leave at the end. */
function closed(): void {}
