import { reply } from '../../api.ts'
import { confirm } from '../../terminal/ask.ts'
import { command } from '../../arguments/command.ts'
import { bold, green } from '../../terminal/output.ts'
import { channelArg, findChannel, placeOf } from './find.ts'

export const disconnect = command({
  summary: 'Disconnect a channel: deletes its credentials and keeps its sessions',
  scope: 'project',
  args: { channel: channelArg },
  flags: { yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc channels disconnect dev', 'svc channels disconnect dev --yes'],
  async run(ctx, { args, flags }) {
    const at = await ctx.project()
    const channel = await findChannel(ctx, at, { named: args.channel, command: 'disconnect' })
    await confirm(ctx, {
      question: `Disconnect ${placeOf(channel)} of ${channel.workspace_name}?`,
      yes: flags.yes,
      corrected: `svc channels disconnect ${channel.channel_id.slice(0, 8)} --yes`,
    })
    const path = { projectId: at.projectId, channelId: channel.channel_id }
    await reply(at.api.DELETE('/v1/projects/{projectId}/channels/{channelId}', { params: { path } }))
    const { out } = ctx
    if (out.json) return out.document({ ok: true, channel_id: channel.channel_id })
    out.line(green('✓ '), 'Disconnected ', bold(placeOf(channel)))
  },
})
