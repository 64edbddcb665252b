import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { api, onlyOnce, reply } from '../../api.ts'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { SessionStatus } from '../../components/status.tsx'
import { session, transcript } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Loading } from '../../ui/loading.tsx'

const route = getRouteApi('/shell/projects/$project/sessions/$sessionId')

export function SessionPage() {
  const { project_id } = useProject()
  const { sessionId } = route.useParams()
  const found = useQuery(session(project_id, sessionId))
  if (found.isPending) return <Loading what="the session" />
  if (found.isError) return <Failure error={found.error} retry={() => void found.refetch()} />
  return (
    <div className="flex flex-col gap-4">
      <h1 className="flex flex-wrap items-center gap-2 text-xl font-semibold">
        {found.data.name} <SessionStatus status={found.data.status} />
      </h1>
      {found.data.error !== null && <p className="text-bad">{found.data.error}</p>}
      <Conversation projectId={project_id} sessionId={sessionId} />
      <PromptBox projectId={project_id} sessionId={sessionId} />
    </div>
  )
}

function Conversation({ projectId, sessionId }: { projectId: string; sessionId: string }) {
  const found = useQuery(transcript(projectId, sessionId))
  if (found.isPending) return <Loading what="the conversation" />
  if (found.isError) return <Failure error={found.error} retry={() => void found.refetch()} />
  return (
    <ol aria-label="Conversation" className="flex flex-col gap-3">
      {found.data.messages.map((message) => (
        <li key={message.message_id} className={message.role === 'user' ? 'rounded-lg bg-raised px-4 py-3' : 'px-4'}>
          {message.parts.map((part) => (
            <p key={part.id} className={part.type === 'text' ? 'whitespace-pre-wrap' : 'text-sm text-dim'}>
              {part.type === 'tool' ? `${part.tool}: ${part.title}` : part.text}
            </p>
          ))}
          {message.error !== null && <p className="text-bad">{message.error}</p>}
        </li>
      ))}
    </ol>
  )
}

function PromptBox({ projectId, sessionId }: { projectId: string; sessionId: string }) {
  const [text, setText] = useState('')
  const queries = useQueryClient()
  const send = useMutation({
    mutationFn: (text: string) =>
      reply(
        api.POST('/v1/projects/{projectId}/sessions/{sessionId}/prompt', {
          params: { path: { projectId, sessionId }, header: onlyOnce() },
          body: { text },
        }),
      ),
    onSuccess: () => setText(''),
    onSettled: () => queries.invalidateQueries({ queryKey: ['project', projectId, 'sessions'] }),
  })
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() !== '') send.mutate(text)
      }}
    >
      {send.isError && <Failure error={send.error} />}
      <label className="flex flex-col gap-1 text-sm text-dim">
        Prompt
        <textarea
          className="min-h-24 rounded-md border border-line-strong bg-ground p-3 text-text"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <Button
        type="submit"
        kind="primary"
        className="self-end"
        busy={send.isPending}
        disabledReason={text.trim() === '' ? 'Write a prompt first' : null}
      >
        Send
      </Button>
    </form>
  )
}
