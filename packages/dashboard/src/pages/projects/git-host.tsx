import type { Project } from '@svc/contract'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Command } from '../../ui/copy.tsx'
import { Form, Input } from '../../ui/field.tsx'

/** Where the repository is, and what svc proves itself with there. */
export function GitHost({ project }: { project: Project }) {
  return (
    <Card title="The git host">
      <div className="px-4 py-3 text-sm">
        <Command>{project.repo_url}</Command>
      </div>
      {project.repo_url.startsWith('ssh:') && <SshKey project={project} />}
      {project.repo_url.startsWith('http') && <HostToken project={project} />}
    </Card>
  )
}

function useEdit(projectId: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (body: { git_token: string; git_username?: string } | { git_ssh_key: 'generate' }) =>
      reply(api.PATCH('/v1/projects/{projectId}', { params: { path: { projectId } }, body })),
    onSettled: askAgain(queries, ['projects']),
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
        label="New token of the git host"
        hint="It is tried there before it takes the place of the one there is."
        type="password"
        autoComplete="off"
        maxLength={4096}
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
      <Input
        label="User name that goes with it"
        hint="Without one, the one there is."
        placeholder="x-access-token"
        autoComplete="off"
        maxLength={200}
        value={user}
        onChange={(event) => setUser(event.target.value)}
      />
      <Button type="submit" busy={save.isPending} disabledReason={token === '' ? 'A token is needed' : null}>
        Replace the token
      </Button>
      <p role="status" className="w-full text-sm text-dim">
        {save.isSuccess ? 'It may push, and is used from now on.' : ''}
      </p>
      {save.isError && <Failure error={save.error} />}
    </Form>
  )
}

function SshKey({ project }: { project: Project }) {
  const [asks, setAsks] = useState(false)
  const make = useEdit(project.project_id)
  const generate = () => make.mutate({ git_ssh_key: 'generate' }, { onSettled: () => setAsks(false) })
  const { ssh_public_key: key } = project
  return (
    <div className="flex flex-col gap-3 px-4 pb-3 text-sm">
      {key === null ? (
        <p className="text-dim">svc uses a private key that was given to it.</p>
      ) : (
        <>
          <p className="text-dim">
            Let this key push there: on most hosts as a deploy key of the repository, with write access.
          </p>
          <Command>{key}</Command>
        </>
      )}
      {make.isError && <Failure error={make.error} />}
      <div>
        <Button onClick={() => setAsks(true)}>Make another key</Button>
      </div>
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title="Make another key?"
        verb="Make it"
        busy={make.isPending}
        onConfirm={generate}
      >
        The key there is stops being used at once. Nothing can be fetched or merged until the host knows the new one.
      </ConfirmDialog>
    </div>
  )
}
