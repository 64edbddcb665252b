import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { QueryResult } from '../../components/query-result.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { Failure } from '../../components/failure.tsx'
import { type ModelUpstream, modelUpstream } from './queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Form, Input, Select } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Time } from '../../ui/time.tsx'
import { Page } from '../../ui/page.tsx'

export function ModelSettingsPage() {
  const found = useQuery(modelUpstream)
  return (
    <Page title="Model">
      <QueryResult of={found} what="the model">
        {(upstream) => (upstream.source === 'environment' ? <Fixed upstream={upstream} /> : <Editor of={upstream} />)}
      </QueryResult>
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

function Editor({ of: upstream }: { of: ModelUpstream }) {
  const queries = useQueryClient()
  const [url, setUrl] = useState(upstream.url ?? '')
  const [shape, setShape] = useState(upstream.shape)
  const [key, setKey] = useState('')
  const [names, setNames] = useState(upstream.models.join(', '))
  const refetch = () =>
    Promise.all(['models', 'model-upstream'].map((each) => queries.invalidateQueries({ queryKey: [each] })))
  const save = useMutation({
    mutationFn: () =>
      reply(
        api.PUT('/v1/models/upstream', {
          body: { url: url.trim(), shape, models: listOf(names), ...(key === '' ? {} : { key }) },
        }),
      ),
    onSuccess: async () => {
      setKey('')
      await refetch()
    },
  })
  const clear = useMutation({
    mutationFn: () => reply(api.DELETE('/v1/models/upstream')),
    onSuccess: async () => {
      setUrl('')
      setKey('')
      setNames('')
      save.reset()
      await refetch()
    },
  })
  const keepsKey = upstream.has_key && url.trim().replace(/\/+$/, '') === upstream.url
  const refusal =
    url.trim() === ''
      ? 'Enter the URL of the model server'
      : listOf(names).length === 0
        ? 'Enter at least one model'
        : null
  const isSaved = upstream.source === 'saved'
  return (
    <>
      <Card title={isSaved ? 'Model server' : 'Set a model'}>
        <Form onSubmit={() => refusal === null && !save.isPending && save.mutate()}>
          <Input
            label="URL"
            hint="Base URL of its API, usually ending in /v1."
            placeholder="https://models.example/v1"
            inputMode="url"
            autoComplete="off"
            value={url}
            onChange={setUrl}
          />
          <Select label="API" options={shapes} value={shape} onChange={setShape} />
          <Input
            label="API key"
            hint={keepsKey ? 'Leave empty to keep the saved key.' : 'Leave empty if the server needs none.'}
            type="password"
            autoComplete="off"
            value={key}
            onChange={setKey}
          />
          <Input
            label="Models"
            hint="Separated by commas. The first one is the default."
            autoComplete="off"
            value={names}
            onChange={setNames}
          />
          <Button type="submit" kind="primary" busy={save.isPending} disabledReason={refusal}>
            Test and save
          </Button>
          {isSaved && (
            <ConfirmButton
              verb="Remove"
              of="the model server"
              title="Remove the model server?"
              busy={clear.isPending}
              onConfirm={() => clear.mutate()}
            >
              Agents of every project stop working until another model is set.
            </ConfirmButton>
          )}
          <p role="status" className="w-full text-sm text-dim empty:hidden">
            {save.isSuccess ? 'Tested and saved.' : ''}
          </p>
        </Form>
        {save.isError && <Failure error={save.error} />}
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
