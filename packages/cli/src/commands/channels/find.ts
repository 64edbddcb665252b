import type { ApiClient } from '@svc/contract/api'
import { reply } from '../../api.ts'
import { pick } from '../../ask.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import type { Channel } from '../../wire.ts'

export const channelArg = {
  summary: 'Its name or id (default: the only one there is)',
  optional: true,
} as const

const prefixMin = 4

/** By id, the first characters of it, the platform's id or the name; without any, the only one, or a picker. */
export async function findChannel(
  ctx: Context,
  { api, projectId }: { api: ApiClient; projectId: string },
  input: { named: string | undefined; command: string },
): Promise<Channel> {
  const { named, command } = input
  const { channels } = await reply(api.GET('/v1/projects/{projectId}/channels', { params: { path: { projectId } } }))
  if (channels.length === 0)
    throw new Refusal('not_found', 'No channel is connected to this project', { next: ['svc channels connect'] })
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
  const found = channels.filter(
    ({ channel_id, conversation_id, conversation_name }) =>
      conversation_id === wanted ||
      conversation_name === wanted ||
      (wanted.length >= prefixMin && channel_id.startsWith(wanted.toLowerCase())),
  )
  if (found.length === 1) return found[0]!
  if (found.length > 1)
    throw new Refusal('ambiguous', `${found.length} channels could be meant by ${JSON.stringify(named)}`, {
      hint: 'Give the id.',
      next: ['svc channels ls'],
    })
  throw new Refusal('not_found', `No channel ${JSON.stringify(named)} is connected`, { next: ['svc channels ls'] })
}

export const placeOf = ({ conversation_name }: Pick<Channel, 'conversation_name'>) => `#${conversation_name}`
