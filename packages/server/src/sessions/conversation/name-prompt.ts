import type { Message } from '@svc/contract'
import { isPromptId, promptIdInPart } from '@svc/contract/daemon/prompt-part'

/** Names the prompt of a message. A prompt that the agent never received is a message with the id of the prompt. */
export function namePrompt(message: Omit<Message, 'prompt_id'>): Message {
  if (message.role !== 'user') return message
  if (isPromptId(message.message_id)) return { ...message, prompt_id: message.message_id }
  for (const part of message.parts) {
    const promptId = part.type === 'text' ? promptIdInPart(part.id) : null
    if (promptId !== null) return { ...message, prompt_id: promptId }
  }
  return message
}
