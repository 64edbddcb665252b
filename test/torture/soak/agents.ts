/** Sessions at work: an agent edits, commits and pushes, a person merges, and the session is ended and replaced. */
import { setTimeout as delay } from 'node:timers/promises'
import type { ChangeRequest, Message, Session } from '@svc/contract'
import type { Reply, TortureProject } from '../world.ts'
import { did, type Soak } from './run.ts'

/** A client that waits longer than this for one step is stuck, whatever happened. */
const stuckMs = 150_000
const lookMs = 1_000
let serial = 0

interface AgentSession {
  path: string
  branch: string
  file: string
  /** For the whole run. */
  stays: boolean
  /** What the agent pushed last. */
  pushed: string | null
  prompts: number
}

/** One session after another, until `over`. */
export async function workInSessions(soak: Soak, project: TortureProject, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const session = await begin(soak, project, false)
    for (let n = 0; n < 3 + Math.floor(soak.random() * 4) && !over.aborted; n++) {
      await pause(soak, over)
      await prompt(soak, session)
    }
    if (over.aborted) return
    await land(soak, project, session)
    if (soak.random() < 0.2) await restart(soak, session)
    await end(soak, session)
  }
}

/** One session for the whole run, whose work lands again and again. */
export async function workInOneSession(soak: Soak, project: TortureProject, over: AbortSignal): Promise<void> {
  const session = await begin(soak, project, true)
  for (let n = 1; !over.aborted; n++) {
    await pause(soak, over)
    await prompt(soak, session)
    if (n % 4 === 0 && !over.aborted) await land(soak, project, session)
  }
}

async function pause({ random, pace }: Soak, over: AbortSignal): Promise<void> {
  const { min, max } = pace.pauseMs
  await delay(min + random() * (max - min), null, { signal: over }).catch(() => null)
}

async function begin(soak: Soak, project: TortureProject, stays: boolean): Promise<AgentSession> {
  const n = ++serial
  const file = `session-${n}.txt`
  const sessions = `/v1/projects/${project.id}/sessions`
  const body = { name: `session ${n}`, initial_prompt: taskOf(file) }
  const made = answered(await soak.world.insist<Session>('POST', sessions, body, `make-${n}`), [201])
  const session: AgentSession = {
    ...{ path: `${sessions}/${made.session_id}`, branch: made.branch_name, file, stays, pushed: null, prompts: 1 },
  }
  await untilPushed(soak, session)
  did(soak, 'sessions')
  return session
}

const taskOf = (file: string) => `Commit and push ${file}`

async function prompt(soak: Soak, session: AgentSession): Promise<void> {
  const key = `prompt-${session.path}-${++session.prompts}`
  answered(await soak.world.insist('POST', `${session.path}/prompt`, { text: taskOf(session.file) }, key), [202])
  await untilPushed(soak, session)
}

async function untilPushed(soak: Soak, session: AgentSession): Promise<void> {
  for (const deadline = Date.now() + stuckMs; ; await delay(lookMs)) {
    const { messages } = await read<{ messages: Message[] }>(soak, `${session.path}/transcript?limit=1`)
    const [, pushed] = /^Pushed (\w{40})$/.exec(textOf(messages.at(-1))) ?? []
    if (pushed !== undefined && pushed !== session.pushed) {
      session.pushed = pushed
      return count(soak, session, 'commits')
    }
    if (Date.now() < deadline) continue
    const { status, error } = await read<Session>(soak, session.path)
    throw new Error(`${session.path} is ${status} (${error}) and its prompt ${session.prompts} did not end in a push`)
  }
}

function count(soak: Soak, { stays }: AgentSession, what: string): void {
  did(soak, what)
  if (stays) did(soak, `${what} of sessions that stay`)
}

const textOf = (message: Message | undefined): string =>
  message?.role === 'assistant' ? message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') : ''

/** Opens a change request of the session's branch, and merges it; one of five is closed. */
async function land(soak: Soak, project: TortureProject, session: AgentSession): Promise<void> {
  const { world } = soak
  const path = `/v1/projects/${project.id}/change-requests`
  const key = `${session.branch}-${session.pushed}`
  const body = { title: `Work of ${session.file}`, head_ref: session.branch }
  const opened = answered(await world.insist<ChangeRequest>('POST', path, body, `open-${key}`), [201])
  count(soak, session, 'change requests')
  if (soak.random() < 0.2) {
    // It takes no key: a repetition finds it closed.
    answered(await world.insist('POST', `${path}/${opened.cr_id}/close`, null, `close-${key}`), [200, 409])
    return
  }
  const expected = { expected_head_sha: session.pushed }
  answered(await world.insist('POST', `${path}/${opened.cr_id}/merge`, expected, `merge-${key}`), [200])
  count(soak, session, 'merges')
}

async function restart(soak: Soak, session: AgentSession): Promise<void> {
  const key = `${session.path}-${session.pushed}`
  answered(await soak.world.insist('POST', `${session.path}/stop`, null, `stop-${key}`), [200])
  answered(await soak.world.insist('POST', `${session.path}/restart`, null, `restart-${key}`), [202, 409])
  did(soak, 'restarts of sessions')
  await prompt(soak, session)
}

/** Ends the session. Each of its prompts was answered once, whatever happened to the server meanwhile. */
async function end(soak: Soak, session: AgentSession): Promise<void> {
  const { messages } = await read<{ messages: Message[] }>(soak, `${session.path}/transcript`)
  const answers = messages.filter((message) => textOf(message) !== '').length
  if (answers !== session.prompts)
    soak.problems.push(`${session.path} has ${answers} answers to ${session.prompts} prompts`)
  answered(await soak.world.insist('DELETE', session.path, null, `delete-${session.path}`), [200, 404])
  did(soak, 'sessions ended')
}

/** Ends sessions that triggers began, once their agents rest. */
export async function endFired(soak: Soak, project: TortureProject): Promise<void> {
  const path = `/v1/projects/${project.id}/sessions`
  for (const session of await read<Session[]>(soak, `${path}?include=activity&limit=1000`)) {
    if (session.name.startsWith('session ') || session.is_busy === true) continue
    if (session.status === 'failed') soak.problems.push(`${path}/${session.session_id} failed: ${session.error}`)
    const isRunning = session.status === 'running' && Date.now() - Date.parse(session.created_at) > soak.pace.fireMs
    if (!isRunning && session.status !== 'failed') continue
    const key = `delete-${session.session_id}`
    answered(await soak.world.insist('DELETE', `${path}/${session.session_id}`, null, key), [200, 404])
    did(soak, 'sessions of triggers')
  }
}

export async function read<Body>({ world }: Soak, path: string): Promise<Body> {
  return answered(await world.insist<Body>('GET', path, null, `read ${path}`), [200])
}

export function answered<Body>({ status, body }: Reply<Body>, wanted: number[]): Body {
  if (!wanted.includes(status)) throw new Error(`answered ${status} ${JSON.stringify(body)}`)
  return body
}
