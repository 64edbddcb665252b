/** Slack, by its own SDK. What it answers is bounded in time and size, and none of it is believed. */
import type { WebClient } from '@slack/web-api'
import { z } from 'zod'
import type { ChatCredentials, ChatPlatform, FoundPerson, Identified, Outgoing, Sent } from './platform.ts'
import { slackAppManifest } from './slack-app.ts'
import { cut } from './message.ts'
import { renderForSlack } from './slack-render.ts'
import { readEvent, readInteraction } from './slack-requests.ts'
import { isSignedBySlack } from './slack-signature.ts'
import { readSlackText } from './slack-words.ts'

const answerMs = 10_000
const answerBytesMax = 1024 * 1024
/** A platform that asks for more than this is asked again all the same. */
const pauseSecondsMax = 3600

export function slackPlatform(apiUrl: string): ChatPlatform {
  const client = (credentials: ChatCredentials) => openClient(apiUrl, credentials.botToken)
  return {
    isSigned: isSignedBySlack,
    read: (door, { body }) => (door === 'events' ? readEvent(body) : readInteraction(body)),
    words: readSlackText,
    identify: async (credentials, conversationId) => identify(await client(credentials), conversationId),
    person: async (credentials, userId) => person(await client(credentials), userId),
    send: async (credentials, outgoing) => send(await client(credentials), outgoing),
    appManifest: slackAppManifest,
  }
}

type Asked<T> =
  | { kind: 'ok'; data: T }
  | { kind: 'error'; code: string }
  | { kind: 'limited'; afterMs: number }
  | { kind: 'away'; reason: string }

const noLog = { debug() {}, info() {}, warn() {}, error() {}, setLevel() {}, setName() {}, getLevel: () => 'error' }

/** No retries of its own: the outbox tries again, and survives us. The SDK is loaded by who first speaks to Slack. */
async function openClient(apiUrl: string, token: string): Promise<WebClient> {
  const { WebClient } = await import('@slack/web-api')
  return new WebClient(token, {
    slackApiUrl: apiUrl,
    allowAbsoluteUrls: false,
    rejectRateLimitedCalls: true,
    retryConfig: { retries: 0 },
    timeout: answerMs,
    logger: noLog as never,
    fetch: boundedFetch,
  })
}

/** The SDK reads an answer whole, however long it is. */
async function boundedFetch(url: string | URL, init?: object): Promise<Response> {
  const response = await fetch(url, init as RequestInit)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length
    if (bytes > answerBytesMax) throw new Error('The answer is larger than 1 MiB.')
    chunks.push(chunk as Uint8Array)
  }
  const { status, statusText, headers } = response
  return new Response(status === 204 || status === 304 ? null : Buffer.concat(chunks), { status, statusText, headers })
}

async function ask<T>(
  client: WebClient,
  method: string,
  options: Record<string, unknown>,
  shape: z.ZodType<T>,
): Promise<Asked<T>> {
  const { WebAPIHTTPError, WebAPIPlatformError, WebAPIRateLimitedError } = await import('@slack/web-api')
  try {
    const parsed = shape.safeParse(await client.apiCall(method, options))
    return parsed.success
      ? { kind: 'ok', data: parsed.data }
      : { kind: 'away', reason: `Slack answered ${method} in a form that is not its own.` }
  } catch (error) {
    if (error instanceof WebAPIRateLimitedError) return { kind: 'limited', afterMs: pauseOf(error.retryAfter) }
    if (error instanceof WebAPIHTTPError)
      return { kind: 'away', reason: `Slack answered with status ${error.statusCode}.` }
    if (error instanceof WebAPIPlatformError) {
      const { error: code, response_metadata } = error.data
      if (code === 'ratelimited') return { kind: 'limited', afterMs: pauseOf(response_metadata?.retryAfter ?? 30) }
      // A page of a proxy comes this way too: only Slack's own codes are words.
      return typeof code === 'string' && /^[a-z][a-z0-9_]{1,80}$/.test(code)
        ? { kind: 'error', code }
        : { kind: 'away', reason: 'Slack answered with something that is not its API.' }
    }
    return { kind: 'away', reason: `Slack could not be reached: ${cut((error as Error).message, 200)}` }
  }
}

const pauseOf = (seconds: number) => Math.min(Math.max(seconds, 1), pauseSecondsMax) * 1000

const name = z.string().transform((said) => cut(said.toWellFormed().replaceAll('\0', '\u{fffd}'), 200))
const slackId = z.string().regex(/^[A-Z0-9]{2,40}$/)

const authTest = z.object({ team_id: slackId, team: name, user_id: slackId, user: name })
const conversation = z.object({
  channel: z.object({
    name,
    is_member: z.boolean().default(false),
    is_archived: z.boolean().default(false),
    is_ext_shared: z.boolean().default(false),
    is_pending_ext_shared: z.boolean().default(false),
  }),
})

async function identify(client: WebClient, conversationId: string): Promise<Identified> {
  const who = await ask(client, 'auth.test', {}, authTest)
  if (who.kind === 'error')
    return {
      kind: 'refused',
      about: 'bot_token',
      reason: `Slack does not take this token (${who.code})`,
      hint: 'Copy the Bot User OAuth Token (xoxb-…) of the app from its page "OAuth & Permissions".',
    }
  if (who.kind !== 'ok') return { kind: 'away', reason: awayReason(who) }
  const where = await ask(client, 'conversations.info', { channel: conversationId }, conversation)
  if (where.kind === 'error')
    return {
      kind: 'refused',
      about: 'conversation_id',
      reason: `Slack does not show this channel to the app (${where.code})`,
      hint:
        where.code === 'missing_scope'
          ? 'Give the app the scopes of the manifest and install it again.'
          : `Invite the app in the channel with /invite @${who.data.user}. The id is at the end of the channel's details.`,
    }
  if (where.kind !== 'ok') return { kind: 'away', reason: awayReason(where) }
  const { channel } = where.data
  if (channel.is_archived || !channel.is_member)
    return {
      kind: 'refused',
      about: 'conversation_id',
      reason: channel.is_archived ? 'This channel is archived' : 'The app is not in this channel',
      hint: channel.is_archived ? 'Choose another channel.' : `In Slack: /invite @${who.data.user}`,
    }
  return {
    kind: 'identified',
    workspaceId: who.data.team_id,
    workspaceName: who.data.team,
    botUserId: who.data.user_id,
    botName: who.data.user,
    conversationName: channel.name,
    sharedExternally: channel.is_ext_shared || channel.is_pending_ext_shared,
  }
}

const awayReason = (asked: { kind: 'limited'; afterMs: number } | { kind: 'away'; reason: string }) =>
  asked.kind === 'away' ? asked.reason : `Slack asks for quiet for ${Math.ceil(asked.afterMs / 1000)} s.`

const user = z.object({
  user: z.object({
    team_id: slackId,
    name: name.optional(),
    real_name: name.optional(),
    deleted: z.boolean().default(false),
    is_bot: z.boolean().default(false),
    is_restricted: z.boolean().default(false),
    is_ultra_restricted: z.boolean().default(false),
    is_stranger: z.boolean().default(false),
    profile: z.object({ display_name: name.optional(), email: name.optional() }).default({}),
  }),
})

async function person(client: WebClient, userId: string): Promise<FoundPerson> {
  const found = await ask(client, 'users.info', { user: userId }, user)
  if (found.kind === 'error') return { kind: 'unknown', reason: `Slack does not say who that is (${found.code})` }
  if (found.kind !== 'ok') return { kind: 'away', reason: awayReason(found) }
  const { profile, ...it } = found.data.user
  return {
    kind: 'person',
    name: profile.display_name || it.real_name || it.name || userId,
    email: profile.email || null,
    workspaceId: it.team_id,
    isFullMember: !(it.deleted || it.is_bot || it.is_restricted || it.is_ultra_restricted || it.is_stranger),
  }
}

const posted = z.object({ ts: z.string().regex(/^\d{1,14}\.\d{1,10}$/) })
const whispered = z.object({ message_ts: z.string().max(40) })

async function send(client: WebClient, outgoing: Outgoing): Promise<Sent> {
  const { conversationId: channel, threadId, externalId, recipient } = outgoing
  // Nothing is looked up for a preview, and no word that looks like a name becomes a mention.
  const plainly = { parse: 'none', link_names: false, unfurl_links: false, unfurl_media: false }
  const content = { channel, ...renderForSlack(outgoing.message), ...plainly }
  const thread = threadId === null ? {} : { thread_ts: threadId }
  if (recipient !== null) {
    const asked = await ask(client, 'chat.postEphemeral', { ...content, ...thread, user: recipient }, whispered)
    return outcome(asked, ({ message_ts }) => message_ts)
  }
  const asked =
    externalId === null
      ? await ask(client, 'chat.postMessage', { ...content, ...thread }, posted)
      : await ask(client, 'chat.update', { ...content, ts: externalId }, posted)
  return outcome(asked, ({ ts }) => ts)
}

const passing = new Set([
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'team_added_to_org',
])
const broken = new Map([
  ['invalid_auth', 'Slack does not take the bot token any more'],
  ['not_authed', 'Slack does not take the bot token any more'],
  ['account_inactive', 'the app was removed from the workspace'],
  ['token_revoked', 'the bot token was revoked'],
  ['token_expired', 'the bot token has expired'],
  ['missing_scope', 'the app lacks a scope of the manifest'],
  ['channel_not_found', 'the channel is gone, or the app was removed from it'],
  ['not_in_channel', 'the app was removed from the channel'],
  ['is_archived', 'the channel is archived'],
  ['restricted_action', 'the workspace does not let the app write here'],
])

function outcome<T>(asked: Asked<T>, externalId: (data: T) => string): Sent {
  switch (asked.kind) {
    case 'ok':
      return { kind: 'sent', externalId: externalId(asked.data) }
    case 'limited':
      return { kind: 'later', reason: awayReason(asked), afterMs: asked.afterMs }
    case 'away':
      return { kind: 'later', reason: asked.reason, afterMs: null }
    case 'error': {
      if (passing.has(asked.code)) return { kind: 'later', reason: `Slack failed: ${asked.code}`, afterMs: null }
      const why = broken.get(asked.code)
      if (why !== undefined) return { kind: 'broken', reason: `${why} (${asked.code})` }
      return { kind: 'refused', reason: `Slack refused it: ${asked.code}` }
    }
    default:
      return asked satisfies never
  }
}
