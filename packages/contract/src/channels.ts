/** A chat workspace at a project: who talks there, what is told there, and what the workspace needs to reach the service. */
import { z } from 'zod'
import { manifestIssue } from './projects.ts'
import { ok, pageOfWhole, route, timestamp, uuid } from './route.ts'

export const chatPlatforms = ['slack'] as const

/** What `events` of a `[[channels]]` entry may name; a `*` at the end stands for the rest. */
export const channelEvents = [
  'change_request.opened',
  'change_request.merged',
  'change_request.closed',
  'change_request.conflicted',
] as const

/** What a delivery that is being looked at may be older or newer than the clock here. The platform's own rule. */
export const chatSignatureSeconds = 300
/** Sessions that one channel may start within a minute. */
export const chatStartsPerMinuteMax = 10
export const linkCodeMinutes = 15

/** Printable and without spaces: tokens and secrets go into headers. */
const credential = z
  .string()
  .trim()
  .min(8)
  .max(500)
  .regex(/^[\x21-\x7e]+$/, 'holds spaces or characters no credential has')

export const channel = z.object({
  channel_id: uuid,
  platform: z.enum(chatPlatforms),
  workspace_id: z.string(),
  workspace_name: z.string(),
  /** As people call the app there. */
  bot_name: z.string(),
  /** The platform's id of the place where messages are written. */
  conversation_id: z.string(),
  conversation_name: z.string(),
  /** People outside of the workspace read along. */
  shared_externally: z.boolean(),
  /** Members of the workspace who are not linked act for whoever connected it. */
  allow_unlinked: z.boolean(),
  /** From svc.toml on the default branch; null: the default agent. */
  agent: z.string().nullable(),
  events: z.array(z.string()),
  /** Why nothing gets through at the moment. */
  error: z.string().nullable(),
  waiting: z.number().int(),
  connected_by: uuid.nullable(),
  created_at: timestamp,
  updated_at: timestamp,
})
export type Channel = z.infer<typeof channel>

/** One message as it stands. Never its text: a channel's readers are not this list's. */
export const channelDelivery = z.object({
  kind: z.enum(['answer', 'state', 'card', 'reply']),
  status: z.enum(['waiting', 'sent', 'failed']),
  attempts: z.number().int(),
  error: z.string().nullable(),
  updated_at: timestamp,
  sent_at: timestamp.nullable(),
})

export const channelThread = z.object({
  session_id: uuid.nullable(),
  started_by: uuid.nullable(),
  author: z.string(),
  created_at: timestamp,
})

export const channelLink = z.object({
  link_id: uuid,
  account_id: uuid,
  platform: z.enum(chatPlatforms),
  workspace_id: z.string(),
  workspace_name: z.string(),
  chat_user_id: z.string(),
  chat_user_name: z.string(),
  user_id: uuid,
  created_at: timestamp,
})
export type ChannelLink = z.infer<typeof channelLink>

/** What a platform needs to be told to reach this project. */
export const chatSetup = z.object({
  platform: z.enum(chatPlatforms),
  events_url: z.string(),
  interactions_url: z.string(),
  /** For the platform's "create an app from a manifest". */
  app_manifest: z.record(z.string(), z.json()),
  /** Why the platform will not reach this server; null when nothing speaks against it. */
  warning: z.string().nullable(),
})

const base = '/v1/projects/:projectId/channels'

export const listChannelsRoute = route({
  name: 'listChannels',
  summary: 'The chat channels of a project, and what a chat platform needs to be told to reach it',
  method: 'GET',
  path: base,
  access: 'project-read',
  query: pageOfWhole,
  pages: { list: 'channels', by: 'channel_id' },
  reply: z.object({
    channels: z.array(channel),
    setup: z.array(chatSetup),
    errors: z.array(manifestIssue),
  }),
})

export const connectChannelRoute = route({
  name: 'connectChannel',
  summary: 'Connect a channel of a chat workspace; a connected one gets the new credentials',
  method: 'POST',
  path: base,
  access: 'project-admin',
  body: z.object({
    platform: z.enum(chatPlatforms).default('slack'),
    bot_token: credential,
    signing_secret: credential,
    /** The platform's id of the channel, such as C0123456789. */
    conversation_id: z
      .string()
      .trim()
      .regex(/^[CG][A-Z0-9]{5,30}$/, 'is not the id of a channel: those look like C0123456789'),
    allow_unlinked: z.boolean().default(false),
  }),
  status: 201,
  reply: channel,
})

export const getChannelRoute = route({
  name: 'getChannel',
  summary: 'One channel with its newest threads and deliveries, and the members who are linked',
  method: 'GET',
  path: `${base}/:channelId`,
  access: 'project-read',
  reply: channel.extend({
    threads: z.array(channelThread),
    deliveries: z.array(channelDelivery),
    links: z.array(channelLink),
  }),
})

export const editChannelRoute = route({
  name: 'editChannel',
  summary: 'Say whether people of the workspace who are not linked may start sessions',
  method: 'PATCH',
  path: `${base}/:channelId`,
  access: 'project-admin',
  body: z.object({ allow_unlinked: z.boolean() }),
  reply: channel,
})

export const disconnectChannelRoute = route({
  name: 'disconnectChannel',
  summary: 'Disconnect a channel: its credentials are forgotten, its sessions stay',
  method: 'DELETE',
  path: `${base}/:channelId`,
  access: 'project-admin',
  reply: ok,
})

export const testChannelRoute = route({
  name: 'testChannel',
  summary: 'Write a message into the channel now, and say how it went',
  method: 'POST',
  path: `${base}/:channelId/test`,
  access: 'project-admin',
  reply: z.object({ sent: z.boolean(), error: z.string().nullable() }),
})

const code = z.object({ code: z.string().trim().min(10).max(100) })

export const claimLinkCodeRoute = route({
  name: 'claimLinkCode',
  summary: 'Whom a code of the chat app would link to you; from then on it is yours alone',
  method: 'POST',
  path: '/v1/channel-links/claim',
  access: 'user',
  body: code,
  reply: z.object({
    platform: z.enum(chatPlatforms),
    workspace_name: z.string(),
    chat_user_id: z.string(),
    chat_user_name: z.string(),
    /** What the platform knows of them, where it tells. */
    chat_user_email: z.string().nullable(),
    project_id: uuid,
    project_name: z.string(),
    account_name: z.string(),
    user_name: z.string(),
    user_email: z.string().nullable(),
    expires_at: timestamp,
  }),
})

export const linkChatUserRoute = route({
  name: 'linkChatUser',
  summary: 'Link the chat user of a claimed code to you: in chat they act as you',
  method: 'POST',
  path: '/v1/channel-links',
  access: 'user',
  body: code,
  status: 201,
  reply: channelLink,
})

export const listChannelLinksRoute = route({
  name: 'listChannelLinks',
  summary: 'The chat users who act as you',
  method: 'GET',
  path: '/v1/channel-links',
  access: 'user',
  query: pageOfWhole,
  pages: { list: null, by: 'link_id' },
  reply: z.array(channelLink),
})

export const unlinkChatUserRoute = route({
  name: 'unlinkChatUser',
  summary: 'Unlink a chat user of yours',
  method: 'DELETE',
  path: '/v1/channel-links/:linkId',
  access: 'user',
  reply: ok,
})
