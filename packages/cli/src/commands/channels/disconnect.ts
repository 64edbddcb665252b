import { confirm } from '../../terminal/ask.ts'
import { command } from '../../arguments/command.ts'
import { bold } from '../../terminal/output.ts'
import { channelArg, findChannel, placeOf } from './find.ts'

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
