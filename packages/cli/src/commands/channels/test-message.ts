import { command } from '../../arguments/command.ts'
import { Refusal } from '../../errors.ts'
import { bold } from '../../terminal/output.ts'
import { channelArg, findChannel, placeOf } from './find.ts'

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
