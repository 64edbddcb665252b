import { attachmentFileName, attachmentsNote, type PromptReply } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { type DaemonAddress, type DaemonOutcome, sendAttachment, sendPrompt } from '../../sandboxes/daemon-client.ts'
import type { AcceptedPrompt } from '../conversation/prompt-store.ts'
import { getSessionById } from '../store.ts'
import { attachmentOf } from './store.ts'

/** Sends the files before the prompt that names them, so that the agent finds every file. */
export async function deliverPrompt(
  deps: Pick<Deps, 'db'>,
  daemon: DaemonAddress,
  { prompt_id, text, attachments }: AcceptedPrompt,
): Promise<DaemonOutcome<PromptReply>> {
  for (const { attachment_id, name } of attachments) {
    const stored = await attachmentOf(deps.db, daemon.sessionId, attachment_id)
    if (stored === null) {
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
  return sendPrompt(daemon, {
    text,
    prompt_id,
    ...(attachments.length === 0 ? {} : { note: attachmentsNote(attachments) }),
  })
}
