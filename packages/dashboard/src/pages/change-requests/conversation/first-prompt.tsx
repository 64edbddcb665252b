import { useQuery } from '@tanstack/react-query'
import { read } from '../../../cache/read.ts'
import { Time } from '../../../ui/text.tsx'

const firstPrompt = (projectId: string, sessionId: string) =>
  read(
    ['project', projectId, 'session', sessionId, 'first prompt'],
    '/v1/projects/{projectId}/sessions/{sessionId}/transcript',
    { path: { projectId, sessionId }, query: { from: 'start', limit: 5 } },
    {
      select: ({ messages }) => {
        const prompt = messages.find(({ role }) => role === 'user')
        const text = prompt?.parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n')
        return prompt === undefined || !text ? null : { text, at: prompt.created_at }
      },
      // Deleting a session deletes its transcript.
      retry: false,
    },
  )

/** The task behind the change. Empty if its session was deleted. */
export function FirstPrompt({ projectId, sessionId }: { projectId: string; sessionId: string }) {
  const { data } = useQuery(firstPrompt(projectId, sessionId))
  if (!data) return null
  return (
    <li className="flex flex-col gap-2">
      <p className="text-sm text-dim">
        Task <Time at={data.at} />
      </p>
      <section
        aria-label="Task"
        tabIndex={0}
        className="max-h-60 overflow-auto rounded-lg bg-raised px-4 py-3 whitespace-pre-wrap wrap-break-word"
      >
        {data.text}
      </section>
    </li>
  )
}
