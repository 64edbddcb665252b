import type { Message, Prompt } from '../queries.ts'

/**
 * A message of a sandbox that an earlier version started does not name its prompt, so its text is compared. Both are newest
 * first, because the oldest may be left out.
 */
export function promptsByMessage(messages: readonly Message[], newestFirst: readonly Prompt[]): Map<string, Prompt> {
  const byId = new Map(newestFirst.map((prompt) => [prompt.prompt_id, prompt]))
  const named = new Set(messages.map(({ prompt_id: id }) => id))
  const left = newestFirst.filter(({ prompt_id: id }) => !named.has(id))
  const found = new Map<string, Prompt>()
  for (const message of messages.toReversed()) {
    if (message.role !== 'user') continue
    if (message.prompt_id !== undefined) {
      const prompt = byId.get(message.prompt_id)
      if (prompt !== undefined) found.set(message.message_id, prompt)
      continue
    }
    const text = message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
    const at = left.findIndex(
      ({ prompt_id: id, text: sent }) => id === message.message_id || sent.trim() === text.trim(),
    )
    if (at !== -1) found.set(message.message_id, left.splice(at, 1)[0]!)
  }
  return found
}
