import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Failure, SendForm, useSend } from '../../components/requests.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { useAdminRefusal } from '../../components/role.ts'
import { paths } from '../../paths.ts'
import { branches, deletion, type Project } from './queries.ts'
import { Button, Input, Select, twoColumns, useFields } from '../../ui/form.tsx'
import { Card, Page } from '../../ui/layout.tsx'
import { Command } from '../../ui/text.tsx'
import { HostWebhook } from '../webhooks/host-webhook.tsx'
import { GitHost } from './git-host.tsx'

export function SettingsPage() {
  const project = useProject()
  return (
    <Page narrow title="Settings">
      <ProjectSettings project={project} />
      <Card title="Clone">
        <div className="px-4 py-3">
          <Command>{`git clone ${project.git_url} ${project.slug}`}</Command>
        </div>
      </Card>
      {!project.managed && <GitHost project={project} />}
      {!project.managed && <HostWebhook projectId={project.project_id} />}
      <DeleteProject project={project} />
    </Page>
  )
}

function ProjectSettings({ project }: { project: Project }) {
  const { project_id: projectId, name, default_branch, settings } = project
  const { agent_merge, manifest_gate } = settings
  const { values, field } = useFields({ name, default_branch, agent_merge, manifest_gate })
  const known = useQuery(branches(projectId))
  const save = useSend('PATCH', '/v1/projects/{projectId}', {
    path: { projectId },
    refetch: [['projects'], ['project', projectId]],
  })
  const submit = () =>
    save.mutate({
      name: values.name,
      // The service checks that the branch exists, which fails for an empty repository.
      ...(values.default_branch === default_branch ? {} : { default_branch: values.default_branch }),
      settings: { agent_merge: values.agent_merge, manifest_gate: values.manifest_gate },
    })
  const refusal = useAdminRefusal(project.account_id)
  const lacksBranch = values.default_branch.trim() === ''
  return (
    <Card title="Project">
      <SendForm
        className={twoColumns}
        of={save}
        submit="Save settings"
        refusal={
          refusal ?? (values.name.trim() === '' ? 'Enter a name' : lacksBranch ? 'Enter a default branch' : null)
        }
        saved="Saved."
        onSubmit={submit}
      >
        <Input label="Name" maxLength={100} {...field('name')} />
        <Input label="Default branch" maxLength={255} list="branches" autoComplete="off" {...field('default_branch')} />
        <datalist id="branches">
          {known.data?.branches.map((branch) => (
            <option key={branch.name} value={branch.name} />
          ))}
        </datalist>
        <Select
          label="Agents can merge into the default branch"
          options={[
            ['deny', 'No, only people'],
            ['allow', 'Yes, except their own change requests'],
          ]}
          {...field('agent_merge')}
        />
        <Select
          label="Changes with an invalid svc.toml"
          options={[
            ['off', 'Allow with a warning'],
            ['on', 'Block the merge'],
          ]}
          {...field('manifest_gate')}
        />
      </SendForm>
    </Card>
  )
}

function DeleteProject({ project }: { project: Project }) {
  const { project_id: projectId } = project
  const navigate = useNavigate()
  const [isConfirming, setConfirming] = useState(false)
  const remove = useSend('DELETE', '/v1/projects/{projectId}', {
    path: { projectId },
    onSuccess: () => navigate({ to: paths.projects }),
    refetch: [['projects']],
  })
  const refusal = useAdminRefusal(project.account_id)
  const effects = useQuery({ ...deletion(projectId), enabled: isConfirming })
  return (
    <>
      {remove.error !== null && <Failure error={remove.error} />}
      <Card title="Delete project">
        <div className="flex flex-wrap items-center gap-3 px-4 py-3">
          <p className="min-w-0 flex-1 basis-56 text-sm text-dim">
            Sessions stop and keep their unfinished work. You can restore the project from the Projects page for thirty
            days. Then it is deleted permanently
            {project.managed ? ', including its repository' : '. The repository on the git host stays'}.
          </p>
          <Button kind="danger" disabledReason={refusal} onClick={() => setConfirming(true)}>
            Delete project
          </Button>
        </div>
      </Card>
      <ConfirmDialog
        open={isConfirming}
        onOpenChange={setConfirming}
        title={`Delete ${project.name}?`}
        verb="Delete project"
        busy={remove.isPending}
        onConfirm={() => remove.mutate()}
      >
        {effects.data === undefined ? null : <DeletionEffects {...effects.data} />}
      </ConfirmDialog>
    </>
  )
}

function DeletionEffects({ live_sessions: live, purge_at }: { live_sessions: number; purge_at: string }) {
  const stops = live === 0 ? '' : `${live} running ${live === 1 ? 'session stops' : 'sessions stop'}. `
  return `${stops}The project can be restored until ${purge_at.slice(0, 10)}.`
}
