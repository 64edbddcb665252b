/** Parses Slack's requests. Callers verify the signature first; the shape is validated here all the same. */
import { ServiceError } from '@svc/contract'
import { z } from 'zod'
import type { Incoming } from '../ingress/incoming.ts'

const id = z.string().regex(/^[A-Z0-9]{2,40}$/)
const time = z.string().regex(/^\d{1,14}\.\d{1,10}$/)
const text = z
  .string()
  .max(60_000)
  .transform((value) => value.toWellFormed().replaceAll('\0', '\u{fffd}'))

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
  /** The author's workspace: in a shared channel it may be the other one. */
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
  if (data.type === 'app_rate_limited')
    return { kind: 'nothing', why: 'Slack dropped events because of its rate limit' }
  const event = personMessage.safeParse(data.event)
  if (!event.success) return { kind: 'nothing', why: `events of type ${data.event.type} are not subscribed to` }
  const { user, channel, ts, thread_ts, subtype, bot_id } = event.data
  // Excludes edits, joins and messages of apps, above all of this one.
  const isUserMessage = subtype === undefined || subtype === 'thread_broadcast' || subtype === 'file_share'
  if (user === undefined || bot_id !== undefined || !isUserMessage) return { kind: 'nothing', why: 'no user wrote it' }
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
/** A number follows: Slack requires unique ids within a message. */
export const answerAction = 'svc_answer_'

export function readInteraction(body: Buffer): Incoming {
  const payload = new URLSearchParams(body.toString('utf8')).get('payload')
  const value = readJson(payload ?? '')
  const { type } = z.looseObject({ type: z.string().max(100) }).safeParse(value).data ?? {}
  if (type === undefined) throw malformed(null)
  if (type !== 'block_actions') return { kind: 'nothing', why: `interactions of type ${type} are not used` }
  const parsed = press.safeParse(value)
  if (!parsed.success) throw malformed(parsed.error)
  const { user, team, channel, message, actions } = parsed.data
  const pressed = actions.find(({ action_id }) => action_id === mergeAction || action_id.startsWith(answerAction))
  if (pressed?.value === undefined) return { kind: 'nothing', why: 'the button only opens a page' }
  const subject = `press ${user.id} ${message.ts} ${pressed.action_ts}`
  return {
    kind: 'press',
    action: pressed.action_id === mergeAction ? 'merge' : 'answer',
    value: pressed.value,
    conversationId: channel.id,
    deliveryId: subject,
    subjectId: subject,
    threadKey: message.thread_ts ?? message.ts,
    author: { workspaceId: user.team_id ?? team?.id ?? '', userId: user.id },
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformed(null)
  }
}

function malformed(error: z.ZodError | null): ServiceError {
  const issues = (error?.issues ?? []).slice(0, 5).map(({ path, message }) => ({ path: path.join('.'), message }))
  return new ServiceError('invalid', 'This is not a valid Slack request.', {
    detail: { issues: issues.length > 0 ? issues : [{ path: '', message: 'is not valid JSON' }] },
  })
}
