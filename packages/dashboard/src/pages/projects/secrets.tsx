import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { api, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { Answer } from '../../components/answer.tsx'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { secrets } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card, Empty, Row, Rows } from '../../ui/card.tsx'
import { Form, Input } from '../../ui/field.tsx'
import { Time } from '../../ui/time.tsx'

/** Names only: a value goes in and never comes out. What is required and missing stands first. */
export function SecretsPage() {
  const { project_id: projectId, account_id: accountId, slug } = useProject()
  const mayNot = useWriteRefusal(accountId)
  const valueField = useRef<HTMLInputElement>(null)
  const begin = (name: string) => {
    setName(name)
    valueField.current?.focus()
  }
  const queries = useQueryClient()
  const found = useQuery(secrets(projectId))
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const settle = { onSettled: askAgain(queries, ['project', projectId, 'secrets']) }
  const set = useMutation({
    mutationFn: () =>
      reply(api.POST('/v1/projects/{projectId}/secrets', { params: { path: { projectId } }, body: { name, value } })),
    ...settle,
    onSuccess: () => {
      setName('')
      setValue('')
    },
  })
  const remove = useMutation({
    mutationFn: (name: string) =>
      reply(api.DELETE('/v1/projects/{projectId}/secrets/{name}', { params: { path: { projectId, name } } })),
    ...settle,
  })
  const refusal = mayNot ?? (name === '' ? 'Give it a name first' : value === '' ? 'Give it a value first' : null)
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Secrets</h1>
      {(set.error ?? remove.error) !== null && <Failure error={set.error ?? remove.error} />}
      <Card title="Set a secret">
        <Form onSubmit={() => refusal === null && !set.isPending && set.mutate()}>
          <Input label="Name" value={name} autoComplete="off" onChange={(event) => setName(event.target.value)} />
          <Input
            label="Value"
            ref={valueField}
            type="password"
            autoComplete="off"
            value={value}
            onChange={(event) => setValue(event.target.value)}
          />
          <Button type="submit" kind="primary" busy={set.isPending} disabledReason={refusal}>
            Set
          </Button>
        </Form>
      </Card>
      <Card title="Secrets">
        <Answer of={found} what="secrets">
          {({ items, missing, required, optional }) =>
            items.length + missing.length + optional.length === 0 ? (
              <Empty command={`svc secrets set NAME=- --project ${slug}`}>
                No secret yet. Set one above, or in a terminal, which asks for the value:
              </Empty>
            ) : (
              <Rows label="Secrets">
                {missing.map((name) => (
                  <Row key={name}>
                    <code className="min-w-0 flex-1 basis-40 font-mono break-all">{name}</code>
                    <Badge tone="bad">required, missing</Badge>
                    <Button kind="quiet" disabledReason={mayNot} onClick={() => begin(name)} aria-label={`Set ${name}`}>
                      Set
                    </Button>
                  </Row>
                ))}
                {items.map((secret) => (
                  <Row key={secret.name}>
                    <code className="min-w-0 flex-1 basis-40 font-mono break-all">{secret.name}</code>
                    {required.includes(secret.name) && <Badge>required</Badge>}
                    <Time at={secret.updated_at} />
                    <Button
                      kind="quiet"
                      disabledReason={mayNot}
                      onClick={() => begin(secret.name)}
                      aria-label={`Change ${secret.name}`}
                    >
                      Change
                    </Button>
                    <ConfirmButton
                      verb="Remove"
                      of={secret.name}
                      title={`Remove ${secret.name}?`}
                      busy={remove.isPending}
                      disabledReason={mayNot}
                      onConfirm={() => remove.mutate(secret.name)}
                    >
                      Sessions and apps that need it go without. Its value cannot be read back.
                    </ConfirmButton>
                  </Row>
                ))}
                {optional
                  .filter((name) => !items.some((item) => item.name === name))
                  .map((name) => (
                    <Row key={name}>
                      <code className="min-w-0 flex-1 basis-40 font-mono break-all">{name}</code>
                      <Badge>optional, not set</Badge>
                      <Button
                        kind="quiet"
                        disabledReason={mayNot}
                        onClick={() => begin(name)}
                        aria-label={`Set ${name}`}
                      >
                        Set
                      </Button>
                    </Row>
                  ))}
              </Rows>
            )
          }
        </Answer>
      </Card>
    </div>
  )
}
