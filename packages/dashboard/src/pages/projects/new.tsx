import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, onlyOnce, reply } from '../../api.ts'
import { Failure } from '../../components/failure.tsx'
import { paths } from '../../paths.ts'
import { me } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Form, Input, Select } from '../../ui/field.tsx'

/** ssh://, and the form with a colon that git takes for it. */
const sshAddress = /^(ssh:\/\/|[^/:@\s]+@[^/:\s]+:)/

export function NewProjectPage() {
  const [address, setAddress] = useState('')
  const [name, setName] = useState('')
  const [credential, setCredential] = useState('')
  const [branch, setBranch] = useState('')
  const [by, setBy] = useState<'new key' | 'own keys'>('new key')
  const isSsh = sshAddress.test(address.trim())
  const access = () => {
    if (isSsh) return by === 'new key' ? { git_ssh_key: 'generate' as const } : {}
    return credential === '' ? {} : { git_token: credential }
  }
  const account = useQuery(me).data?.account
  const navigate = useNavigate()
  const queries = useQueryClient()
  const make = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/projects', {
          params: { header: onlyOnce() },
          body: {
            ...(account === undefined ? {} : { account_id: account.account_id }),
            ...(address.trim() === '' ? {} : { repo_url: address }),
            ...(name.trim() === '' ? {} : { name }),
            ...access(),
            ...(isSsh && branch.trim() !== '' ? { default_branch: branch } : {}),
          },
        }),
      ),
    onSuccess: async ({ slug }) => {
      await queries.invalidateQueries({ queryKey: ['projects'] })
      // Its key stands in the settings, and nothing works before the host knows it.
      if (isSsh && by === 'new key') await navigate({ to: paths.settings, params: { project: slug } })
      else await navigate({ to: paths.sessions, params: { project: slug }, search: {} })
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
          {isSsh ? (
            <>
              <Select
                label="svc signs in there by"
                hint="A new key is shown next, to be added at the host: nothing can be looked at before."
                options={[
                  ['new key', 'a key it makes for this project'],
                  ['own keys', 'the keys you have on its machine'],
                ]}
                value={by}
                onChange={(event) => setBy(event.target.value as typeof by)}
              />
              <Input
                label="Default branch"
                placeholder="main"
                autoComplete="off"
                maxLength={255}
                value={branch}
                onChange={(event) => setBranch(event.target.value)}
              />
            </>
          ) : (
            <Input
              label="Token of the git host"
              hint="One that may write. It stays on the server and never enters a sandbox."
              type="password"
              autoComplete="off"
              value={credential}
              onChange={(event) => setCredential(event.target.value)}
            />
          )}
          {make.isError && <Failure error={make.error} />}
          <Button type="submit" kind="primary" busy={make.isPending} disabledReason={refusal}>
            Make the project
          </Button>
        </Form>
      </Card>
    </div>
  )
}
