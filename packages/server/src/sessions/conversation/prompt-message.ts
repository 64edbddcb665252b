import type { Attachment, Message } from '@svc/contract'

/** The message for a prompt that the agent never received, with the reason. */
export function promptMessage(
  prompt: { prompt_id: string; text: string; created_at: string; attachments: Attachment[] },
  reason: string,
  at: Date,
): Message {
  return {
    message_id: prompt.prompt_id,
    role: 'user',
    created_at: prompt.created_at,
    completed_at: at.toISOString(),
    error: reason,
    parts: [
      { type: 'text', id: `${prompt.prompt_id}-text`, text: prompt.text },
      ...prompt.attachments.map((each) => ({ type: 'file' as const, id: each.attachment_id, ...each })),
    ],
  }
}
