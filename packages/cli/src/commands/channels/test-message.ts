import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import { Refusal } from '../../errors.ts'
import { bold, green } from '../../output.ts'
import { channelArg, findChannel, placeOf } from './find.ts'

export const test = command({
  summary: 'Write a message into a channel now, and say how it went',
  scope: 'project',
  args: { channel: channelArg },
  flags: {},
  examples: ['svc channels test', 'svc channels test dev --json'],
  async run(ctx, { args }) {
    const at = await ctx.project()
    const channel = await findChannel(ctx, at, { named: args.channel, command: 'test' })
    const { out } = ctx
    const went = await reply(
      at.api.POST('/v1/projects/{projectId}/channels/{channelId}/test', {
        params: { path: { projectId: at.projectId, channelId: channel.channel_id } },
      }),
    )
    if (!went.sent)
      throw new Refusal(
        'not_available',
        `${placeOf(channel)} did not take the message: ${went.error ?? 'no reason given'}`,
        {
          hint: 'Connecting the channel again gives it another token.',
          next: [
            `svc channels show ${channel.channel_id.slice(0, 8)}`,
            `svc channels connect --channel ${channel.conversation_id}`,
          ],
        },
      )
    if (out.json) return out.document(went)
    out.line(green('✓ '), 'Written into ', bold(placeOf(channel)), ` of ${channel.workspace_name}`)
  },
})
