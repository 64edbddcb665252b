/** No acknowledged prompt of a session is lost or runs twice, and no saved file is lost. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Message, Session } from '@svc/contract'
import { withClient } from '../../../packages/server/src/db/testing-cluster.ts'
import { isDatabaseUnavailable } from '../../../packages/server/src/db/unavailable.ts'
import { until } from '../../e2e/harness.ts'
import type { LedgerSession, Run } from './run.ts'

/** A prompt is delivered, and its conversation stored, a moment after the session runs. */
const storedMs = 60_000

interface Prompts {
  prompts: { prompt_id: string; status: string; error: object | null }[]
}

interface Work {
  paths: string[]
}

export async function judgeSession(run: Run, session: LedgerSession): Promise<void> {
  const deadline = performance.now() + storedMs
  let problems = await problemsOf(run, session)
  while (problems.length > 0 && performance.now() < deadline) {
    await delay(500)
    problems = await problemsOf(run, session)
  }
  run.problems.push(...problems.map((what) => `session ${session.id}: ${what}`))
}

async function problemsOf(run: Run, { id, path, prompts, saved }: LedgerSession): Promise<string[]> {
  const read = async <Body>(what: string) => {
    const asked = `${path}${what}`
    const { status, body } = await run.fleet.world.insist<Body>('GET', asked, null, `read-${asked}-${Date.now()}`)
    if (status !== 200) throw new Error(`${asked}: ${status} ${JSON.stringify(body)}`)
    return body
  }
  // The end of a conversation may die with a process of its sandbox.
  const harmed = (await sandboxesOf(run, id)).filter((sandbox) => run.victims.has(sandbox)).length
  const isRunning = (await read<Session>('')).status === 'running'
  const listed = (await read<Prompts>('/prompts?limit=200')).prompts
  const { messages } = await read<{ messages: Message[] }>('/transcript')
  const texts = messages.filter(({ role }) => role === 'user').map(textOf)
  const problems = prompts.flatMap(({ id: promptId, text }) => {
    const stored = listed.find((each) => each.prompt_id === promptId)
    const times = texts.filter((each) => each === text).length
    if (times > 1) return [`"${text}" ran ${times} times`]
    if (stored === undefined) return [`the prompt "${text}" is not stored`]
    if (stored.status === 'accepted' && isRunning) return [`"${text}" was accepted, and is not delivered`]
    if (stored.status === 'failed' && stored.error === null) return [`"${text}" failed without a reason`]
    return stored.status === 'delivered' && times === 0 && harmed === 0
      ? [`"${text}" was delivered, and is not in the conversation`]
      : []
  })
  const work = await read<Work & { earlier: Work[] }>('/wip')
  const kept = new Set([work, ...work.earlier].flatMap(({ paths }) => paths))
  return [...problems, ...saved.filter((file) => !kept.has(file)).map((file) => `the saved file ${file} is lost`)]
}

async function sandboxesOf({ fleet }: Run, sessionId: string): Promise<string[]> {
  const read = () =>
    withClient(fleet.database.url, (client) =>
      client.query<{ sandbox_id: string }>('select sandbox_id from session_sandboxes where session_id = $1', [
        sessionId,
      ]),
    )
  // PostgreSQL may restart at this moment.
  const { rows } = await until('the database answers', () => read().catch(nullWhileUnavailable))
  return rows.map((row) => row.sandbox_id)
}

function nullWhileUnavailable(error: unknown): null {
  if (isDatabaseUnavailable(error)) return null
  throw error
}

function textOf({ parts }: Message): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
