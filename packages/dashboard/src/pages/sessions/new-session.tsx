import { scriptedModelName } from '@svc/contract/schemas/model-names'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ApiError } from '../../api.ts'
import { useTyped } from '../../browser/use-stored.ts'
import { SendForm, useSend } from '../../components/requests.tsx'
import { EmptyRepository } from '../../components/empty-repository.tsx'
import { NoModel } from '../../components/no-model.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { paths } from '../../paths.ts'
import type { Project } from '../projects/queries.ts'
import { models } from '../settings/queries.ts'
import { Card } from '../../ui/layout.tsx'
import { fieldsOf, Input, sideBySide, TextArea } from '../../ui/form.tsx'
import { AttachButton, ChosenList, useChosenFiles } from './conversation/attach-files.tsx'

const nothing = { prompt: '', agent: '', base: '', model: '' }

export function NewSession({ project }: { project: Project }) {
  const { project_id: projectId, account_id: accountId, slug, default_branch: defaultBranch } = project
  const [typed, setTyped] = useTyped(`svc-new-session-${projectId}`, nothing)
  const { values, field } = fieldsOf(typed, setTyped)
  const { prompt } = values
  const [agent, base, model] = [values.agent.trim(), values.base.trim(), values.model.trim()]
  const chosen = useChosenFiles(`new-session-${projectId}`)
  const offered = useQuery(models).data ?? []
  const navigate = useNavigate()
  const make = useSend('POST', '/v1/projects/{projectId}/sessions', {
    request: async (prompt: string) => ({
      path: { projectId },
      body: {
        ...(prompt.trim() === '' ? {} : { initial_prompt: prompt }),
        ...(await chosen.read()),
        ...(agent === '' ? {} : { agent_name: agent }),
        ...(base === '' ? {} : { base_ref: base }),
        ...(model === '' ? {} : { model }),
      },
    }),
    once: true,
    onSuccess: ({ session_id }, sent) => {
      setTyped((now) => (now.prompt === sent ? nothing : now))
      chosen.clear()
      return navigate({ to: paths.session, params: { project: slug, sessionId: session_id } })
    },
    refetch: [['project', projectId, 'sessions']],
  })
  const roleRefusal = useWriteRefusal(accountId)
  const lacksTask = chosen.files.length > 0 && prompt.trim() === ''
  const refusal = roleRefusal ?? chosen.refusal ?? (lacksTask ? 'Describe the task for the attached files' : null)
  const start = () => refusal === null && !make.isPending && make.mutate(prompt)
  return (
    <div className="flex flex-col gap-4">
      <NoModel />
      <Card title="New session">
        <SendForm of={make} submit="Start session" refusal={refusal} onSubmit={start}>
          <TextArea label="Task (optional)" {...field('prompt')} onSend={start} wide {...chosen.target} />
          <ChosenList chosen={chosen} />
          <details className="w-full">
            <summary className="text-sm text-dim">Agent, branch, and model</summary>
            <div className={`mt-2 ${sideBySide}`}>
              <Input
                label="Agent"
                hint="An agent on the default branch. Leave empty for the project's default."
                {...field('agent')}
              />
              <Input label="Base branch" placeholder={defaultBranch} {...field('base')} />
              <Input
                label="Model"
                hint={`Leave empty for the default. ${scriptedModelName} runs a script without AI.`}
                list="models"
                autoComplete="off"
                {...field('model')}
              />
              <datalist id="models">
                {[...offered.map(({ id }) => id), scriptedModelName].map((id) => (
                  <option key={id} value={id} />
                ))}
              </datalist>
            </div>
          </details>
          <AttachButton chosen={chosen} />
        </SendForm>
        {make.error instanceof ApiError && make.error.code === 'ref_not_found' && base === '' && (
          <EmptyRepository project={project} onStart={make.reset} />
        )}
      </Card>
    </div>
  )
}
