/** Finds who wrote the prompts of a conversation, and for which agent, by the prompt that each message names. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { me, members } from '../../account/queries.ts'
import { type Message, newestPrompts, type Prompt, type Session } from '../queries.ts'
import { promptsByMessage } from './prompts-by-message.ts'

interface Authors {
  authorOf: (message: Pick<Message, 'message_id'>) => string
  /** The agent and the model of a prompt. Empty where they are unknown. */
  agentFor: (message: Pick<Message, 'message_id'> | undefined) => string
}

export function useAuthors(session: Session, messages: readonly Message[]): Authors {
  const own = useQuery(me).data?.user.user_id
  const { data: people } = useQuery({ ...members(session.account_id), staleTime: 60_000 })
  const sent = messages.filter(({ role }) => role === 'user').length
  const { data: prompts } = useQuery(newestPrompts(session, sent))
  return useMemo(() => {
    const written = promptsByMessage(messages, prompts ?? [])
    const agentNow = agentText(session)
    const known = [...written.values()].filter((prompt) => prompt.agent_name !== null)
    // Until a prompt chooses another one, the agent of the session is the one that the first prompt had.
    const ofUnknown = known.every((prompt) => agentText(prompt) === agentNow) ? agentNow : ''
    const agentFor: Authors['agentFor'] = (message) => {
      const prompt = message === undefined ? undefined : written.get(message.message_id)
      return prompt === undefined || prompt.agent_name === null ? ofUnknown : agentText(prompt)
    }
    const authorOf: Authors['authorOf'] = ({ message_id: id }) => {
      const prompt = written.get(id)
      const isFirst = prompt === undefined ? messages[0]?.message_id === id : prompt.prompt_id === session.session_id
      const starter = isFirst ? starterOf(session) : null
      if (starter !== null) return starter
      const userId = prompt === undefined ? session.created_by : prompt.created_by
      if (userId === null) return 'Prompt'
      return userId === own ? 'You' : (people?.find(({ user_id }) => user_id === userId)?.name ?? 'A former member')
    }
    return { authorOf, agentFor }
  }, [session, messages, prompts, own, people])
}

const agentText = ({ agent_name: agent, model }: Pick<Prompt, 'agent_name' | 'model'>) =>
  model === null ? (agent ?? '') : `${agent} · ${model}`

/** A trigger or the agent of another session began it. */
function starterOf({ metadata, parent_session_id: parent }: Session): string | null {
  const slug = (metadata['trigger'] as { slug?: unknown } | undefined)?.slug
  if (typeof slug === 'string') return `Trigger ${slug}`
  return parent === null ? null : 'Agent of another session'
}
