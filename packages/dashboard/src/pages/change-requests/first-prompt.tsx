import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, reply } from '../../api.ts'
import { Time } from '../../ui/time.tsx'

/** What somebody wrote to a session at first; null while nobody did. */
const firstPrompt = (projectId: string, sessionId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'session', sessionId, 'first prompt'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/sessions/{sessionId}/transcript', {
          params: { path: { projectId, sessionId }, query: { from: 'start', limit: 5 } },
          signal,
        }),
      ),
    select: ({ messages }) => {
      const prompt = messages.find(({ role }) => role === 'user')
      const text = prompt?.parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n')
      return prompt === undefined || !text ? null : { text, at: prompt.created_at }
    },
    // A session that was deleted took it along.
    retry: false,
  })

/** What the change is the answer to. Nothing where it cannot be read any more. */
export function FirstPrompt({ projectId, sessionId }: { projectId: string; sessionId: string }) {
  const { data } = useQuery(firstPrompt(projectId, sessionId))
  if (!data) return null
  return (
    <li className="flex flex-col gap-2">
      <p className="text-sm text-dim">
        Its session was asked <Time at={data.at} />
      </p>
      <section
        aria-label="What its session was asked"
        tabIndex={0}
        className="max-h-60 overflow-auto rounded-lg bg-raised px-4 py-3 whitespace-pre-wrap wrap-break-word"
      >
        {data.text}
      </section>
    </li>
  )
}
