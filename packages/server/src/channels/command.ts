import { plain, type StoredMessage, type Word } from './message.ts'
import type { EventRow } from './inbox-store.ts'
import type { ChannelPayload } from './incoming.ts'
import { linkOf } from './author.ts'
import { whisper } from './say.ts'
import type { ChannelRow } from './store.ts'
import type { WorkDeps, Worked } from './work.ts'

/** `link` and `help`, and a mention that says nothing. */
export async function answerCommand(
  deps: WorkDeps,
  channel: ChannelRow,
  row: EventRow,
  payload: ChannelPayload & { kind: 'command' },
): Promise<Worked> {
  const { author, command } = payload
  const link = await linkOf(deps.db, channel, author)
  const words: Word[] =
    command === 'link'
      ? [
          link === null
            ? 'Link yourself, and you act here as yourself.'
            : 'You are linked already. To link yourself to somebody else:',
        ]
      : [
          'Mention me with what you want done, and I start a session. In its thread, everything you write goes to the agent.',
        ]
  const body: StoredMessage = { summary: plain(words), parts: [{ kind: 'line', words }] }
  if (command === 'link' || link === null) body.invites = { workspaceId: author.workspaceId, chatUserId: author.userId }
  await whisper(deps, deps.db, channel, { author, key: row.delivery_id, threadId: row.thread_key }, body)
  return { kind: 'done' }
}
