/** What Slack's requests say. Only called for a request whose signature held, and still believes no shape. */
import { ServiceError } from '@svc/contract'
import { z } from 'zod'
import type { Incoming } from './incoming.ts'

const id = z.string().regex(/^[A-Z0-9]{2,40}$/)
const time = z.string().regex(/^\d{1,14}\.\d{1,10}$/)
const text = z
  .string()
  .max(60_000)
  .transform((said) => said.toWellFormed().replaceAll('\0', '\u{fffd}'))

const envelope = z.discriminatedUnion('type', [
  z.object({ type: z.literal('url_verification'), challenge: z.string().min(1).max(500) }),
  z.object({
    type: z.literal('event_callback'),
    team_id: id,
    event_id: z.string().regex(/^[\w-]{1,80}$/),
    event: z.looseObject({ type: z.string().max(100) }),
  }),
  z.object({ type: z.literal('app_rate_limited') }),
])

const personMessage = z.object({
  type: z.enum(['app_mention', 'message']),
  subtype: z.string().optional(),
  user: id.optional(),
  bot_id: z.string().optional(),
  /** Of the author: in a channel two workspaces share it may be the other one. */
  user_team: id.optional(),
  team: id.optional(),
  channel: id,
  ts: time,
  thread_ts: time.optional(),
  text: text.optional(),
})

export function readEvent(body: Buffer): Incoming {
  const parsed = envelope.safeParse(readJson(body.toString('utf8')))
  if (!parsed.success) throw malformed(parsed.error)
  const { data } = parsed
  if (data.type === 'url_verification') return { kind: 'challenge', answer: data.challenge }
  if (data.type === 'app_rate_limited') return { kind: 'nothing', why: 'Slack left events out: there were too many' }
  const event = personMessage.safeParse(data.event)
  if (!event.success) return { kind: 'nothing', why: `events of type ${data.event.type} are not listened to` }
  const { user, channel, ts, thread_ts, subtype, bot_id } = event.data
  // Edits, joins, and what apps say, this one above all.
  const isSaid = subtype === undefined || subtype === 'thread_broadcast' || subtype === 'file_share'
  if (user === undefined || bot_id !== undefined || !isSaid) return { kind: 'nothing', why: 'nobody said it' }
  const isReply = thread_ts !== undefined && thread_ts !== ts
  return {
    kind: 'message',
    conversationId: channel,
    deliveryId: data.event_id,
    // One message that mentions the app arrives as two events.
    subjectId: `message ${ts}`,
    threadKey: isReply ? thread_ts : ts,
    isReply,
    author: { workspaceId: event.data.user_team ?? event.data.team ?? data.team_id, userId: user },
    raw: event.data.text ?? '',
  }
}

const press = z.object({
  type: z.literal('block_actions'),
  user: z.object({ id, team_id: id.optional() }),
  team: z.object({ id }).nullish(),
  channel: z.object({ id }),
  message: z.object({ ts: time, thread_ts: time.optional() }),
  trigger_id: z.string().max(200).optional(),
  actions: z
    .array(z.object({ action_id: z.string().max(255), action_ts: time, value: z.string().max(2000).optional() }))
    .min(1)
    .max(10),
})

export const mergeAction = 'svc_merge'

export function readInteraction(body: Buffer): Incoming {
  const payload = new URLSearchParams(body.toString('utf8')).get('payload')
  const value = readJson(payload ?? '')
  const { type } = z.looseObject({ type: z.string().max(100) }).safeParse(value).data ?? {}
  if (type === undefined) throw malformed(null)
  if (type !== 'block_actions') return { kind: 'nothing', why: `interactions of type ${type} are not asked for` }
  const parsed = press.safeParse(value)
  if (!parsed.success) throw malformed(parsed.error)
  const { user, team, channel, message, actions } = parsed.data
  const merge = actions.find(({ action_id }) => action_id === mergeAction)
  if (merge?.value === undefined) return { kind: 'nothing', why: 'that button only opens a page' }
  const subject = `press ${user.id} ${message.ts} ${merge.action_ts}`
  return {
    kind: 'press',
    action: 'merge',
    value: merge.value,
    conversationId: channel.id,
    deliveryId: subject,
    subjectId: subject,
    threadKey: message.thread_ts ?? message.ts,
    author: { workspaceId: user.team_id ?? team?.id ?? '', userId: user.id },
  }
}

function readJson(said: string): unknown {
  try {
    return JSON.parse(said)
  } catch {
    throw malformed(null)
  }
}

function malformed(error: z.ZodError | null): ServiceError {
  const issues = (error?.issues ?? []).slice(0, 5).map(({ path, message }) => ({ path: path.join('.'), message }))
  return new ServiceError('invalid', 'This is not what Slack sends.', {
    detail: { issues: issues.length > 0 ? issues : [{ path: '', message: 'is not JSON of the expected form' }] },
  })
}
