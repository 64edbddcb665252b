import type { Project } from '@svc/contract'
import { Failure, SendForm, useSend } from '../../components/requests.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { Card } from '../../ui/layout.tsx'
import { Command } from '../../ui/text.tsx'
import { Input, twoColumns, useFields } from '../../ui/form.tsx'

export function GitHost({ project }: { project: Project }) {
  return (
    <Card title="Git host">
      <div className="px-4 py-3 text-sm">
        <Command>{project.repo_url}</Command>
      </div>
      {project.repo_url.startsWith('ssh:') && <SshKey project={project} />}
      {project.repo_url.startsWith('http') && <HostToken project={project} />}
    </Card>
  )
}

function useEdit(projectId: string) {
  return useSend('PATCH', '/v1/projects/{projectId}', {
    path: { projectId },
    refetch: [['projects'], ['project', projectId]],
  })
}

function HostToken({ project }: { project: Project }) {
  const { values, set, field } = useFields({ token: '', user: '' })
  const save = useEdit(project.project_id)
  const username = values.user.trim()
  return (
    <SendForm
      className={twoColumns}
      of={save}
      submit="Replace token"
      kind="plain"
      refusal={values.token === '' ? 'Enter a token' : null}
      saved="Saved. The new token can push and is now in use."
      onSubmit={() =>
        save.mutate(
          { git_token: values.token, ...(username === '' ? {} : { git_username: username }) },
          { onSuccess: () => set({ token: '' }) },
        )
      }
    >
      <Input
        label="New git access token"
        hint="svc tests the new token before it replaces the old one."
        type="password"
        autoComplete="off"
        maxLength={4096}
        {...field('token')}
      />
      <Input
        label="Username"
        hint="Leave empty to keep the current username."
        placeholder="x-access-token"
        autoComplete="off"
        maxLength={200}
        {...field('user')}
      />
    </SendForm>
  )
}

function SshKey({ project }: { project: Project }) {
  const make = useEdit(project.project_id)
  const { ssh_public_key: key } = project
  return (
    <div className="flex flex-col gap-3 px-4 pb-3 text-sm">
      {key === null ? (
        <p className="text-dim">svc uses a private key that a user provided.</p>
      ) : (
        <>
          <p className="text-dim">
            Give this key write access on the git host, for example as a deploy key of the repository.
          </p>
          <Command>{key}</Command>
        </>
      )}
      {make.isError && <Failure error={make.error} />}
      <div>
        <ConfirmButton
          verb="Replace key"
          kind="plain"
          title="Replace the key?"
          action={make}
          given={{ git_ssh_key: 'generate' }}
        >
          svc stops using the current key immediately. It can't fetch or merge until you add the new key on the git
          host.
        </ConfirmButton>
      </div>
    </div>
  )
}
