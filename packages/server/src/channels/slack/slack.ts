/** The Slack platform, by its SDK. Responses are limited in time and size, and validated. */
import type { WebClient } from '@slack/web-api'
import { z } from 'zod'
import type { ChatCredentials, ChatPlatform, FoundPerson, Identified, Outgoing, Sent } from '../platform.ts'
import { slackAppManifest } from './app-manifest.ts'
import { cut } from '../outbox/message.ts'
import { renderForSlack } from './render.ts'
import { readEvent, readInteraction } from './requests.ts'
import { isSignedBySlack } from './signature.ts'
import { readSlackText } from './markup.ts'

const answerMs = 10_000
const answerBytesMax = 1024 * 1024
/** A longer requested delay is cut to this. */
const pauseSecondsMax = 3600

export function slackPlatform(apiUrl: string): ChatPlatform {
  const client = (credentials: ChatCredentials) => openClient(apiUrl, credentials.botToken)
  return {
    isSigned: isSignedBySlack,
    read: (endpoint, { body }) => (endpoint === 'events' ? readEvent(body) : readInteraction(body)),
    readText: readSlackText,
    identify: async (credentials, conversationId) => identify(await client(credentials), conversationId),
    person: async (credentials, userId) => person(await client(credentials), userId),
    send: async (credentials, outgoing) => send(await client(credentials), outgoing),
    appManifest: slackAppManifest,
  }
}

type SlackReply<T> =
  | { kind: 'ok'; data: T }
  | { kind: 'error'; code: string }
  | { kind: 'limited'; afterMs: number }
  | { kind: 'unavailable'; reason: string }

const noLog = { debug() {}, info() {}, warn() {}, error() {}, setLevel() {}, setName() {}, getLevel: () => 'error' }

/** No retries in the SDK: the outbox retries and survives a restart. The SDK loads on first use. */
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

/** The SDK would read a response of any length. */
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

async function call<T>(
  client: WebClient,
  method: string,
  options: Record<string, unknown>,
  shape: z.ZodType<T>,
): Promise<SlackReply<T>> {
  const { WebAPIHTTPError, WebAPIPlatformError, WebAPIRateLimitedError } = await import('@slack/web-api')
  try {
    const parsed = shape.safeParse(await client.apiCall(method, options))
    return parsed.success
      ? { kind: 'ok', data: parsed.data }
      : { kind: 'unavailable', reason: `Slack returned an unexpected response to ${method}.` }
  } catch (error) {
    if (error instanceof WebAPIRateLimitedError) return { kind: 'limited', afterMs: pauseOf(error.retryAfter) }
    if (error instanceof WebAPIHTTPError)
      return { kind: 'unavailable', reason: `Slack returned status ${error.statusCode}.` }
    if (error instanceof WebAPIPlatformError) {
      const { error: code, response_metadata } = error.data
      if (code === 'ratelimited') return { kind: 'limited', afterMs: pauseOf(response_metadata?.retryAfter ?? 30) }
      // A proxy's error page arrives here too, so accept only values that look like Slack's error codes.
      return typeof code === 'string' && /^[a-z][a-z0-9_]{1,80}$/.test(code)
        ? { kind: 'error', code }
        : { kind: 'unavailable', reason: 'Slack returned an invalid response.' }
    }
    return { kind: 'unavailable', reason: `Slack could not be reached: ${cut((error as Error).message, 200)}` }
  }
}

const pauseOf = (seconds: number) => Math.min(Math.max(seconds, 1), pauseSecondsMax) * 1000

const name = z.string().transform((value) => cut(value.toWellFormed().replaceAll('\0', '\u{fffd}'), 200))
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
  const who = await call(client, 'auth.test', {}, authTest)
  if (who.kind === 'error')
    return {
      kind: 'refused',
      about: 'bot_token',
      reason: `Slack rejects this token (${who.code})`,
      hint: 'Copy the Bot User OAuth Token (xoxb-…) from the page "OAuth & Permissions" of the app.',
    }
  if (who.kind !== 'ok') return { kind: 'unavailable', reason: unavailableReason(who) }
  const where = await call(client, 'conversations.info', { channel: conversationId }, conversation)
  if (where.kind === 'error')
    return {
      kind: 'refused',
      about: 'conversation_id',
      reason: `Slack does not show this channel to the app (${where.code})`,
      hint:
        where.code === 'missing_scope'
          ? 'Add the scopes of the manifest to the app and reinstall it.'
          : `Invite the app to the channel with /invite @${who.data.user}. The channel's details show its id at the end.`,
    }
  if (where.kind !== 'ok') return { kind: 'unavailable', reason: unavailableReason(where) }
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

const unavailableReason = (reply: { kind: 'limited'; afterMs: number } | { kind: 'unavailable'; reason: string }) =>
  reply.kind === 'unavailable' ? reply.reason : `Slack limits requests for ${Math.ceil(reply.afterMs / 1000)} s.`

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
  const found = await call(client, 'users.info', { user: userId }, user)
  if (found.kind === 'error') return { kind: 'unknown', reason: `Slack does not know this user (${found.code})` }
  if (found.kind !== 'ok') return { kind: 'unavailable', reason: unavailableReason(found) }
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
const ephemeral = z.object({ message_ts: z.string().max(40) })

async function send(client: WebClient, outgoing: Outgoing): Promise<Sent> {
  const { conversationId: channel, threadId, externalId, recipient } = outgoing
  // No link previews, and no text becomes a mention.
  const noExpansion = { parse: 'none', link_names: false, unfurl_links: false, unfurl_media: false }
  const content = { channel, ...renderForSlack(outgoing.message), ...noExpansion }
  const thread = threadId === null ? {} : { thread_ts: threadId }
  if (recipient !== null) {
    const reply = await call(client, 'chat.postEphemeral', { ...content, ...thread, user: recipient }, ephemeral)
    return outcome(reply, ({ message_ts }) => message_ts)
  }
  const reply =
    externalId === null
      ? await call(client, 'chat.postMessage', { ...content, ...thread }, posted)
      : await call(client, 'chat.update', { ...content, ts: externalId }, posted)
  return outcome(reply, ({ ts }) => ts)
}

const transientCodes = new Set([
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'team_added_to_org',
])
const brokenCodes = new Map([
  ['invalid_auth', 'Slack rejects the bot token'],
  ['not_authed', 'Slack rejects the bot token'],
  ['account_inactive', 'the app was removed from the workspace'],
  ['token_revoked', 'the bot token was revoked'],
  ['token_expired', 'the bot token has expired'],
  ['missing_scope', 'the app lacks a scope of the manifest'],
  ['channel_not_found', 'the channel was deleted, or the app was removed from it'],
  ['not_in_channel', 'the app was removed from the channel'],
  ['is_archived', 'the channel is archived'],
  ['restricted_action', 'the workspace does not let the app post here'],
])

function outcome<T>(reply: SlackReply<T>, externalId: (data: T) => string): Sent {
  switch (reply.kind) {
    case 'ok':
      return { kind: 'sent', externalId: externalId(reply.data) }
    case 'limited':
      return { kind: 'later', reason: unavailableReason(reply), afterMs: reply.afterMs }
    case 'unavailable':
      return { kind: 'later', reason: reply.reason, afterMs: null }
    case 'error': {
      if (transientCodes.has(reply.code)) return { kind: 'later', reason: `Slack failed: ${reply.code}`, afterMs: null }
      const why = brokenCodes.get(reply.code)
      if (why !== undefined) return { kind: 'broken', reason: `${why} (${reply.code})` }
      return { kind: 'refused', reason: `Slack rejected the message: ${reply.code}` }
    }
    default:
      return reply satisfies never
  }
}
