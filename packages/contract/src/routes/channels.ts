/** Chat channels of a project: their messages, linked users, and setup. */
import { z } from 'zod'
import { manifestIssue } from './projects.ts'
import { named, ok, route, timestamp, uuid, wholeList } from '../route.ts'
import { repositoryErrors } from '../route-errors.ts'

export const chatPlatforms = ['slack'] as const

/** The values of `events` in a `[[channels]]` entry; a trailing `*` matches the rest. */
export const channelEvents = [
  'change_request.opened',
  'change_request.merged',
  'change_request.closed',
  'change_request.conflicted',
] as const

/** The largest clock difference of a signed delivery, as the platform recommends. */
export const chatSignatureSeconds = 300
export const chatStartsPerMinuteMax = 10
export const linkCodeMinutes = 15

/** Printable and without spaces: tokens and secrets go into headers. */
const credential = z
  .string()
  .trim()
  .min(8)
  .max(500)
  .regex(/^[\x21-\x7e]+$/, 'contains spaces or characters that no credential has')

export const channel = named('Channel', {
  channel_id: uuid,
  platform: z.enum(chatPlatforms),
  workspace_id: z.string(),
  workspace_name: z.string(),
  bot_name: z.string().describe('The name of the app in the workspace.'),
  conversation_id: z.string().describe("The platform's id of the channel."),
  conversation_name: z.string(),
  shared_externally: z.boolean().describe('Whether people outside the workspace can read the channel.'),
  allow_unlinked: z
    .boolean()
    .describe('Whether members of the workspace without a linked user act for the user who connected the channel.'),
  agent: z.string().nullable().describe('The agent from svc.toml on the default branch; null for the default agent.'),
  events: z.array(z.string()),
  error: z.string().nullable().describe('Why messages are not delivered now.'),
  waiting: z.number().int(),
  connected_by: uuid.nullable(),
  created_at: timestamp,
  updated_at: timestamp,
})
export type Channel = z.infer<typeof channel>

/** The state of one message. Never its text: readers of the project may not read the channel. */
export const channelDelivery = named('ChannelDelivery', {
  kind: z.enum(['answer', 'state', 'card', 'reply']),
  status: z.enum(['waiting', 'sent', 'failed']),
  attempts: z.number().int(),
  error: z.string().nullable(),
  updated_at: timestamp,
  sent_at: timestamp.nullable(),
})

export const channelThread = named('ChannelThread', {
  session_id: uuid.nullable(),
  started_by: uuid.nullable(),
  author: z.string(),
  created_at: timestamp,
})

export const channelLink = named('ChannelLink', {
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

/** The configuration that lets the platform reach this project. */
export const chatSetup = named('ChatSetup', {
  platform: z.enum(chatPlatforms),
  events_url: z.string(),
  interactions_url: z.string(),
  app_manifest: z.record(z.string(), z.json()).describe('For "Create an app from a manifest" on the platform.'),
  warning: z.string().nullable().describe('Why the platform cannot reach this server; null when it probably can.'),
})

const base = '/v1/projects/:projectId/channels'

export const listChannelsRoute = route.get('project-read', base, {
  name: 'listChannels',
  summary: 'List the chat channels of a project',
  description: '`setup` is what the chat platform needs in order to reach this server.',
  errors: [...repositoryErrors],
  ...wholeList('channels', 'channel_id'),
  reply: z.object({
    channels: z.array(channel),
    setup: z.array(chatSetup),
    errors: z.array(manifestIssue),
  }),
})

export const connectChannelRoute = route.post('project-admin', base, {
  name: 'connectChannel',
  summary: 'Connect a chat channel',
  description: 'The credentials are tested first. A channel that is already connected gets the new ones.',
  errors: ['unprocessable', ...repositoryErrors],
  body: z.object({
    platform: z.enum(chatPlatforms).default('slack'),
    bot_token: credential,
    signing_secret: credential,
    conversation_id: z
      .string()
      .trim()
      .regex(/^[CG][A-Z0-9]{5,30}$/, 'is not the id of a channel: those look like C0123456789')
      .describe("The platform's id of the channel, such as C0123456789."),
    allow_unlinked: z.boolean().default(false),
  }),
  status: 201,
  example: {
    body: {
      bot_token: 'xoxb-1-abcdef',
      signing_secret: '8f742231b10e8888abcd99yyyzzz85a5',
      conversation_id: 'C0123456789',
    },
  },
  reply: channel,
})

export const getChannelRoute = route.get('project-read', `${base}/:channelId`, {
  name: 'getChannel',
  summary: 'Get a chat channel',
  description: 'With its newest threads and deliveries, and the linked members.',
  errors: [...repositoryErrors],
  reply: channel.extend({
    threads: z.array(channelThread),
    deliveries: z.array(channelDelivery),
    links: z.array(channelLink),
  }),
})

export const editChannelRoute = route.patch('project-admin', `${base}/:channelId`, {
  name: 'editChannel',
  summary: 'Change who may start sessions from a channel',
  description: '`allow_unlinked` lets people of the workspace start sessions without linking their chat user.',
  errors: [...repositoryErrors],
  body: z.object({ allow_unlinked: z.boolean() }),
  example: { body: { allow_unlinked: true } },
  reply: channel,
})

export const disconnectChannelRoute = route.delete('project-admin', `${base}/:channelId`, {
  name: 'disconnectChannel',
  summary: 'Disconnect a chat channel',
  description: 'Deletes its credentials. Its sessions stay.',
  reply: ok,
})

export const testChannelRoute = route.post('project-admin', `${base}/:channelId/test`, {
  name: 'testChannel',
  summary: 'Send a test message to a channel',
  description: '`sent` and `error` report the outcome.',
  reply: z.object({ sent: z.boolean(), error: z.string().nullable() }),
})

const code = z.object({ code: z.string().trim().min(10).max(100) })

export const claimLinkCodeRoute = route.post('user', '/v1/channel-links/claim', {
  name: 'claimLinkCode',
  summary: 'Look up a link code of the chat app',
  description: 'Shows which chat user the code links to the caller, and reserves it for the caller.',
  errors: ['not_found', 'conflict', 'limit_reached'],
  body: code,
  reply: z.object({
    platform: z.enum(chatPlatforms),
    workspace_name: z.string(),
    chat_user_id: z.string(),
    chat_user_name: z.string(),
    chat_user_email: z
      .string()
      .nullable()
      .describe('The email address that the platform has for the user; null when unknown.'),
    project_id: uuid,
    project_name: z.string(),
    account_name: z.string(),
    user_name: z.string(),
    user_email: z.string().nullable(),
    expires_at: timestamp,
  }),
})

export const linkChatUserRoute = route.post('user', '/v1/channel-links', {
  name: 'linkChatUser',
  summary: 'Link a chat user to the caller',
  description: 'In chat, that user then acts as the caller.',
  errors: ['not_found', 'conflict', 'limit_reached'],
  body: code,
  status: 201,
  reply: channelLink,
})

export const listChannelLinksRoute = route.get('user', '/v1/channel-links', {
  name: 'listChannelLinks',
  summary: 'List the chat users linked to the caller',
  description: 'They act as the caller in chat.',
  ...wholeList(null, 'link_id'),
  reply: z.array(channelLink),
})

export const unlinkChatUserRoute = route.delete('user', '/v1/channel-links/:linkId', {
  name: 'unlinkChatUser',
  summary: 'Unlink a chat user',
  description: 'They no longer act as the caller.',
  reply: ok,
})
