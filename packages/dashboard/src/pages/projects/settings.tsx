import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { useInvalidate } from '../../cache/invalidate.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { paths } from '../../paths.ts'
import { branches, deletion, type Project } from './queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Command } from '../../ui/copy.tsx'
import { Form, Input, Select } from '../../ui/field.tsx'
import { HostWebhook } from '../webhooks/host-webhook.tsx'
import { GitHost } from './git-host.tsx'
import { Page } from '../../ui/page.tsx'

export function SettingsPage() {
  const project = useProject()
  const { project_id: projectId } = project
  const [name, setName] = useState(project.name)
  const [defaultBranch, setDefaultBranch] = useState(project.default_branch)
  const known = useQuery(branches(projectId))
  const [agentMerge, setAgentMerge] = useState(project.settings.agent_merge)
  const [manifestGate, setManifestGate] = useState(project.settings.manifest_gate)
  const save = useMutation({
    mutationFn: () =>
      reply(
        api.PATCH('/v1/projects/{projectId}', {
          params: { path: { projectId } },
          body: {
            name,
            // The service checks that the branch exists, which fails for an empty repository.
            ...(defaultBranch === project.default_branch ? {} : { default_branch: defaultBranch }),
            settings: { agent_merge: agentMerge, manifest_gate: manifestGate },
          },
        }),
      ),
    onSettled: useInvalidate(['projects'], ['project', projectId]),
  })
  const refusal = name.trim() === '' ? 'Enter a name' : defaultBranch.trim() === '' ? 'Enter a default branch' : null
  return (
    <Page title="Settings">
      {save.error !== null && <Failure error={save.error} />}
      <Card title="Project">
        <Form onSubmit={() => refusal === null && !save.isPending && save.mutate()}>
          <Input label="Name" value={name} maxLength={100} onChange={setName} />
          <Input
            label="Default branch"
            value={defaultBranch}
            maxLength={255}
            list="branches"
            autoComplete="off"
            onChange={setDefaultBranch}
          />
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
            value={agentMerge}
            onChange={setAgentMerge}
          />
          <Select
            label="Changes with an invalid svc.toml"
            options={[
              ['off', 'Allow with a warning'],
              ['on', 'Block the merge'],
            ]}
            value={manifestGate}
            onChange={setManifestGate}
          />
          <Button type="submit" kind="primary" busy={save.isPending} disabledReason={refusal}>
            Save settings
          </Button>
          <p role="status" className="w-full text-sm text-dim">
            {save.isSuccess ? 'Saved.' : ''}
          </p>
        </Form>
      </Card>
      <Card title="Clone">
        <div className="px-4 py-3">
          <Command>{`git clone ${project.git_url}`}</Command>
        </div>
      </Card>
      {!project.managed && <GitHost project={project} />}
      {!project.managed && <HostWebhook projectId={projectId} />}
      <DeleteProject project={project} />
    </Page>
  )
}

function DeleteProject({ project }: { project: Project }) {
  const { project_id: projectId } = project
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [isConfirming, setConfirming] = useState(false)
  const remove = useMutation({
    mutationFn: () => reply(api.DELETE('/v1/projects/{projectId}', { params: { path: { projectId } } })),
    onSuccess: async () => {
      await navigate({ to: paths.projects })
      await queries.invalidateQueries({ queryKey: ['projects'] })
    },
  })
  const effects = useQuery({ ...deletion(projectId), enabled: isConfirming })
  return (
    <>
      {remove.error !== null && <Failure error={remove.error} />}
      <Card title="Delete project">
        <div className="flex flex-wrap items-center gap-3 px-4 py-3">
          <p className="min-w-0 flex-1 text-sm text-dim">
            Sessions stop and keep their unfinished work. You can restore the project from the Projects page for thirty
            days. Then it is deleted permanently
            {project.managed ? ', including its repository' : '. The repository on the git host stays'}.
          </p>
          <Button kind="danger" onClick={() => setConfirming(true)}>
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
