/** Harms that change the home of projects: a move with a server killed in between, a drained server, and one lost with its disk. */
import { setTimeout as delay } from 'node:timers/promises'
import type { ErrorBody, ProjectHome } from '@svc/contract'
import { withClient } from '../../../packages/server/src/db/testing-cluster.ts'
import { removeFolder, until } from '../../e2e/harness.ts'
import type { Fleet, FleetProject, FleetServer } from './fleet.ts'
import { count, type Run } from './run.ts'

/** A move waits for agents that work, which are busy for seconds here. */
const movedMs = 120_000
const patientMs = 15_000

/** What `POST /v1/servers/:name/take-over` answers. */
interface TakenOver {
  projects: { slug: string; outcome: string; missing: object[] }[]
  remaining: number
}

const pick = <Item>({ random }: Run, from: readonly Item[]): Item => from[Math.floor(random() * from.length)]!

let serial = 0

/** Nobody, its old home, or its new one is killed while it moves. */
export async function homeMoved(run: Run): Promise<void> {
  const { fleet, harmed } = run
  const project = pick(run, fleet.projects)
  const from = project.home
  const to = pick(
    run,
    fleet.servers.filter((server) => server !== from),
  )
  harmed.add(from)
  const asked = await fleet.world.insist<ProjectHome & ErrorBody>(
    'POST',
    `/v1/projects/${project.id}/home`,
    { server: to.name, force: run.random() < 0.3 },
    `move-${++serial}`,
  )
  if (asked.status !== 202) throw new Error(`the move was refused: ${JSON.stringify(asked)}`)
  const victim = pick(run, [null, from, to])
  await delay(run.random() * 3_000)
  if (victim !== null) {
    harmed.add(victim)
    await victim.server.kill('SIGKILL')
    await delay(run.random() * 3_000)
    await fleet.start(victim)
  }
  // The agents here hardly ever rest, and a move waits for them. An operator who has waited forces it.
  const patient = performance.now() + patientMs
  const ended = async () => {
    const found = await endedMove(fleet, project)
    if (found === null && performance.now() > patient) await forceMove(fleet, project)
    return found
  }
  const { phase } = await until('the move to end', ended, movedMs)
  count(run.ledger.counts, phase === 'done' ? 'move' : 'move undone')
  await findHomes(fleet)
}

async function endedMove({ world }: Fleet, { id }: FleetProject) {
  const { body } = await world.insist<ProjectHome>('GET', `/v1/projects/${id}/home`, null, `home-${++serial}`)
  return body.move?.ended_at === null ? null : body.move
}

/** As for an upgrade of its machine: it is stopped once nothing is at home there, and comes back empty. */
export async function serverDrained(run: Run): Promise<void> {
  const { fleet, harmed } = run
  const drained = pick(run, fleet.servers)
  harmed.add(drained)
  await drain(fleet, drained, { off: false })
  // As above.
  const patient = performance.now() + patientMs
  await until(
    'the server to be the home of nothing',
    async () => {
      await findHomes(fleet)
      const left = fleet.projects.filter(({ home }) => home === drained)
      if (performance.now() > patient) for (const project of left) await forceMove(fleet, project)
      return left.length === 0
    },
    movedMs,
  )
  await drained.server.kill('SIGTERM')
  await fleet.start(drained)
  await drain(fleet, drained, { off: true })
}

async function forceMove({ world }: Fleet, { id }: FleetProject): Promise<void> {
  const path = `/v1/projects/${id}/home`
  const { body } = await world.insist<ProjectHome>('GET', path, null, `home-${++serial}`)
  if (body.move === null || body.move.ended_at !== null || body.move.force) return
  const forced = { server: body.move.to, force: true }
  // 409: it has ended meanwhile.
  const { status } = await world.insist('POST', path, forced, `move-${++serial}`)
  if (status !== 202 && status !== 409) throw new Error(`a forced move answered ${status}`)
}

async function drain({ world }: Fleet, { name }: FleetServer, body: { off: boolean }): Promise<void> {
  const { status } = await world.insist('POST', `/v1/servers/${name}/drain`, body, `drain-${++serial}`)
  if (status !== 200) throw new Error(`drain of ${name} answered ${status}`)
}

/** Its machine is gone with its disk. The others take its projects over, and a new machine gets its name. */
export async function serverLost(run: Run): Promise<void> {
  const { fleet, harmed, victims } = run
  const lost = pick(run, fleet.servers)
  harmed.add(lost)
  await until('every project to have a copy', () => hasCopies(fleet), movedMs)
  await lost.server.kill('SIGKILL')
  for (const id of await sandboxesAt(fleet, lost)) victims.set(id, 'server')
  await fleet.sandboxes.endWithMachine(lost)
  await removeFolder(lost.server.dataDir)
  await takeOver(fleet, lost)
  await findHomes(fleet)
  await fleet.start(lost)
}

async function hasCopies({ world }: Fleet): Promise<boolean> {
  const { body } = await world.insist<{ projects: object[] }>('GET', '/v1/copies', null, `copies-${++serial}`)
  return body.projects.length === 0
}

async function sandboxesAt({ database }: Fleet, { name }: FleetServer): Promise<string[]> {
  const { rows } = await withClient(database.url, (client) =>
    client.query<{ sandbox_id: string }>(
      `select sandbox_id from session_sandboxes join project_sessions using (session_id)
       join projects using (project_id) where home = $1 and session_sandboxes.status in ('provisioning', 'active')`,
      [name],
    ),
  )
  return rows.map((row) => row.sandbox_id)
}

/** It is refused until the heartbeat of the lost server is old enough. */
async function takeOver({ world }: Fleet, { name }: FleetServer): Promise<void> {
  const path = `/v1/servers/${name}/take-over`
  const { projects } = await until(
    `${name} to be taken over`,
    async () => {
      const reply = await world.insist<TakenOver>('POST', path, {}, `take-over-${++serial}`)
      if (reply.status === 409) return null
      if (reply.status !== 200) throw new Error(`the take-over answered ${JSON.stringify(reply)}`)
      return reply.body.remaining === 0 ? reply.body : null
    },
    movedMs,
  )
  const lossy = projects.filter(({ outcome, missing }) => outcome !== 'taken' || missing.length > 0)
  if (lossy.length > 0) throw new Error(`the take-over of ${name} would lose: ${JSON.stringify(lossy)}`)
}

/** Where each project is at home now. */
export async function findHomes({ database, projects, servers }: Fleet): Promise<void> {
  const { rows } = await withClient(database.url, (client) =>
    client.query<{ project_id: string; home: string }>('select project_id, home from projects'),
  )
  for (const project of projects) {
    const row = rows.find(({ project_id }) => project_id === project.id)!
    project.home = servers.find(({ name }) => name === row.home)!
  }
}
