import type { Project } from '@svc/contract'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { useInvalidate } from '../../cache/invalidate.ts'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Command } from '../../ui/copy.tsx'
import { Form, Input } from '../../ui/field.tsx'

/** The repository's URL, and the credentials that svc uses there. */
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
  return useMutation({
    mutationFn: (body: { git_token: string; git_username?: string } | { git_ssh_key: 'generate' }) =>
      reply(api.PATCH('/v1/projects/{projectId}', { params: { path: { projectId } }, body })),
    onSettled: useInvalidate(['projects'], ['project', projectId]),
  })
}

function HostToken({ project }: { project: Project }) {
  const [token, setToken] = useState('')
  const [user, setUser] = useState('')
  const save = useEdit(project.project_id)
  const replace = () =>
    save.mutate(
      { git_token: token, ...(user.trim() === '' ? {} : { git_username: user.trim() }) },
      { onSuccess: () => setToken('') },
    )
  return (
    <Form onSubmit={() => token !== '' && !save.isPending && replace()}>
      <Input
        label="New git access token"
        hint="svc tests the new token before it replaces the old one."
        type="password"
        autoComplete="off"
        maxLength={4096}
        value={token}
        onChange={setToken}
      />
      <Input
        label="Username"
        hint="Leave empty to keep the current username."
        placeholder="x-access-token"
        autoComplete="off"
        maxLength={200}
        value={user}
        onChange={setUser}
      />
      <Button type="submit" busy={save.isPending} disabledReason={token === '' ? 'Enter a token' : null}>
        Replace token
      </Button>
      <p role="status" className="w-full text-sm text-dim">
        {save.isSuccess ? 'Saved. The new token can push and is now in use.' : ''}
      </p>
      {save.isError && <Failure error={save.error} />}
    </Form>
  )
}

function SshKey({ project }: { project: Project }) {
  const make = useEdit(project.project_id)
  const generate = () => make.mutate({ git_ssh_key: 'generate' })
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
          label="Replace key"
          kind="plain"
          title="Replace the key?"
          busy={make.isPending}
          onConfirm={generate}
        >
          svc stops using the current key immediately. It can't fetch or merge until you add the new key on the git
          host.
        </ConfirmButton>
      </div>
    </div>
  )
}
