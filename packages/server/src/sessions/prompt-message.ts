import type { Message } from '@svc/contract'

/** A prompt that the agent did not get, as it stands in the conversation: where it was written, with the reason. */
export function promptMessage(
  prompt: { prompt_id: string; text: string; created_at: string },
  reason: string,
  at: Date,
): Message {
  return {
    message_id: prompt.prompt_id,
    role: 'user',
    created_at: prompt.created_at,
    completed_at: at.toISOString(),
    error: reason,
    parts: [{ type: 'text', id: `${prompt.prompt_id}-text`, text: prompt.text }],
  }
}
