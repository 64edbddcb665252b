/** Stores each incoming message or button press once. */
import { parseJson, questionOptionsMax } from '@svc/contract'
import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { ChannelPayload, IncomingMessage, IncomingPress } from './incoming.ts'
import { insertEvent } from './inbox-store.ts'
import { cut } from '../outbox/message.ts'
import { platformOf } from '../platforms.ts'
import { type ChannelRow, getThread, insertThread } from '../store.ts'

type TakeDeps = Pick<Deps, 'db' | 'config' | 'newId'>

/** At four bytes per character this fits the limit of a first prompt. Slack sends at most 40,000 characters. */
const promptCharsMax = 30_000

/** A mention starts a thread, and messages in a known thread go to its session. Other messages are ignored. */
export async function ingestMessage(deps: TakeDeps, channel: ChannelRow, message: IncomingMessage): Promise<void> {
  const { text, mentionsBot } = platformOf(deps.config, channel.platform).readText(message.raw, channel.bot_user_id)
  const thread = message.isReply ? await getThread(deps.db, channel.channel_id, message.threadKey) : null
  if (!mentionsBot && thread === null) return
  const { author } = message
  const command = mentionsBot ? commandOf(text) : null
  if (command === null && text === '') return
  const payload: ChannelPayload =
    command === null
      ? { kind: 'prompt', author, text: cut(text, promptCharsMax) }
      : { kind: 'command', author, command }
  await deps.db.transaction().execute(async (trx) => {
    const isNew = await insertEvent(trx, {
      ...rowOf(deps, channel, message),
      kind: payload.kind,
      payload: JSON.stringify(payload),
    })
    if (!isNew || thread !== null || payload.kind !== 'prompt') return
    await insertThread(trx, {
      thread_id: deps.newId(),
      channel_id: channel.channel_id,
      thread_key: message.threadKey,
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

const answerValue = z.object({
  question_id: z.uuid(),
  option: z
    .int()
    .min(0)
    .max(questionOptionsMax - 1),
})
const mergeValue = z.object({ cr: z.uuid(), head: z.string().regex(/^[0-9a-f]{40,64}$/) })

export async function ingestPress(deps: TakeDeps, channel: ChannelRow, press: IncomingPress): Promise<void> {
  const payload = payloadOf(press)
  if (payload === null) return
  const row = { ...rowOf(deps, channel, press), thread_key: press.subjectId }
  await insertEvent(deps.db, { ...row, kind: 'action', payload: JSON.stringify(payload) })
}

function payloadOf({ action, value, author, threadKey: thread_key }: IncomingPress): ChannelPayload | null {
  if (action === 'answer') {
    const { data } = answerValue.safeParse(parseJson(value))
    return data === undefined ? null : { kind: 'answer', author, thread_key, ...data }
  }
  const { data } = mergeValue.safeParse(parseJson(value))
  return data === undefined ? null : { kind: 'action', author, thread_key, cr_id: data.cr, head_sha: data.head }
}

export const mergeValueOf = (crId: string, headSha: string): string => JSON.stringify({ cr: crId, head: headSha })
export const answerValueOf = (value: z.infer<typeof answerValue>): string => JSON.stringify(value)

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
