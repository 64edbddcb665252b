import { scriptedModelName } from '@svc/contract/model-names'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, ApiError, onlyOnce, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { EmptyRepository } from '../../components/empty-repository.tsx'
import { Failure } from '../../components/failure.tsx'
import { NoModel } from '../../components/no-model.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { paths } from '../../paths.ts'
import { models } from '../../model-queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Form, Input, sideBySide, TextArea } from '../../ui/field.tsx'

export function NewSession() {
  const { project_id: projectId, account_id: accountId, slug, default_branch: defaultBranch } = useProject()
  const [prompt, setPrompt] = useState('')
  const [agent, setAgent] = useState('')
  const [base, setBase] = useState('')
  const [model, setModel] = useState('')
  const offered = useQuery(models).data ?? []
  const queries = useQueryClient()
  const navigate = useNavigate()
  const make = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/projects/{projectId}/sessions', {
          params: { path: { projectId }, header: onlyOnce() },
          body: {
            ...(prompt.trim() === '' ? {} : { initial_prompt: prompt }),
            ...(agent.trim() === '' ? {} : { agent_name: agent.trim() }),
            ...(base.trim() === '' ? {} : { base_ref: base.trim() }),
            ...(model.trim() === '' ? {} : { model: model.trim() }),
          },
        }),
      ),
    onSuccess: ({ session_id }) => navigate({ to: paths.session, params: { project: slug, sessionId: session_id } }),
    onSettled: askAgain(queries, ['project', projectId, 'sessions']),
  })
  const refusal = useWriteRefusal(accountId)
  const start = () => refusal === null && !make.isPending && make.mutate()
  return (
    <Card title="Start a session">
      <NoModel />
      <Form onSubmit={start}>
        <TextArea
          label="What the agent is to do (or nothing, and say it later)"
          value={prompt}
          onChange={(event) => setPrompt(event.target.value)}
          onSend={start}
          wide
        />
        <details className="w-full">
          <summary className="text-sm text-dim">Agent, branch and model</summary>
          <div className={`mt-2 ${sideBySide}`}>
            <Input
              label="Agent"
              hint="One of the default branch; empty for the project's own choice."
              value={agent}
              onChange={(event) => setAgent(event.target.value)}
            />
            <Input
              label="Start from the branch"
              placeholder={defaultBranch}
              value={base}
              onChange={(event) => setBase(event.target.value)}
            />
            <Input
              label="Model"
              hint={`Empty for the usual one. ${scriptedModelName} plays a script and needs no AI.`}
              list="models"
              autoComplete="off"
              value={model}
              onChange={(event) => setModel(event.target.value)}
            />
            <datalist id="models">
              {[...offered.map(({ id }) => id), scriptedModelName].map((id) => (
                <option key={id} value={id} />
              ))}
            </datalist>
          </div>
        </details>
        <Button type="submit" kind="primary" busy={make.isPending} disabledReason={refusal}>
          Start
        </Button>
      </Form>
      {make.isError && <Failure error={make.error} />}
      {make.error instanceof ApiError && make.error.code === 'ref_not_found' && base.trim() === '' && (
        <EmptyRepository />
      )}
    </Card>
  )
}
