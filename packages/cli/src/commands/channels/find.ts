import type { Channel } from '@svc/sdk'
import { findOne } from '../../arguments/find-one.ts'
import { pick } from '../../terminal/ask.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'

export const channelArg = {
  summary: 'Name or id of the channel (default: the only one)',
  optional: true,
} as const

/** Without an argument: the only channel, or a picker. */
export async function findChannel(
  ctx: Context,
  input: { named: string | undefined; command: string },
): Promise<Channel> {
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

export const placeOf = ({ conversation_name }: Pick<Channel, 'conversation_name'>) => `#${conversation_name}`
