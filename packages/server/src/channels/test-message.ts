import { auditEvent, recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { openCredentials } from './credentials.ts'
import { line } from './outbox/message.ts'
import { platformOf } from './platforms.ts'
import { requireChannel, updateChannel } from './store.ts'

/** Bypasses the outbox, because the caller waits for the result. Success ends a pause of the channel. */
export async function testChannel(
  deps: Pick<Deps, 'db' | 'config' | 'keyring'>,
  input: { project: ProjectRow; caller: Caller; channelId: string },
): Promise<{ sent: boolean; error: string | null }> {
  const { project } = input
  const channel = await requireChannel(deps.db, project.project_id, input.channelId)
  const sent = await platformOf(deps.config, channel.platform).send(openCredentials(deps, project, channel), {
    conversationId: channel.conversation_id,
    threadId: null,
    externalId: null,
    recipient: null,
    message: line(
      'This channel is connected to the project ',
      { bold: project.name },
      '. Mention me to start a session.',
    ),
  })
  const error = sent.kind === 'sent' ? null : sent.reason
  await deps.db.transaction().execute(async (trx) => {
    if (error === null) await updateChannel(trx, channel.channel_id, { error: null, paused_until: null })
    else if (sent.kind === 'broken') await updateChannel(trx, channel.channel_id, { error })
    await recordAudit(trx, input.caller, {
      ...auditEvent(channel, 'channel.test', 'channel', channel.channel_id),
      after: { error },
    })
  })
  return { sent: error === null, error }
}
