import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { SendForm, useSend } from '../../components/requests.tsx'
import { paths } from '../../paths.ts'
import { me } from '../account/queries.ts'
import { Card, Page } from '../../ui/layout.tsx'
import { Input, Select, useFields } from '../../ui/form.tsx'

/** ssh:// and git's short form user@host:path. */
const sshAddress = /^(ssh:\/\/|[^/:@\s]+@[^/:\s]+:)/

const keySources = [
  ['new key', 'Create a key for this project'],
  ['own keys', "Use the server's own keys"],
] as const
const nothing = { address: '', name: '', credential: '', branch: '', keySource: keySources[0][0] }
type Values = Omit<typeof nothing, 'keySource'> & { keySource: (typeof keySources)[number][0] }

export function NewProjectPage() {
  return (
    <Page narrow title="New project">
      <Card>
        <NewProjectForm />
      </Card>
    </Page>
  )
}

/** Goes to the sessions of the new project, where its first one starts, unless the page itself goes on. */
export function NewProjectForm({ stays = false }: { stays?: boolean }) {
  const { values, field } = useFields<Values>(nothing)
  const { address, name, credential, branch, keySource } = values
  const isSsh = sshAddress.test(address.trim())
  const hasNewKey = isSsh && keySource === 'new key'
  const account = useQuery(me).data?.account
  const navigate = useNavigate()
  const make = useSend('POST', '/v1/projects', {
    once: true,
    refetch: [['projects']],
    // Not beside the mutation: with a first project, the page that shows this form is another one already.
    onSuccess: ({ slug }) => {
      // The settings show the key, which the git host needs first.
      if (hasNewKey) void navigate({ to: paths.settings, params: { project: slug } })
      else if (!stays) void navigate({ to: paths.sessions, params: { project: slug }, search: {} })
    },
  })
  const submit = () =>
    make.mutate({
      ...(account === undefined ? {} : { account_id: account.account_id }),
      ...(address.trim() === '' ? {} : { repo_url: address }),
      ...(name.trim() === '' ? {} : { name }),
      ...(hasNewKey ? { git_ssh_key: 'generate' } : {}),
      ...(isSsh || credential === '' ? {} : { git_token: credential }),
      ...(isSsh && branch.trim() !== '' ? { default_branch: branch } : {}),
    })
  return (
    <SendForm
      of={make}
      submit="Create project"
      refusal={address.trim() === '' && name.trim() === '' ? 'Enter a repository URL or a name' : null}
      onSubmit={submit}
    >
      <Input
        label="Repository URL"
        hint="Leave empty for a new repository on this server."
        placeholder="https://git.example.com/team/app.git"
        autoComplete="off"
        {...field('address')}
        wide
      />
      <Input label="Name" hint="Leave empty to use the name of the repository." maxLength={100} {...field('name')} />
      {isSsh ? (
        <>
          <Select
            label="SSH key"
            hint="The next page shows a new key. Add it on the git host first."
            options={keySources}
            {...field('keySource')}
          />
          <Input label="Default branch" placeholder="main" autoComplete="off" maxLength={255} {...field('branch')} />
        </>
      ) : (
        <Input
          label="Git access token"
          hint="Needs write access. It stays on the server and never enters a sandbox."
          type="password"
          autoComplete="off"
          {...field('credential')}
        />
      )}
    </SendForm>
  )
}
