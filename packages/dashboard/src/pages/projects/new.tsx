import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, onlyOnce, reply } from '../../api.ts'
import { Failure } from '../../components/failure.tsx'
import { paths } from '../../paths.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Form, Input } from '../../ui/field.tsx'

export function NewProjectPage() {
  const [address, setAddress] = useState('')
  const [name, setName] = useState('')
  const [credential, setCredential] = useState('')
  const navigate = useNavigate()
  const queries = useQueryClient()
  const make = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/projects', {
          params: { header: onlyOnce() },
          body: {
            ...(address.trim() === '' ? {} : { repo_url: address }),
            ...(name.trim() === '' ? {} : { name }),
            ...(credential === '' ? {} : { git_token: credential }),
          },
        }),
      ),
    onSuccess: async ({ slug }) => {
      await queries.invalidateQueries({ queryKey: ['projects'] })
      await navigate({ to: paths.sessions, params: { project: slug }, search: {} })
    },
  })
  const refusal = address.trim() === '' && name.trim() === '' ? 'An address or a name is needed' : null
  return (
    <div className="flex flex-col gap-4">
      <h1 className="text-xl font-semibold">New project</h1>
      <Card>
        <Form onSubmit={() => refusal === null && !make.isPending && make.mutate()}>
          <Input
            label="Address of the repository"
            hint="Without one svc makes a repository and keeps it."
            placeholder="https://git.example.com/team/app.git"
            autoComplete="off"
            value={address}
            onChange={(event) => setAddress(event.target.value)}
            wide
          />
          <Input
            label="Name"
            hint="Without one it is called after the repository."
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <Input
            label="Token of the git host"
            hint="One that may write. It stays on the server and never enters a sandbox."
            type="password"
            autoComplete="off"
            value={credential}
            onChange={(event) => setCredential(event.target.value)}
          />
          {make.isError && <Failure error={make.error} />}
          <Button type="submit" kind="primary" busy={make.isPending} disabledReason={refusal}>
            Make the project
          </Button>
        </Form>
      </Card>
    </div>
  )
}
