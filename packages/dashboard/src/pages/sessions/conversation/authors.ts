/** Who wrote the prompts of a conversation. A message does not say it; the prompt with its text does. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { me, members } from '../../account/queries.ts'
import { type Message, newestPrompts, type Prompt, type Session } from '../queries.ts'

export type AuthorOf = (message: Pick<Message, 'message_id'>) => string

export function useAuthors(session: Session, messages: readonly Message[]): AuthorOf {
  const own = useQuery(me).data?.user.user_id
  const { data: known } = useQuery({ ...members(session.account_id), staleTime: 60_000 })
  const sent = messages.filter(({ role }) => role === 'user').length
  const { data: prompts } = useQuery(newestPrompts(session, sent))
  return useMemo(() => {
    const written = promptsByMessage(messages, prompts ?? [])
    return ({ message_id: id }) => {
      const prompt = written.get(id)
      const isFirst = prompt === undefined ? messages[0]?.message_id === id : prompt.prompt_id === session.session_id
      const starter = isFirst ? starterOf(session) : null
      if (starter !== null) return starter
      const userId = prompt === undefined ? session.created_by : prompt.created_by
      if (userId === null) return 'Prompt'
      return userId === own ? 'You' : (known?.find(({ user_id }) => user_id === userId)?.name ?? 'A former member')
    }
  }, [session, messages, prompts, own, known])
}

/** A trigger or the agent of another session began it. */
function starterOf({ metadata, parent_session_id: parent }: Session): string | null {
  const slug = (metadata['trigger'] as { slug?: unknown } | undefined)?.slug
  if (typeof slug === 'string') return `Trigger ${slug}`
  return parent === null ? null : 'Agent of another session'
}

/** A delivered prompt has an id of the runtime, so its text is compared. Both are newest first, because the oldest may be left out. */
export function promptsByMessage(messages: readonly Message[], newestFirst: readonly Prompt[]): Map<string, Prompt> {
  const left = [...newestFirst]
  const found = new Map<string, Prompt>()
  for (const message of messages.toReversed()) {
    if (message.role !== 'user') continue
    const text = message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
    const at = left.findIndex(
      ({ prompt_id: id, text: sent }) => id === message.message_id || sent.trim() === text.trim(),
    )
    if (at !== -1) found.set(message.message_id, left.splice(at, 1)[0]!)
  }
  return found
}
