import { plain, type StoredMessage, type Word } from '../outbox/message.ts'
import type { ChannelPayload } from '../ingress/incoming.ts'
import { linkOf } from '../links/author.ts'
import { sendEphemeralReply } from '../outbox/ephemeral-reply.ts'
import type { ChannelEvent, EventDeps, EventOutcome } from '../ingress/channel-event.ts'

/** Handles `link`, `help` and an empty mention. */
export async function answerCommand(
  deps: EventDeps,
  { channel, row, payload }: ChannelEvent<ChannelPayload & { kind: 'command' }>,
): Promise<EventOutcome> {
  const { author, command } = payload
  const link = await linkOf(deps.db, channel, author)
  const words: Word[] =
    command === 'link'
      ? [
          link === null
            ? 'Link your account to act as yourself here.'
            : 'You are already linked. To link another account:',
        ]
      : ['Mention me with a task to start a session. Everything you write in its thread goes to the agent.']
  const body: StoredMessage = { summary: plain(words), parts: [{ kind: 'line', words }] }
  if (command === 'link' || link === null) body.invites = { workspaceId: author.workspaceId, chatUserId: author.userId }
  await sendEphemeralReply(deps, deps.db, channel, { author, key: row.delivery_id, threadId: row.thread_key }, body)
  return { kind: 'done' }
}
