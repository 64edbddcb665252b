import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { Answer } from '../../components/answer.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { Failure } from '../../components/failure.tsx'
import { type ModelUpstream, modelUpstream } from '../../model-queries.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Form, Input, Select } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Time } from '../../ui/time.tsx'

export function ModelSettingsPage() {
  const found = useQuery(modelUpstream)
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Model</h1>
      <Answer of={found} what="the model">
        {(upstream) => (upstream.source === 'environment' ? <Fixed upstream={upstream} /> : <Editor of={upstream} />)}
      </Answer>
    </div>
  )
}

function Fixed({ upstream: { url, models } }: { upstream: ModelUpstream }) {
  return (
    <Notice tone="neutral" title="The model is set in the environment of the server">
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
  const followed = () =>
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
      await followed()
    },
  })
  const clear = useMutation({
    mutationFn: () => reply(api.DELETE('/v1/models/upstream')),
    onSuccess: async () => {
      setUrl('')
      setKey('')
      setNames('')
      save.reset()
      await followed()
    },
  })
  const isKeyKept = upstream.has_key && url.trim().replace(/\/+$/, '') === upstream.url
  const refusal =
    url.trim() === ''
      ? 'Enter the URL of the model server'
      : listOf(names).length === 0
        ? 'Enter the name of a model'
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
            onChange={({ target: { value } }) => setUrl(value)}
          />
          <Select
            label="API"
            options={shapes}
            value={shape}
            onChange={({ target: { value } }) => setShape(value === 'anthropic' ? value : 'openai')}
          />
          <Input
            label="API key"
            hint={isKeyKept ? 'Leave empty to keep the saved key.' : 'Leave empty if the server needs none.'}
            type="password"
            autoComplete="off"
            value={key}
            onChange={({ target: { value } }) => setKey(value)}
          />
          <Input
            label="Models"
            hint="Separated by commas. The first one is the default."
            autoComplete="off"
            value={names}
            onChange={({ target: { value } }) => setNames(value)}
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
            {save.isSuccess ? 'The model answered and is saved.' : ''}
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
