import { command } from '../../arguments/command.ts'
import { dim, green, red, yellow } from '../../terminal/output.ts'
import { channelArg, findChannel, placeOf } from './find.ts'

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
