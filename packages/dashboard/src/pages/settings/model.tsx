import { Failure, Read, SendForm, useSend } from '../../components/requests.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { models, type ModelUpstream, modelUpstream } from './queries.ts'
import { Card, Notice, Page } from '../../ui/layout.tsx'
import { Input, Select, twoColumns, useFields } from '../../ui/form.tsx'
import { Time } from '../../ui/text.tsx'

export function ModelSettingsPage() {
  return (
    <Page narrow title="Model">
      <Read query={modelUpstream} what="the model">
        {(upstream) =>
          upstream.source === 'environment' ? <Fixed upstream={upstream} /> : <ModelEditor of={upstream} />
        }
      </Read>
    </Page>
  )
}

function Fixed({ upstream: { url, models } }: { upstream: ModelUpstream }) {
  return (
    <Notice tone="neutral" title="The server's environment sets the model">
      Agents use {models.join(', ')} at {url}. To change it, edit the environment and restart the server.
    </Notice>
  )
}

const shapes = [
  ['openai', 'OpenAI-compatible'],
  ['anthropic', 'Anthropic'],
] as const

const listOf = (text: string) =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)

const refetch = [models.queryKey, modelUpstream.queryKey]

export function ModelEditor({ of: upstream }: { of: ModelUpstream }) {
  const { values, set, field } = useFields({
    url: upstream.url ?? '',
    shape: upstream.shape,
    key: '',
    names: upstream.models.join(', '),
  })
  const { shape, key } = values
  const [url, names] = [values.url.trim(), listOf(values.names)]
  const save = useSend('PUT', '/v1/models/upstream', { refetch, onSuccess: () => set({ key: '' }) })
  const clear = useSend('DELETE', '/v1/models/upstream', {
    refetch,
    onSuccess: () => {
      set({ url: '', key: '', names: '' })
      save.reset()
    },
  })
  const keepsKey = upstream.has_key && url.replace(/\/+$/, '') === upstream.url
  const lacksModel = names.length === 0
  const isSaved = upstream.source === 'saved'
  return (
    <>
      <Card title="Model server">
        <SendForm
          className={twoColumns}
          of={save}
          submit="Test and save"
          refusal={url === '' ? 'Enter the URL of the model server' : lacksModel ? 'Enter at least one model' : null}
          saved="Tested and saved."
          extra={isSaved && <RemoveModel action={clear} />}
          onSubmit={() => save.mutate({ url, shape, models: names, ...(key === '' ? {} : { key }) })}
        >
          <Input
            label="URL"
            wide
            hint="Base URL of its API, usually ending in /v1."
            placeholder="https://models.example/v1"
            inputMode="url"
            autoComplete="off"
            {...field('url')}
          />
          <Select label="API" hint="The protocol that the server speaks." options={shapes} {...field('shape')} />
          <Input
            label="API key"
            hint={keepsKey ? 'Leave empty to keep the saved key.' : 'Leave empty if the server needs none.'}
            type="password"
            autoComplete="off"
            {...field('key')}
          />
          <Input
            label="Models"
            wide
            hint="Separated by commas. The first one is the default."
            autoComplete="off"
            {...field('names')}
          />
        </SendForm>
        {clear.isError && <Failure error={clear.error} />}
      </Card>
      {upstream.updated_at !== null && (
        <p className="text-sm text-dim">
          Last changed <Time at={upstream.updated_at} />. Every server that shares this database uses it.
        </p>
      )}
    </>
  )
}

function RemoveModel({ action }: { action: { isPending: boolean; mutate: () => void } }) {
  return (
    <ConfirmButton
      verb="Remove"
      of="the model server"
      title="Remove the model server?"
      action={action}
      given={undefined}
    >
      Agents of every project stop working until another model is set.
    </ConfirmButton>
  )
}
