/** Projects with a trigger, webhooks and agents. All but the first are purged after some minutes and replaced. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Project, Webhook } from '@svc/contract'
import { makeRepo, serveHttpBackend } from '@svc/git/testing'
import { until } from '../../e2e/harness.ts'
import { startReader } from '../events/readers.ts'
import { type Receiver, startReceivers } from '../events/receivers.ts'
import { commitEach, commitFiles } from '../repositories.ts'
import type { RepositoryKind, TortureProject } from '../world.ts'
import { answered, endFired, workInOneSession, workInSessions } from './agents.ts'
import { did, type Soak } from './run.ts'

/** One place of projects, which holds one project at a time. */
export interface Place {
  n: number
  kind: RepositoryKind
  sessions: number
  /** Its project and sessions stay for the whole run. */
  stays: boolean
}

const sessionsPerPlace = 6

/** The first place stays, the last one is a repository on a host. */
export function placesFor(sessions: number): Place[] {
  const count = Math.max(2, Math.ceil(sessions / sessionsPerPlace))
  return Array.from({ length: count }, (_, n) => ({
    ...{ n, stays: n === 0, sessions: Math.floor(sessions / count) + (n < sessions % count ? 1 : 0) },
    kind: n > 1 && n === count - 1 ? 'external' : 'managed',
  }))
}

const manifest = `svc_version = 1

[[triggers]]
slug = "clock"
type = "cron"
cron = "*/3 * * * *"
prompt = "Commit and push clock.txt"

[[triggers]]
slug = "hook"
type = "webhook"
secret_env = "HOOK_SECRET"
prompt = "Commit and push hook.txt"
`

/** Keeps a project in this place until the end of the run. */
export async function keepProject(soak: Soak, place: Place): Promise<void> {
  // Not all of them are replaced at once.
  let lifeMs = soak.pace.projectMs * (place.stays ? Number.POSITIVE_INFINITY : 0.5 + place.n / 8)
  for (let n = 0; !soak.over.aborted; n++) {
    const { project, dispose } = await makeProject(soak, place, n)
    soak.projects.set(place.n, project)
    const old = new AbortController()
    const timer = lifeMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(() => old.abort(), lifeMs)
    lifeMs = soak.pace.projectMs
    const stopped = AbortSignal.any([old.signal, soak.over])
    try {
      await live(soak, { place, project, stopped })
      if (soak.over.aborted) return
      soak.projects.delete(place.n)
      await insisting(soak, soak.over, () => purge(soak, project))
    } finally {
      clearTimeout(timer)
      await dispose()
    }
  }
}

interface Life {
  place: Place
  project: TortureProject
  stopped: AbortSignal
}

async function live(soak: Soak, { place, project, stopped }: Life): Promise<void> {
  const random = soak.random
  const receivers = await startReceivers(random, ['good', 'unsteady'])
  try {
    for (const receiver of receivers) await addWebhook(soak, project, receiver)
    const path = `/v1/projects/${project.id}/events`
    const { ended } = startReader(soak.world.servers, { name: 'a reader', path, random, over: stopped })
    const work = place.stays ? workInOneSession : workInSessions
    await Promise.all([
      ...Array.from({ length: place.sessions }, () => insisting(soak, stopped, () => work(soak, project, stopped))),
      insisting(soak, stopped, () => fire(soak, project, stopped)),
      ended,
    ])
  } finally {
    for (const receiver of receivers) await closeReceiver(soak, receiver)
  }
}

async function makeProject(soak: Soak, { n: place, kind }: Place, n: number) {
  const { world } = soak
  const repo = kind === 'managed' ? null : await makeRepo({ main: { 'README.md': 'hello\n', 'svc.toml': manifest } })
  const host = repo === null ? null : await serveHttpBackend(repo.dir)
  const name = `place-${place}-${n}`
  const body = { name, ...(host === null ? {} : { repo_url: host.url }) }
  const { project_id: id } = answered(await world.insist<Project>('POST', '/v1/projects', body, `new-${name}`), [201])
  const storeDir = join(world.server.dataDir, repo === null ? 'repositories' : 'mirrors', `${id}.git`)
  const project: TortureProject = { kind, id, dir: repo?.dir ?? storeDir, storeDir }
  if (repo === null) {
    await commitEach(storeDir, [{ branch: 'main', file: 'README.md', from: null }])
    await commitFiles(storeDir, { 'svc.toml': manifest })
  }
  const secret = { name: 'HOOK_SECRET', value: `a secret of ${name}` }
  answered(await world.insist('POST', `/v1/projects/${id}/secrets`, secret, `secret-${name}`), [200, 201])
  did(soak, 'projects')
  const dispose = async () => {
    await host?.close()
    await repo?.remove()
  }
  return { project, dispose }
}

async function addWebhook({ world }: Soak, project: TortureProject, receiver: Receiver): Promise<void> {
  const { url, events } = receiver
  const path = `/v1/projects/${project.id}/webhooks`
  const key = `webhook-${project.id}-${receiver.name}`
  const made = answered(await world.insist<Webhook & { secret: string }>('POST', path, { url, events }, key), [201])
  receiver.secret = made.secret
}

async function closeReceiver(soak: Soak, receiver: Receiver): Promise<void> {
  const { letters, name } = receiver
  for (const { isTaken } of letters) did(soak, isTaken === true ? 'deliveries' : 'refused deliveries')
  const forged = letters.filter(({ isGenuine }) => !isGenuine).length
  if (forged > 0)
    soak.problems.push(`${forged} of ${letters.length} deliveries to ${name} were not signed as they have to be`)
  await receiver.close()
}

/** Fires the trigger from time to time, and ends what it began. */
async function fire(soak: Soak, project: TortureProject, stopped: AbortSignal): Promise<void> {
  const path = `/v1/projects/${project.id}/triggers`
  for (let n = 0; !stopped.aborted; n++) {
    await delay(soak.pace.fireMs, null, { signal: stopped }).catch(() => null)
    if (stopped.aborted) break
    await endFired(soak, project)
    // The manifest of a new project is applied a moment after its first push.
    const reply = await soak.world.insist('POST', `${path}/hook/fire`, {}, `fire-${project.id}-${n}`)
    answered(reply, n === 0 ? [202, 404] : [202])
    did(soak, 'firings')
  }
}

/** With its sessions, whether or not some still run. Its repository goes with it. */
async function purge(soak: Soak, project: TortureProject): Promise<void> {
  const path = `/v1/projects/${project.id}?purge=true`
  answered(await soak.world.insist('DELETE', path, null, `purge-${project.id}`), [200, 404])
  await until(`the repository of ${project.id} to go`, () => !existsSync(project.storeDir))
  did(soak, 'purges')
}

/** A failure is a problem, and the work begins again: the others go on as well. */
async function insisting(soak: Soak, stopped: AbortSignal, work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      soak.problems.push(String(error))
    }
    if (stopped.aborted) return
    await delay(1_000)
  }
}
