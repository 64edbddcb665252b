import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, onlyOnce, reply } from '../../api.ts'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { paths } from '../../paths.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Form, TextArea } from '../../ui/field.tsx'

export function NewSession() {
  const { project_id: projectId, slug } = useProject()
  const [prompt, setPrompt] = useState('')
  const queries = useQueryClient()
  const navigate = useNavigate()
  const make = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/projects/{projectId}/sessions', {
          params: { path: { projectId }, header: onlyOnce() },
          body: prompt.trim() === '' ? {} : { initial_prompt: prompt },
        }),
      ),
    onSuccess: ({ session_id }) => navigate({ to: paths.session, params: { project: slug, sessionId: session_id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['project', projectId, 'sessions'] }),
  })
  return (
    <Card title="Start a session">
      <Form onSubmit={() => !make.isPending && make.mutate()}>
        <TextArea
          label="What the agent is to do (or nothing, and say it later)"
          value={prompt}
          onChange={(event) => setPrompt(event.target.value)}
        />
        <Button type="submit" kind="primary" busy={make.isPending}>
          Start
        </Button>
      </Form>
      {make.isError && <Failure error={make.error} />}
    </Card>
  )
}
