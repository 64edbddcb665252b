/** Delivers pending messages at least once, in the order of each thread and within the platform's rate limits, from any server. */
import type { Deps } from '../../deps.ts'
import { credentialsOf } from '../credentials.ts'
import { makeLinkCode } from '../links/links.ts'
import { mapTexts, type Message, type StoredMessage } from './message.ts'
import {
  type Claim,
  claimPendingMessage,
  nextSendInMs,
  recordGivenUp,
  recordLater,
  recordSent,
} from './outbox-store.ts'
import type { ChatCredentials, Sent } from '../platform.ts'
import { platformOf } from '../platforms.ts'
import { type ChannelRow, getChannel, updateChannel } from '../store.ts'
import { workOff } from '../../work-off.ts'

export type DeliverDeps = Pick<
  Deps,
  'db' | 'config' | 'keyring' | 'redaction' | 'now' | 'log' | 'instanceId' | 'heartbeat' | 'randomBytes'
>

const atOnce = 4
/** With the delays below, more than an hour. */
const attemptsMax = 20
const waitMsMax = 5 * 60_000
/** Short enough for the user who repairs a channel, and long enough not to load the platform. */
const brokenMs = 5 * 60_000
/** Limits the edits of an answer that is still being written. */
const quietMs = 3_000

/** The job. Returns in how many milliseconds a message may be sent next. */
export async function deliverMessages(deps: DeliverDeps, signal: AbortSignal): Promise<number | null> {
  await workOff({
    atOnce,
    signal,
    take: () =>
      claimPendingMessage(deps.db, {
        instanceId: deps.instanceId,
        now: deps.now(),
        staleSeconds: deps.heartbeat.deadAfterSeconds(),
      }),
    work: (claim) => deliver(deps, claim),
  })
  return nextSendInMs(deps.db, deps.now())
}

async function deliver(deps: DeliverDeps, claim: Claim): Promise<void> {
  const channel = await getChannel(deps.db, claim.row.channel_id)
  const opened = channel === null ? null : await credentialsOf(deps, channel)
  if (channel === null || opened === null) return
  const sent = await send(deps, channel, opened.credentials, claim).catch((error: unknown): Sent => {
    deps.log.warn({ err: error, channel_id: channel.channel_id }, 'chat message not delivered; retrying')
    return { kind: 'later', reason: 'The server failed.', afterMs: null }
  })
  await record(deps, channel, claim, sent)
}

async function send(
  deps: DeliverDeps,
  channel: ChannelRow,
  credentials: ChatCredentials,
  { row }: Claim,
): Promise<Sent> {
  // The transcript of an agent already holds none of its session's secrets.
  const redactor = deps.redaction.of(null)
  const body = mapTexts(row.body, (text) => redactor.text(text))
  const message = await withInvitation(deps, channel, credentials, body)
  return platformOf(deps.config, channel.platform).send(credentials, {
    conversationId: channel.conversation_id,
    threadId: row.thread_id,
    externalId: row.external_id,
    recipient: row.recipient,
    message,
  })
}

async function record(deps: DeliverDeps, channel: ChannelRow, claim: Claim, sent: Sent): Promise<void> {
  const at = deps.now()
  const after = (ms: number) => new Date(at.getTime() + ms)
  switch (sent.kind) {
    case 'sent':
      await recordSent(deps.db, claim, { externalId: sent.externalId, at, quietUntil: after(quietMs) })
      if (channel.error !== null) await updateChannel(deps.db, channel.channel_id, { error: null })
      return
    case 'later': {
      if (sent.afterMs === null && claim.row.attempts >= attemptsMax)
        return recordGivenUp(deps.db, claim, { reason: sent.reason, at })
      const until = after(sent.afterMs ?? Math.min(1000 * 2 ** Math.min(claim.row.attempts, 10), waitMsMax))
      await recordLater(deps.db, claim, { reason: sent.reason, until })
      // The platform limits the rate per channel, not per message.
      if (sent.afterMs !== null) await updateChannel(deps.db, channel.channel_id, { paused_until: until })
      return
    }
    case 'refused':
      return recordGivenUp(deps.db, claim, { reason: sent.reason, at })
    case 'broken':
      await recordLater(deps.db, claim, { reason: sent.reason, until: after(brokenMs) })
      await updateChannel(deps.db, channel.channel_id, { error: sent.reason, paused_until: after(brokenMs) })
      return
    default:
      return sent satisfies never
  }
}

/** Makes the code at delivery, so that only the sent message contains it. */
async function withInvitation(
  deps: DeliverDeps,
  channel: ChannelRow,
  credentials: ChatCredentials,
  { invites, ...message }: StoredMessage,
): Promise<Message> {
  if (invites === undefined) return message
  const found = await platformOf(deps.config, channel.platform).person(credentials, invites.chatUserId)
  const code = await makeLinkCode(deps, channel, {
    ...invites,
    name: found.kind === 'person' ? found.name : invites.chatUserId,
    email: found.kind === 'person' ? found.email : null,
  })
  const url = `${deps.config.publicUrl}/link-chat#${code}`
  return {
    ...message,
    parts: [
      ...message.parts,
      {
        kind: 'line',
        words: [{ link: url, text: 'Link your account' }, ', or run ', { code: `svc channels link ${code}` }],
      },
      { kind: 'note', words: ['This link is only for you. Do not share it.'] },
    ],
  }
}
