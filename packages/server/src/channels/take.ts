/** What came in and is asked of us becomes a row, once. */
import { z } from 'zod'
import type { Deps } from '../deps.ts'
import type { ChannelPayload, IncomingMessage, IncomingPress } from './incoming.ts'
import { insertEvent } from './inbox-store.ts'
import { cut } from './message.ts'
import { platformOf } from './platforms.ts'
import { type ChannelRow, getThread, insertThread } from './store.ts'

type TakeDeps = Pick<Deps, 'db' | 'config' | 'newId'>

/** Four bytes each, they are within what a session takes as its first prompt; Slack itself sends at most 40,000. */
const promptCharsMax = 30_000

/** A mention begins a thread, and what is said in a thread of ours is for its session. All else is talk among people. */
export async function takeMessage(deps: TakeDeps, channel: ChannelRow, said: IncomingMessage): Promise<void> {
  const { text, mentionsBot } = platformOf(deps.config, channel.platform).words(said.raw, channel.bot_user_id)
  const thread = said.isReply ? await getThread(deps.db, channel.channel_id, said.threadKey) : null
  if (!mentionsBot && thread === null) return
  const { author } = said
  const word = mentionsBot ? commandOf(text) : null
  if (word === null && text === '') return
  const payload: ChannelPayload =
    word === null
      ? { kind: 'prompt', author, text: cut(text, promptCharsMax) }
      : { kind: 'command', author, command: word }
  await deps.db.transaction().execute(async (trx) => {
    const isNew = await insertEvent(trx, {
      ...rowOf(deps, channel, said),
      kind: payload.kind,
      payload: JSON.stringify(payload),
    })
    if (!isNew || thread !== null || payload.kind !== 'prompt') return
    await insertThread(trx, {
      thread_id: deps.newId(),
      channel_id: channel.channel_id,
      thread_key: said.threadKey,
      session_id: null,
      started_by: null,
      chat_user_id: author.userId,
      chat_user_name: author.userId,
      told: null,
    })
  })
}

function commandOf(text: string): 'link' | 'help' | null {
  const word = text.trim().toLowerCase()
  return word === 'link' ? 'link' : word === 'help' || word === '' ? 'help' : null
}

const mergeValue = z.object({ cr: z.uuid(), head: z.string().regex(/^[0-9a-f]{40,64}$/) })

export async function takePress(deps: TakeDeps, channel: ChannelRow, press: IncomingPress): Promise<void> {
  const value = mergeValue.safeParse(parsed(press.value))
  if (!value.success) return
  const { author, threadKey } = press
  const { cr, head } = value.data
  const payload: ChannelPayload = { kind: 'action', author, thread_key: threadKey, cr_id: cr, head_sha: head }
  const row = { ...rowOf(deps, channel, press), thread_key: press.subjectId }
  await insertEvent(deps.db, { ...row, kind: 'action', payload: JSON.stringify(payload) })
}

export const mergeValueOf = (crId: string, headSha: string): string => JSON.stringify({ cr: crId, head: headSha })

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function rowOf(deps: TakeDeps, channel: ChannelRow, from: IncomingMessage | IncomingPress) {
  return {
    channel_id: channel.channel_id,
    delivery_id: from.deliveryId,
    subject_id: from.subjectId,
    thread_key: from.threadKey,
    planned_id: deps.newId(),
    reason: null,
    next_try_at: null,
    instance_id: null,
    claimed_at: null,
  }
}
