import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useRef, useState } from 'react'
import { api, reply } from '../../api.ts'
import { useInvalidate } from '../../cache/invalidate.ts'
import { QueryResult } from '../../components/query-result.tsx'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { secrets } from './queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card, Empty, Row, Rows } from '../../ui/card.tsx'
import { Form, Input } from '../../ui/field.tsx'
import { Time } from '../../ui/time.tsx'
import { Page } from '../../ui/page.tsx'

/** The names of secrets, missing required ones first. Values cannot be read back. */
export function SecretsPage() {
  const { project_id: projectId, account_id: accountId, slug } = useProject()
  const roleRefusal = useWriteRefusal(accountId)
  const valueField = useRef<HTMLInputElement>(null)
  const edit = (name: string) => {
    setName(name)
    valueField.current?.focus()
  }
  const found = useQuery(secrets(projectId))
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const settle = { onSettled: useInvalidate(['project', projectId, 'secrets']) }
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
  const refusal = roleRefusal ?? (name === '' ? 'Enter a name' : value === '' ? 'Enter a value' : null)
  return (
    <Page title="Secrets">
      {(set.error ?? remove.error) !== null && <Failure error={set.error ?? remove.error} />}
      <Card title="Set a secret">
        <Form onSubmit={() => refusal === null && !set.isPending && set.mutate()}>
          <Input label="Name" value={name} autoComplete="off" onChange={setName} />
          <Input label="Value" ref={valueField} type="password" autoComplete="off" value={value} onChange={setValue} />
          <Button type="submit" kind="primary" busy={set.isPending} disabledReason={refusal}>
            Set secret
          </Button>
        </Form>
      </Card>
      <Card title="Secrets">
        <QueryResult of={found} what="secrets">
          {({ items, missing, required, optional }) =>
            items.length + missing.length + optional.length === 0 ? (
              <Empty command={`svc secrets set NAME=- --project ${slug}`}>
                No secrets yet. Sessions and apps get secrets as environment variables. Set one above, or in a terminal,
                which prompts for the value:
              </Empty>
            ) : (
              <Rows label="Secrets">
                {missing.map((name) => (
                  <SecretRow key={name} name={name} verb="Set" refusal={roleRefusal} onEdit={edit}>
                    <Badge tone="bad">required, missing</Badge>
                  </SecretRow>
                ))}
                {items.map(({ name, updated_at }) => (
                  <SecretRow key={name} name={name} verb="Change" refusal={roleRefusal} onEdit={edit} removal={remove}>
                    {required.includes(name) && <Badge>required</Badge>}
                    <Time at={updated_at} />
                  </SecretRow>
                ))}
                {optional
                  .filter((name) => !items.some((item) => item.name === name))
                  .map((name) => (
                    <SecretRow key={name} name={name} verb="Set" refusal={roleRefusal} onEdit={edit}>
                      <Badge>optional, not set</Badge>
                    </SecretRow>
                  ))}
              </Rows>
            )
          }
        </QueryResult>
      </Card>
    </Page>
  )
}

function SecretRow({
  name,
  verb,
  refusal,
  onEdit,
  removal,
  children,
}: {
  name: string
  verb: string
  refusal: string | null
  onEdit: (name: string) => void
  removal?: { isPending: boolean; mutate: (name: string) => void }
  children: ReactNode
}) {
  return (
    <Row>
      <code className="min-w-0 flex-1 basis-40 font-mono break-all">{name}</code>
      {children}
      <Button kind="quiet" disabledReason={refusal} onClick={() => onEdit(name)} aria-label={`${verb} ${name}`}>
        {verb}
      </Button>
      {removal !== undefined && (
        <ConfirmButton
          verb="Remove"
          of={name}
          title={`Remove ${name}?`}
          busy={removal.isPending}
          disabledReason={refusal}
          onConfirm={() => removal.mutate(name)}
        >
          Sessions and apps no longer get this secret. Its value can't be recovered.
        </ConfirmButton>
      )}
    </Row>
  )
}
