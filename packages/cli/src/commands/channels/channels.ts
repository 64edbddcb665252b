import type { Channel } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import { findOne } from '../../arguments/find-one.ts'
import { quote } from '../../arguments/shell-word.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { askHidden, confirm, pick } from '../../terminal/ask.ts'
import { bold, dim, green, red, yellow } from '../../terminal/output.ts'
import { readStdin } from '../../terminal/read-stdin.ts'
import { warnOfErrors } from '../triggers/labels.ts'

const channelArg = {
  summary: 'Name or id of the channel (default: the only one)',
  optional: true,
} as const

/** Without an argument: the only channel, or a picker. */
async function findChannel(ctx: Context, input: { named: string | undefined; command: string }): Promise<Channel> {
  const { named, command } = input
  const { channels } = await ctx.project.get('/channels')
  if (channels.length === 0)
    throw new Refusal('not_found', 'This project has no connected channels', { next: ['svc channels connect'] })
  if (named === undefined) {
    if (channels.length === 1) return channels[0]!
    return pick(ctx, {
      question: 'Which channel?',
      missing: '<channel>',
      corrected: `svc channels ${command} ${channels[0]!.channel_id.slice(0, 8)}`,
      choices: channels.map((channel) => ({ value: channel, label: placeOf(channel), hint: channel.workspace_name })),
    })
  }
  const wanted = named.replace(/^#/, '')
  return findOne(channels, wanted, {
    what: ['channel', 'channels'],
    id: (channel) => channel.channel_id,
    isNamed: (channel) => channel.conversation_id === wanted || channel.conversation_name === wanted,
    next: ['svc channels ls'],
  })
}

const placeOf = ({ conversation_name }: Pick<Channel, 'conversation_name'>) => `#${conversation_name}`

export const ls = command({
  summary: 'List the chat channels of the project',
  scope: 'project',
  examples: ['svc channels ls', 'svc channels ls --json'],
  async run({ out, project, next }) {
    const found = await project.get('/channels')
    out.list(found, found.channels, `No channels yet. Connect one: ${next('svc channels connect')}`, [
      { title: 'CHANNEL', of: placeOf },
      { title: 'WORKSPACE', of: (channel) => channel.workspace_name },
      { title: 'ID', of: (channel) => channel.channel_id.slice(0, 8) },
      { title: 'AGENT', of: (channel) => channel.agent ?? 'default' },
      {
        title: 'STATE',
        of: (channel) =>
          channel.error !== null
            ? red(channel.error)
            : channel.waiting > 0
              ? yellow(`${channel.waiting} waiting`)
              : green('connected'),
        shrink: true,
      },
    ])
    warnOfErrors(out, found.errors)
  },
})

export const show = command({
  summary: 'Show a channel with its newest threads and messages, and who is linked',
  scope: 'project',
  args: { channel: channelArg },
  examples: ['svc channels show', 'svc channels show dev --json'],
  async run(ctx, { args }) {
    const { channel_id: channelId } = await findChannel(ctx, { named: args.channel, command: 'show' })
    const found = await ctx.project.get('/channels/{channelId}', { path: { channelId } })
    const { out } = ctx
    if (out.json) return out.document(found)
    out.fields([
      ['channel', `${placeOf(found)} (${found.conversation_id})`],
      ['workspace', found.workspace_name],
      ['app', `@${found.bot_name}`],
      ['state', found.error === null ? green('connected') : red(found.error)],
      ['agent', found.agent ?? dim('the default')],
      ['notifies about', found.events.length === 0 ? dim('its own sessions') : found.events.join(', ')],
      ['unlinked users', found.allow_unlinked ? yellow('may start sessions') : 'have no access'],
      ['read by', found.shared_externally ? yellow('people outside the workspace, too') : null],
      ['connected', out.time(found.created_at)],
      ['id', found.channel_id],
    ])
    out.section(found.links, [
      { title: 'LINKED', of: (link) => link.chat_user_name },
      { title: 'USER', of: (link) => link.user_id.slice(0, 8) },
      { title: 'SINCE', of: (link) => out.time(link.created_at) },
    ])
    out.section(found.threads.slice(0, 10), [
      { title: 'THREAD OF', of: (thread) => thread.author },
      { title: 'SESSION', of: (thread) => thread.session_id?.slice(0, 8) ?? dim('none') },
      { title: 'BEGAN', of: (thread) => out.time(thread.created_at) },
    ])
    const colour = { sent: green, waiting: yellow, failed: red }
    out.section(found.deliveries.slice(0, 15), [
      { title: 'MESSAGE', of: (delivery) => delivery.kind },
      { title: 'STATE', of: (delivery) => colour[delivery.status](delivery.status) },
      { title: 'CHANGED', of: (delivery) => out.time(delivery.updated_at) },
      { title: 'WHY', of: (delivery) => delivery.error ?? '', shrink: true },
    ])
  },
})

export const test = command({
  summary: 'Send a test message to a channel',
  scope: 'project',
  args: { channel: channelArg },
  examples: ['svc channels test', 'svc channels test dev --json'],
  async run(ctx, { args }) {
    const channel = await findChannel(ctx, { named: args.channel, command: 'test' })
    const went = await ctx.project.post('/channels/{channelId}/test', { path: { channelId: channel.channel_id } })
    if (!went.sent)
      throw new Refusal(
        'not_available',
        `${placeOf(channel)} did not accept the message: ${went.error ?? 'no reason given'}`,
        {
          hint: 'To replace its token, connect the channel again.',
          next: [
            `svc channels show ${channel.channel_id.slice(0, 8)}`,
            `svc channels connect --channel ${channel.conversation_id}`,
          ],
        },
      )
    ctx.out.done(went, 'Sent a message to ', bold(placeOf(channel)), ` of ${channel.workspace_name}`)
  },
})

export const disconnect = command({
  summary: 'Disconnect a channel: deletes its credentials and keeps its sessions',
  scope: 'project',
  args: { channel: channelArg },
  flags: { yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc channels disconnect dev', 'svc channels disconnect dev --yes'],
  async run(ctx, { args, flags }) {
    const channel = await findChannel(ctx, { named: args.channel, command: 'disconnect' })
    await confirm(ctx, {
      question: `Disconnect ${placeOf(channel)} of ${channel.workspace_name}?`,
      yes: flags.yes,
      corrected: `svc channels disconnect ${channel.channel_id.slice(0, 8)} --yes`,
    })
    const path = { channelId: channel.channel_id }
    await ctx.project.delete('/channels/{channelId}', { path })
    ctx.out.done({ ok: true, channel_id: channel.channel_id }, 'Disconnected ', bold(placeOf(channel)))
  },
})

export const link = command({
  summary: 'Link a chat user to yourself with the code from the chat',
  about: [
    'Mention the app in a connected channel and write "link": it sends you a code that only you can see. The chat user in the confirmation can then act as you, so never confirm a code that you got from another person.',
  ],
  scope: 'host',
  args: {
    code: { summary: "The code from the app's reply", hint: 'Mention the app in the channel and write "link".' },
  },
  flags: { yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc channels link 3kTq…', 'svc channels link 3kTq… --yes'],
  async run(ctx, { args, flags }) {
    const body = { code: args.code }
    const found = await ctx.api.post('/v1/channel-links/claim', { body })
    const { out } = ctx
    const address = (name: string, email: string | null) => (email === null ? name : `${name} <${email}>`)
    const them = `${address(found.chat_user_name, found.chat_user_email)} of ${found.workspace_name}`
    const hasOther =
      found.chat_user_email !== null && found.user_email !== null && found.chat_user_email !== found.user_email
    if (hasOther) out.warn(`Their email address in the chat differs from yours (${found.user_email}). Is that you?`)
    await confirm(ctx, {
      question: `Let ${them} act as you, ${address(found.user_name, found.user_email)}, in ${found.account_name}?`,
      yes: flags.yes,
      corrected: `svc channels link ${quote(args.code)} --yes`,
    })
    const made = await ctx.api.post('/v1/channel-links', { body })
    out.done(made, bold(made.chat_user_name), ` of ${made.workspace_name} acts as you`)
    out.note(`To unlink: ${ctx.next('svc channels unlink')}`)
  },
})

export const unlink = command({
  summary: 'Unlink a chat user who acts as you',
  scope: 'host',
  args: { user: { summary: 'Name or id of the chat user (default: the only one)', optional: true } },
  examples: ['svc channels unlink', 'svc channels unlink Ada --json'],
  async run(ctx, { args }) {
    const links = await ctx.api.get('/v1/channel-links')
    const fitting = links.filter(
      (link) => args.user === undefined || [link.chat_user_name, link.chat_user_id, link.link_id].includes(args.user),
    )
    if (fitting.length === 0)
      throw new Refusal(
        'not_found',
        args.user === undefined
          ? 'No chat user is linked to you'
          : `No chat user ${JSON.stringify(args.user)} is linked to you`,
        {
          next: ['svc channels link <code>'],
        },
      )
    const link =
      fitting.length === 1
        ? fitting[0]!
        : await pick(ctx, {
            question: 'Who?',
            missing: '<user>',
            corrected: `svc channels unlink ${fitting[0]!.chat_user_id}`,
            choices: fitting.map((each) => ({ value: each, label: each.chat_user_name, hint: each.workspace_name })),
          })
    await ctx.api.delete('/v1/channel-links/{linkId}', { path: { linkId: link.link_id } })
    ctx.out.done(
      { ok: true, link_id: link.link_id },
      bold(link.chat_user_name),
      ` of ${link.workspace_name} is no longer linked to you`,
    )
  },
})

export const connect = command({
  summary: 'Connect a channel of a chat workspace to the project',
  about: [
    'First create the app: --app-manifest prints the manifest for Slack\'s "Create New App", "From a manifest". Install the app and invite it to the channel.',
    'The server tests the bot token and the signing secret, stores them encrypted and never shows them. A terminal prompts for them; --credentials - reads them from stdin: the token on the first line, the secret on the second. Connecting a channel again replaces them.',
  ],
  scope: 'project',
  flags: {
    channel: { kind: 'text', summary: 'Id of the channel, at the end of its details in Slack', value: 'C0123456789' },
    credentials: { kind: 'text', summary: '- reads token and secret from stdin, one per line', value: '-' },
    platform: { kind: 'choice', summary: 'The chat platform', choices: ['slack'] },
    'allow-unlinked': {
      kind: 'switch',
      summary: 'Let unlinked members of the workspace start sessions on your behalf',
    },
    'app-manifest': { kind: 'switch', summary: 'Print the app manifest and exit' },
  },
  examples: [
    'svc channels connect --app-manifest',
    'svc channels connect --channel C0123456789',
    'svc channels connect --channel C0123456789 --credentials - < slack.txt',
  ],
  async run(ctx, { flags }) {
    const { out } = ctx
    await ctx.project.id()
    if (flags['app-manifest']) {
      const { setup } = await ctx.project.get('/channels')
      const found = setup.find(({ platform }) => platform === (flags.platform ?? 'slack'))
      if (found?.warning) out.warn(found.warning)
      if (out.json) return out.document(found?.app_manifest ?? {})
      for (const text of JSON.stringify(found?.app_manifest ?? {}, null, 2).split('\n')) out.line(text)
      return
    }
    const conversation = flags.channel
    if (conversation === undefined)
      throw new UsageError('Missing --channel', {
        hint: "Find the id at the end of the channel's details in Slack.",
        next: ['svc channels connect --channel C0123456789', 'svc channels connect --app-manifest'],
      })
    const { token, secret } = await credentials(ctx, flags.credentials)
    const made = await ctx.project.post('/channels', {
      body: {
        platform: flags.platform ?? 'slack',
        bot_token: token,
        signing_secret: secret,
        conversation_id: conversation,
        allow_unlinked: flags['allow-unlinked'],
      },
    })
    if (out.json) return out.document(made)
    out.line(
      green('✓ '),
      bold(placeOf(made)),
      ` of ${made.workspace_name} is connected; the app is @${made.bot_name} there`,
    )
    if (made.shared_externally) out.warn('People outside the workspace can read this channel, and so the answers.')
    out.note(`Let Slack verify the request URL, then run: ${ctx.next('svc channels test')}`)
    out.note(`Link yourself: write "@${made.bot_name} link" in the channel.`)
  },
})

async function credentials(ctx: Context, from: string | undefined): Promise<{ token: string; secret: string }> {
  const corrected = ['svc channels connect --channel C0123456789 --credentials - < slack.txt']
  if (from === undefined) {
    const token = await askHidden(ctx, {
      question: 'Bot User OAuth Token (xoxb-…)',
      missing: '--credentials',
      corrected: corrected[0]!,
    })
    const secret = await askHidden(ctx, {
      question: 'Signing secret',
      missing: '--credentials',
      corrected: corrected[0]!,
    })
    return { token, secret }
  }
  // As arguments, these would be in the shell's history and in the process list.
  if (from !== '-') throw new UsageError('--credentials accepts only -, which reads stdin', { next: corrected })
  const lines = (await readStdin(ctx.io, 'the bot token, and the signing secret on the next line'))
    .split('\n')
    .map((text) => text.trim())
    .filter((text) => text !== '')
  if (lines.length !== 2)
    throw new UsageError('stdin must have two lines: the bot token, then the signing secret', { next: corrected })
  return { token: lines[0]!, secret: lines[1]! }
}
