import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, onlyOnce, reply } from '../../api.ts'
import { Failure } from '../../components/failure.tsx'
import { paths } from '../../paths.ts'
import { me } from '../account/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Form, Input, Select } from '../../ui/field.tsx'
import { Page } from '../../ui/page.tsx'

/** ssh:// and git's short form user@host:path. */
const sshAddress = /^(ssh:\/\/|[^/:@\s]+@[^/:\s]+:)/

export function NewProjectPage() {
  const [address, setAddress] = useState('')
  const [name, setName] = useState('')
  const [credential, setCredential] = useState('')
  const [branch, setBranch] = useState('')
  const [keySource, setKeySource] = useState<'new key' | 'own keys'>('new key')
  const isSsh = sshAddress.test(address.trim())
  const access = () => {
    if (isSsh) return keySource === 'new key' ? { git_ssh_key: 'generate' as const } : {}
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
      // The settings show the key, which the git host needs first.
      if (isSsh && keySource === 'new key') await navigate({ to: paths.settings, params: { project: slug } })
      else await navigate({ to: paths.sessions, params: { project: slug }, search: {} })
    },
  })
  const refusal = address.trim() === '' && name.trim() === '' ? 'Enter a repository URL or a name' : null
  return (
    <Page title="New project">
      <Card>
        <Form onSubmit={() => refusal === null && !make.isPending && make.mutate()}>
          <Input
            label="Repository URL"
            hint="Leave empty for a new repository on this server."
            placeholder="https://git.example.com/team/app.git"
            autoComplete="off"
            value={address}
            onChange={setAddress}
            wide
          />
          <Input
            label="Name"
            hint="Leave empty to use the name of the repository."
            maxLength={100}
            value={name}
            onChange={setName}
          />
          {isSsh ? (
            <>
              <Select
                label="SSH key"
                hint="The next page shows a new key. Add it on the git host first."
                options={[
                  ['new key', 'Create a key for this project'],
                  ['own keys', "Use the server's own keys"],
                ]}
                value={keySource}
                onChange={setKeySource}
              />
              <Input
                label="Default branch"
                placeholder="main"
                autoComplete="off"
                maxLength={255}
                value={branch}
                onChange={setBranch}
              />
            </>
          ) : (
            <Input
              label="Git access token"
              hint="Needs write access. It stays on the server and never enters a sandbox."
              type="password"
              autoComplete="off"
              value={credential}
              onChange={setCredential}
            />
          )}
          {make.isError && <Failure error={make.error} />}
          <Button type="submit" kind="primary" busy={make.isPending} disabledReason={refusal}>
            Create project
          </Button>
        </Form>
      </Card>
    </Page>
  )
}
