/** Creates, prompts, stops, restarts and deletes sessions while everything below them is killed. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Message, Session } from '@svc/contract'
import { type Process, processesInSandboxes } from './sandbox-leaks.ts'
import { isOfSandbox, killInSandbox, victimKinds } from './sandbox-victims.ts'
import { pointsOf } from './scenarios.ts'
import type { TortureServer } from './server.ts'
import type { TortureProject, World } from './world.ts'

/** How long a session may take after the last event that affected it. */
const settledMs = 60_000
/** Longer than the pause between two servers, so that the next one finds the sandboxes. */
const leaseSeconds = 120
const statusesThatRest = new Set<string>(['running', 'stopped', 'failed'])

export interface ChaosReport {
  cycles: number
  kills: Record<string, number>
  /** Failpoints at which a server died. */
  points: Set<string>
  settledMs: number[]
  warm: number
  problems: string[]
  /** Every process that ran in a sandbox. */
  seen: Process[]
}

interface Chaos {
  world: World
  server: TortureServer
  report: ChaosReport
  /** The last start of the server: earlier events do not count. */
  disturbedAt: number
  /** One client and no kills in sandboxes; otherwise there is never enough quiet to keep a sandbox warm. */
  isCalm: boolean
  ended: boolean
}

export async function sessionChaos(
  world: World,
  options: { cycles: number; workers: number; random: () => number; killServers: boolean },
): Promise<ChaosReport> {
  const report: ChaosReport = {
    cycles: 0,
    kills: {},
    points: new Set(),
    settledMs: [],
    warm: 0,
    problems: [],
    seen: [],
  }
  const chaos: Chaos = { world, server: world.server, report, disturbedAt: Date.now(), isCalm: false, ended: false }
  let left = options.cycles
  const disturbing = Promise.all([
    options.killServers ? killServers(chaos, options.random) : Promise.resolve(),
    killInside(chaos, options.random),
  ])
  const work = async (worker: number) => {
    while (left > 0) {
      const n = left--
      await quiet(chaos, worker)
      const project = world.projects[n % world.projects.length]!
      await cycle(chaos, project, n, options.random).catch((error: unknown) => {
        report.problems.push(`cycle ${n}: ${String(error)}`)
      })
      report.cycles++
    }
  }
  await Promise.all(Array.from({ length: options.workers }, (_, worker) => work(worker)))
  chaos.ended = true
  await disturbing
  return report
}

/** During a calm, the first client continues once a sandbox is warm, the others at the end of the calm. */
async function quiet(chaos: Chaos, worker: number): Promise<void> {
  const deadline = Date.now() + 12_000
  const hasWarm = () => chaos.server.output.includes('a warm sandbox is ready')
  while (chaos.isCalm && Date.now() < deadline && (worker > 0 || !hasWarm()) && chaos.server.isRunning) await delay(50)
}

async function cycle(chaos: Chaos, project: TortureProject, n: number, random: () => number): Promise<void> {
  const { world, report } = chaos
  const sessions = `/v1/projects/${project.id}/sessions`
  const wishes = random() < 0.3 ? { initial_prompt: `Begin ${n}.` } : {}
  const made = await world.insist<Session>('POST', sessions, { name: `cycle ${n}`, ...wishes }, `make-${n}`)
  if (made.status !== 201) throw new Error(`not made: ${made.status} ${JSON.stringify(made.body)}`)
  const path = `${sessions}/${made.body.session_id}`
  await settled(chaos, path)
  const { body: timeline } = await world.insist<{ phases?: { name: string }[] }>(
    'GET',
    `${path}/timeline`,
    null,
    `t-${n}`,
  )
  if (timeline.phases?.[0]?.name === 'claim') report.warm++
  for (let act = 0; act < 1 + Math.floor(random() * 3); act++) {
    const verb = ['prompt', 'restart', 'stop', 'refresh'][Math.floor(random() * 4)]!
    const body = verb === 'prompt' ? { text: `Prompt ${act} of ${n}.` } : null
    const reply = await world.insist('POST', `${path}/${verb}`, body, `${verb}-${n}-${act}`)
    if (![200, 202, 409].includes(reply.status))
      throw new Error(`${verb}: ${reply.status} ${JSON.stringify(reply.body)}`)
    await settled(chaos, path)
  }
  await noPromptTwice(chaos, path)
  // Some stay, so that the end has something to check.
  if (random() < 0.1) return
  const gone = await world.insist('DELETE', path, null, `delete-${n}`)
  if (gone.status !== 200 && gone.status !== 404) throw new Error(`delete: ${gone.status} ${JSON.stringify(gone.body)}`)
  const after = await world.insist('GET', path, null, `look-${n}`)
  if (after.status !== 404) throw new Error(`deleted, and still there: ${after.status}`)
}

/** A prompt that a server delivered and did not record is delivered again, and must not run again. */
async function noPromptTwice({ world }: Chaos, path: string): Promise<void> {
  const { body } = await world.insist<{ messages: Message[] }>('GET', `${path}/transcript`, null, `read-${path}`)
  const texts = body.messages
    .filter(({ role }) => role === 'user')
    .map(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
  const twice = texts.find((text, at) => text !== '' && texts.indexOf(text) !== at)
  if (twice !== undefined) throw new Error(`${path} has a prompt twice: ${twice}`)
}

async function settled(chaos: Chaos, path: string): Promise<Session> {
  const began = Date.now()
  for (;;) {
    const { status, body } = await chaos.world.insist<Session>('GET', path, null, `look-${path}-${Date.now()}`)
    if (status !== 200) throw new Error(`${path}: ${status}`)
    if (statusesThatRest.has(body.status)) {
      if (body.status === 'failed' && !body.error) throw new Error(`${path} failed and does not say why`)
      chaos.report.settledMs.push(Date.now() - Math.max(began, chaos.disturbedAt))
      return body
    }
    if (Date.now() - Math.max(began, chaos.disturbedAt) > settledMs)
      throw new Error(`${path} is ${body.status} for more than ${settledMs / 1000} s`)
    await delay(50)
  }
}

/** Kills the server, either at a step of a session's life or at any moment, and restarts it. */
async function killServers(chaos: Chaos, random: () => number): Promise<void> {
  const { server, report } = chaos
  const points = [...pointsOf('sessions'), ...pointsOf('sandboxes')]
  const waiting: string[] = []
  while (!chaos.ended) {
    if (waiting.length === 0) {
      const missed = points.filter((point) => !report.points.has(point))
      waiting.push(...(missed.length > 0 ? missed : points))
    }
    const point = random() < 0.75 ? waiting.splice(Math.floor(random() * waiting.length), 1)[0]! : null
    const hit = random() < 0.8 ? 1 : 2
    chaos.isCalm = point === null ? random() < 0.2 : /^(warm|session\.claim)\./.test(point)
    const isUp = await server.start({
      sandboxes: true,
      warm: true,
      leaseSeconds,
      ...(point === null ? {} : { failpoints: `${point}=kill@${hit}` }),
    })
    chaos.disturbedAt = Date.now()
    if (isUp) {
      const until = Date.now() + (chaos.isCalm ? 30_000 : 2_000 + random() * 12_000)
      while (Date.now() < until && server.isRunning && !chaos.ended) {
        report.seen.push(...processesInSandboxes(server.dataDir).filter(isOfSandbox))
        await delay(100)
      }
    }
    if (chaos.ended) break
    if (!server.isRunning && point !== null) report.points.add(point)
    count(report, server.isRunning ? 'server' : 'server at a failpoint')
    if (server.isRunning) await server.kill()
    await server.exited
  }
  chaos.isCalm = false
  if (!server.isRunning) await server.start({ sandboxes: true, warm: true, leaseSeconds })
  chaos.disturbedAt = Date.now()
}

async function killInside(chaos: Chaos, random: () => number): Promise<void> {
  const { server, report } = chaos
  while (!chaos.ended) {
    await delay(300 + random() * 1_500)
    if (!server.isRunning || chaos.isCalm) continue
    const kind = Object.keys(victimKinds)[Math.floor(random() * 4)]!
    const victim = killInSandbox(server.dataDir, kind, random)
    if (victim === null) continue
    report.seen.push(victim)
    count(report, kind)
  }
}

function count(report: ChaosReport, what: string): void {
  report.kills[what] = (report.kills[what] ?? 0) + 1
}

/** Checks that the daemon of every running session responds. */
export async function rest(world: World, report: { problems: string[] }): Promise<void> {
  for (const project of world.projects) {
    const deadline = Date.now() + settledMs
    let problems = await unsettled(world, project)
    while (problems.size > 0 && Date.now() < deadline) {
      await delay(500)
      problems = await unsettled(world, project)
    }
    for (const [id, problem] of problems) report.problems.push(`session ${id} ${problem}`)
  }
}

export async function sessionsOf(world: World, project: TortureProject): Promise<Session[]> {
  const path = `/v1/projects/${project.id}/sessions?limit=1000`
  return (await world.insist<Session[]>('GET', path, null, `list-${Date.now()}`)).body
}

/** What is wrong with sessions at this moment, by their ids. */
export async function unsettled(world: World, project: TortureProject): Promise<Map<string, string>> {
  const problems = new Map<string, string>()
  for (const { session_id, status, error, sandbox_url } of await sessionsOf(world, project)) {
    if (!statusesThatRest.has(status)) problems.set(session_id, `is ${status}`)
    else if (status === 'failed' && !error) problems.set(session_id, 'failed without a reason')
    else if (status === 'running' && !(await isHealthy(`${sandbox_url}/svc/health`)))
      problems.set(session_id, 'says it runs, and its daemon does not answer')
  }
  return problems
}

async function isHealthy(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) }).catch(() => null)
  return answer?.ok === true
}
