import { attachmentFileName } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { type DaemonAddress, type DaemonOutcome, sendAttachment } from '../../sandboxes/daemon-client.ts'
import type { EarlierAttachment } from '../conversation/earlier-conversation.ts'
import { getSessionById } from '../store.ts'
import { attachmentOf } from './store.ts'

/** Sends the files of prompts, which the agent has to find when it reads the prompt. Null when all are sent. */
export async function sendAttachments(
  deps: Pick<Deps, 'db'>,
  daemon: DaemonAddress,
  { attachments }: { attachments: readonly EarlierAttachment[] },
): Promise<Exclude<DaemonOutcome<unknown>, { kind: 'ok' }> | null> {
  for (const { attachment_id, name, session_id: earlier } of attachments) {
    const stored = await attachmentOf(deps.db, earlier ?? daemon.sessionId, attachment_id)
    if (stored === null) {
      // The session that this one continues was deleted since.
      if (earlier !== undefined) continue
      if ((await getSessionById(deps.db, daemon.sessionId)) === null)
        return { kind: 'unavailable', reason: 'The session was deleted.' }
      // A retry would not find it either, and would block every later prompt.
      const reason = `The attachment ${name} is missing, so the prompt was not delivered. Send it again with the file.`
      return { kind: 'refused', code: 'attachment_missing', reason }
    }
    const outcome = await sendAttachment(daemon, {
      attachment_id,
      file_name: attachmentFileName(stored.name),
      content_base64: stored.content.toString('base64'),
    })
    if (outcome.kind !== 'ok') return outcome
  }
  return null
}
