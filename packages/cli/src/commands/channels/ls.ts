import { command } from '../../arguments/command.ts'
import { green, red, yellow } from '../../terminal/output.ts'
import { warnOfErrors } from '../triggers/labels.ts'
import { placeOf } from './find.ts'

export const ls = command({
  summary: 'List the chat channels of the project',
  scope: 'project',
  examples: ['svc channels ls', 'svc channels ls --json'],
  async run(ctx) {
    const project = await ctx.project()
    const found = await project.get('/channels')
    const { out } = ctx
    if (out.json) return out.document(found)
    if (found.channels.length === 0) out.note(`No channels yet. Connect one: ${ctx.next('svc channels connect')}`)
    else
      out.table(found.channels, [
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
