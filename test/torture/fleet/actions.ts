/** What clients do meanwhile, as careful ones: each request is repeated with its key until it is answered. */
import { setTimeout as delay } from 'node:timers/promises'
import type { ErrorBody, Session } from '@svc/contract'
import { gitEnvironment, run as runProgram } from '../../e2e/harness.ts'
import { commitEach } from '../repositories.ts'
import type { Change, Reply } from '../world.ts'
import { judgeSession } from './judge-session.ts'
import { count, type LedgerSession, type Run } from './run.ts'
import type { FleetProject } from './fleet.ts'

/** A client that waits longer than this for one step is stuck, whatever happened. */
const stuckMs = 150_000
const pushMsMax = 30_000
const sessionActsMax = 12

interface Client {
  run: Run
  project: FleetProject
  n: number
  session: { of: LedgerSession; acts: number } | null
}

interface Action {
  name: string
  act(client: Client, serial: number): Promise<void>
}

/** Of two clients for each project: one works on its branches, the other on its sessions. */
export const actions: Record<'branches' | 'sessions', Action[]> = {
  branches: [
    { name: 'change', act: change },
    { name: 'change', act: change },
    { name: 'fire', act: fire },
  ],
  sessions: [
    { name: 'prompt', act: prompt },
    { name: 'prompt', act: prompt },
    { name: 'save', act: save },
    { name: 'stop', act: stop },
  ],
}

let serial = 0

/** Works until `over`. An action that fails is a problem; the next one follows all the same. */
export async function work(run: Run, project: FleetProject, kind: keyof typeof actions, over: AbortSignal) {
  const { gate, ledger } = run
  const client: Client = { run, project, n: ++serial, session: null }
  const choices = actions[kind]
  while (!over.aborted) {
    await gate.passed
    if (over.aborted) return
    const { name, act } = choices[Math.floor(run.random() * choices.length)]!
    const number = ++serial
    gate.busy.set(client.n, `${name} ${number}`)
    try {
      await act(client, number)
      count(ledger.counts, name)
    } catch (error) {
      run.problems.push(`${name} ${number}: ${String(error)}`)
    } finally {
      gate.busy.delete(client.n)
    }
    await delay(50 + run.random() * 250)
  }
}

async function change({ run, project }: Client, n: number): Promise<void> {
  const { world } = run.fleet
  const branch = `work-${n}`
  const file = `${branch}.txt`
  const [sha = ''] = await commitEach(project.clone, [{ branch, file, from: project.root }])
  await push(project, branch)
  run.ledger.pushes.push({ project, branch, sha })
  const made: Change = { project, branch, file, head: sha, crId: null, merge: null }
  world.changes.push(made)
  await world.carry(made, { refusedFirst: run.random() < 0.2 })
}

/** A push of the same commit to the same branch may be repeated. */
async function push({ clone, gateway }: FleetProject, branch: string): Promise<void> {
  const refs = `refs/heads/${branch}:refs/heads/${branch}`
  for (const deadline = Date.now() + stuckMs; ; await delay(200)) {
    const command = [
      'timeout',
      '--kill-after=1',
      String(pushMsMax / 1000),
      'git',
      `--git-dir=${clone}`,
      'push',
      '--quiet',
    ]
    const pushed = await runProgram([...command, gateway, refs], { env: gitEnvironment })
    if (pushed.code === 0) return
    if (Date.now() > deadline) throw new Error(`the push is stuck: ${pushed.stderr}`)
  }
}

/** Begins a session by a trigger, and deletes it once it rests. */
async function fire({ run, project }: Client, n: number): Promise<void> {
  const { world } = run.fleet
  const path = `/v1/projects/${project.id}/triggers/hook/fire`
  const fired = await world.insist<{ session_id: string } & ErrorBody>('POST', path, {}, `fire-${n}`)
  if (fired.status === 429) return
  requireStatus(fired, [200, 201, 202])
  run.ledger.fired.push({ project, sessionId: fired.body.session_id })
  const session = `/v1/projects/${project.id}/sessions/${fired.body.session_id}`
  await rested(run, session)
  requireStatus(await world.insist('DELETE', session, null, `delete-fired-${n}`), [200, 404])
}

async function prompt(client: Client, n: number): Promise<void> {
  const session = await sessionOf(client, n)
  await send(client.run, session, `Prompt ${n}.`, `prompt-${n}`)
}

async function send({ fleet }: Run, session: LedgerSession, text: string, key: string): Promise<void> {
  const sent = await fleet.world.insist<{ prompt_id: string; status: string }>(
    ...(['POST', `${session.path}/prompt`, { text }, key] as const),
  )
  requireStatus(sent, [202])
  if (sent.body.status === 'failed') throw new Error(`refused: ${JSON.stringify(sent.body)}`)
  session.prompts.push({ id: sent.body.prompt_id, text })
}

/** Has the agent write a file, and saves it. A session that lost its sandbox meanwhile has nothing to save. */
async function save(client: Client, n: number): Promise<void> {
  const session = await sessionOf(client, n)
  const { world } = client.run.fleet
  const file = `saved-${n}.txt`
  await send(client.run, session, `Write ${file}`, `write-${n}`)
  const { status } = await rested(client.run, session.path)
  if (status !== 'running') return
  const saved = await world.insist<{ paths: string[] }>('POST', `${session.path}/wip`, null, `save-${n}`)
  if (saved.status === 409) return
  requireStatus(saved, [200])
  if (saved.body.paths.includes(file)) session.saved.push(file)
}

async function stop(client: Client, n: number): Promise<void> {
  const session = await sessionOf(client, n)
  requireStatus(await client.run.fleet.world.insist('POST', `${session.path}/stop`, null, `stop-${n}`), [200])
}

/** The client's session, which is checked and replaced after some time. */
async function sessionOf(client: Client, n: number): Promise<LedgerSession> {
  const { run, project } = client
  const { world } = run.fleet
  if (client.session !== null && client.session.acts++ < sessionActsMax) return client.session.of
  if (client.session !== null) {
    const { of } = client.session
    await rested(run, of.path)
    await judgeSession(run, of)
    run.ledger.sessions.splice(run.ledger.sessions.indexOf(of), 1)
    client.session = null
    requireStatus(await world.insist('DELETE', of.path, null, `delete-${n}`), [200, 404])
  }
  const sessions = `/v1/projects/${project.id}/sessions`
  const text = `Begin ${n}.`
  const made = await world.insist<Session>(
    'POST',
    sessions,
    { name: `session ${n}`, initial_prompt: text },
    `make-${n}`,
  )
  requireStatus(made, [201])
  const id = made.body.session_id
  const of = { project, id, path: `${sessions}/${id}`, prompts: [{ id, text }], saved: [] }
  run.ledger.sessions.push(of)
  client.session = { of, acts: 1 }
  return of
}

async function rested({ fleet: { world } }: Run, path: string): Promise<Session> {
  for (const deadline = Date.now() + stuckMs; ; await delay(200)) {
    const { status, body } = await world.insist<Session>('GET', path, null, `look-${path}-${Date.now()}`)
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
    if (['running', 'stopped', 'failed'].includes(body.status)) return body
    if (Date.now() > deadline) throw new Error(`${path} is ${body.status} for ${stuckMs / 1000} s`)
  }
}

function requireStatus({ status, body }: Reply<unknown>, wanted: number[]): void {
  if (!wanted.includes(status)) throw new Error(`answered ${status} ${JSON.stringify(body)}`)
}
