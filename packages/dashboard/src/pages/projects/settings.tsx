import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { paths } from '../../paths.ts'
import { branches } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Command } from '../../ui/copy.tsx'
import { Form, Input, Select } from '../../ui/field.tsx'
import { HostWebhook } from '../webhooks/host-webhook.tsx'
import { GitHost } from './git-host.tsx'

export function SettingsPage() {
  const project = useProject()
  const { project_id: projectId } = project
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [name, setName] = useState(project.name)
  const [defaultBranch, setDefaultBranch] = useState(project.default_branch)
  const known = useQuery(branches(projectId))
  const [agentMerge, setAgentMerge] = useState(project.settings.agent_merge)
  const [manifestGate, setManifestGate] = useState(project.settings.manifest_gate)
  const [asks, setAsks] = useState(false)
  const settle = { onSettled: askAgain(queries, ['projects']) }
  const save = useMutation({
    mutationFn: () =>
      reply(
        api.PATCH('/v1/projects/{projectId}', {
          params: { path: { projectId } },
          body: {
            name,
            // That it is there is looked up, which an empty repository would not survive.
            ...(defaultBranch === project.default_branch ? {} : { default_branch: defaultBranch }),
            settings: { agent_merge: agentMerge, manifest_gate: manifestGate },
          },
        }),
      ),
    ...settle,
  })
  const remove = useMutation({
    mutationFn: () => reply(api.DELETE('/v1/projects/{projectId}', { params: { path: { projectId } } })),
    onSuccess: async () => {
      await navigate({ to: paths.projects })
      await queries.invalidateQueries({ queryKey: ['projects'] })
    },
  })
  const refusal =
    name.trim() === '' ? 'A name is needed' : defaultBranch.trim() === '' ? 'A default branch is needed' : null
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Settings</h1>
      {(save.error ?? remove.error) !== null && <Failure error={save.error ?? remove.error} />}
      <Card title="Project">
        <Form onSubmit={() => refusal === null && !save.isPending && save.mutate()}>
          <Input label="Name" value={name} maxLength={100} onChange={(event) => setName(event.target.value)} />
          <Input
            label="Default branch"
            value={defaultBranch}
            maxLength={255}
            list="branches"
            autoComplete="off"
            onChange={(event) => setDefaultBranch(event.target.value)}
          />
          <datalist id="branches">
            {known.data?.branches.map((branch) => (
              <option key={branch.name} value={branch.name} />
            ))}
          </datalist>
          <Select
            label="Agents may merge into the default branch"
            options={[
              ['deny', 'No: a person merges'],
              ['allow', 'Yes, except their own change requests'],
            ]}
            value={agentMerge}
            onChange={(event) => setAgentMerge(event.target.value as typeof agentMerge)}
          />
          <Select
            label="A change with a broken svc.toml"
            options={[
              ['off', 'merges, with a warning'],
              ['on', 'is refused'],
            ]}
            value={manifestGate}
            onChange={(event) => setManifestGate(event.target.value as typeof manifestGate)}
          />
          <Button type="submit" kind="primary" busy={save.isPending} disabledReason={refusal}>
            Save
          </Button>
          <p role="status" className="w-full text-sm text-dim">
            {save.isSuccess ? 'Saved.' : ''}
          </p>
        </Form>
      </Card>
      <Card title="Clone it">
        <div className="px-4 py-3">
          <Command>{`git clone ${project.git_url}`}</Command>
        </div>
      </Card>
      {!project.managed && <GitHost project={project} />}
      {!project.managed && <HostWebhook projectId={projectId} />}
      <Card title="Delete the project">
        <div className="flex flex-wrap items-center gap-3 px-4 py-3">
          <p className="min-w-0 flex-1 text-sm text-dim">
            {project.managed
              ? 'Its repository, its sessions, change requests and secrets are gone then.'
              : 'Its sessions, change requests and secrets are gone then. The repository on its host stays.'}
          </p>
          <Button kind="danger" onClick={() => setAsks(true)}>
            Delete
          </Button>
        </div>
      </Card>
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title={`Delete ${project.name}?`}
        verb="Delete it all"
        busy={remove.isPending}
        onConfirm={() => remove.mutate()}
      >
        This cannot be undone.
      </ConfirmDialog>
    </div>
  )
}
