/** No acknowledged prompt of a session is lost or runs twice, and no saved file is lost. */
import type { Message } from '@svc/contract'
import { withClient } from '../../../packages/server/src/db/testing-cluster.ts'
import type { LedgerSession, Run } from './run.ts'

interface Work {
  paths: string[]
}

export async function judgeSession(run: Run, session: LedgerSession): Promise<void> {
  const { world } = run.fleet
  const { id, path, prompts, saved } = session
  const complain = (what: string) => run.problems.push(`session ${id}: ${what}`)
  // The end of a conversation may die with a process of its sandbox.
  const isHarmed = (await sandboxesOf(run, id)).some((sandbox) => run.victims.has(sandbox))
  const read = async <Body>(what: string) => {
    const { status, body } = await world.insist<Body>('GET', `${path}/${what}`, null, `${what}-${id}-${Date.now()}`)
    if (status !== 200) throw new Error(`${path}/${what}: ${status} ${JSON.stringify(body)}`)
    return body
  }
  const listed = await read<{ prompts: { prompt_id: string; status: string; error: object | null }[] }>(
    'prompts?limit=200',
  )
  const statusOf = new Map(listed.prompts.map((each) => [each.prompt_id, each]))
  const { messages } = await read<{ messages: Message[] }>('transcript')
  const texts = messages.filter(({ role }) => role === 'user').map(textOf)
  for (const prompt of prompts) {
    const stored = statusOf.get(prompt.id)
    const times = texts.filter((text) => text === prompt.text).length
    if (stored === undefined) complain(`the prompt "${prompt.text}" is not stored`)
    else if (stored.status === 'failed' && stored.error === null) complain(`"${prompt.text}" failed without a reason`)
    else if (stored.status === 'delivered' && times === 0 && !isHarmed)
      complain(`"${prompt.text}" was delivered, and is not in the conversation`)
    if (times > 1) complain(`"${prompt.text}" ran ${times} times`)
  }
  const work = await read<Work & { earlier: Work[] }>('wip')
  const kept = new Set([work, ...work.earlier].flatMap(({ paths }) => paths))
  for (const file of saved) if (!kept.has(file)) complain(`the saved file ${file} is lost`)
}

async function sandboxesOf({ fleet }: Run, sessionId: string): Promise<string[]> {
  const { rows } = await withClient(fleet.database.url, (client) =>
    client.query<{ sandbox_id: string }>('select sandbox_id from session_sandboxes where session_id = $1', [sessionId]),
  )
  return rows.map((row) => row.sandbox_id)
}

function textOf({ parts }: Message): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
