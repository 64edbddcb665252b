import { scriptedModelName } from '@svc/contract/schemas/model-names'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, ApiError, onlyOnce, reply } from '../../api.ts'
import { useInvalidate } from '../../cache/invalidate.ts'
import { EmptyRepository } from '../../components/empty-repository.tsx'
import { Failure } from '../../components/failure.tsx'
import { NoModel } from '../../components/no-model.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { paths } from '../../paths.ts'
import { models } from '../settings/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Form, Input, sideBySide, TextArea } from '../../ui/field.tsx'
import { AttachButton, ChosenList, useChosenFiles } from './conversation/attach-files.tsx'

export function NewSession() {
  const { project_id: projectId, account_id: accountId, slug, default_branch: defaultBranch } = useProject()
  const [prompt, setPrompt] = useState('')
  const chosen = useChosenFiles()
  const [agent, setAgent] = useState('')
  const [base, setBase] = useState('')
  const [model, setModel] = useState('')
  const offered = useQuery(models).data ?? []
  const navigate = useNavigate()
  const make = useMutation({
    mutationFn: async () =>
      reply(
        api.POST('/v1/projects/{projectId}/sessions', {
          params: { path: { projectId }, header: onlyOnce() },
          body: {
            ...(prompt.trim() === '' ? {} : { initial_prompt: prompt }),
            ...(await chosen.read()),
            ...(agent.trim() === '' ? {} : { agent_name: agent.trim() }),
            ...(base.trim() === '' ? {} : { base_ref: base.trim() }),
            ...(model.trim() === '' ? {} : { model: model.trim() }),
          },
        }),
      ),
    onSuccess: ({ session_id }) => navigate({ to: paths.session, params: { project: slug, sessionId: session_id } }),
    onSettled: useInvalidate(['project', projectId, 'sessions']),
  })
  const roleRefusal = useWriteRefusal(accountId)
  const lacksTask = chosen.files.length > 0 && prompt.trim() === ''
  const refusal = roleRefusal ?? chosen.refusal ?? (lacksTask ? 'Describe the task for the attached files' : null)
  const start = () => refusal === null && !make.isPending && make.mutate()
  return (
    <Card title="New session">
      <NoModel />
      <Form onSubmit={start}>
        <TextArea label="Task (optional)" value={prompt} onChange={setPrompt} onSend={start} wide {...chosen.target} />
        <ChosenList chosen={chosen} />
        <details className="w-full">
          <summary className="text-sm text-dim">Agent, branch, and model</summary>
          <div className={`mt-2 ${sideBySide}`}>
            <Input
              label="Agent"
              hint="An agent on the default branch. Leave empty for the project's default."
              value={agent}
              onChange={setAgent}
            />
            <Input label="Base branch" placeholder={defaultBranch} value={base} onChange={setBase} />
            <Input
              label="Model"
              hint={`Leave empty for the default. ${scriptedModelName} runs a script without AI.`}
              list="models"
              autoComplete="off"
              value={model}
              onChange={setModel}
            />
            <datalist id="models">
              {[...offered.map(({ id }) => id), scriptedModelName].map((id) => (
                <option key={id} value={id} />
              ))}
            </datalist>
          </div>
        </details>
        <AttachButton chosen={chosen} />
        <Button type="submit" kind="primary" busy={make.isPending} disabledReason={refusal}>
          Start session
        </Button>
      </Form>
      {make.isError && <Failure error={make.error} />}
      {make.error instanceof ApiError && make.error.code === 'ref_not_found' && base.trim() === '' && (
        <EmptyRepository />
      )}
    </Card>
  )
}
