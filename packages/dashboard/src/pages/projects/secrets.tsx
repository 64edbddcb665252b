import { type ReactNode, useRef } from 'react'
import { Failure, Read, SendForm, useSend } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { secrets } from './queries.ts'
import { Badge, Time } from '../../ui/text.tsx'
import { Button, Input, useFields } from '../../ui/form.tsx'
import { Card, Empty, Page, Row, Rows } from '../../ui/layout.tsx'

/** The names of secrets, missing required ones first. Values cannot be read back. */
export function SecretsPage() {
  const { project_id: projectId, account_id: accountId, slug } = useProject()
  const refusal = useWriteRefusal(accountId)
  const { values, set, field } = useFields({ name: '', value: '' })
  const valueField = useRef<HTMLInputElement>(null)
  const edit = (name: string) => {
    set({ name })
    valueField.current?.focus()
  }
  const list = secrets(projectId)
  const refetch = [list.queryKey]
  const save = useSend('POST', '/v1/projects/{projectId}/secrets', {
    path: { projectId },
    refetch,
    onSuccess: () => set({ name: '', value: '' }),
  })
  const ofName = (name: string) => ({ path: { projectId, name } })
  const remove = useSend('DELETE', '/v1/projects/{projectId}/secrets/{name}', { request: ofName, refetch })
  const row = { refusal, onEdit: edit }
  return (
    <Page title="Secrets">
      {remove.error !== null && <Failure error={remove.error} />}
      <Card title="Set a secret">
        <SendForm
          of={save}
          submit="Set secret"
          refusal={refusal ?? (values.name === '' ? 'Enter a name' : values.value === '' ? 'Enter a value' : null)}
          onSubmit={() => save.mutate(values)}
        >
          <Input label="Name" autoComplete="off" {...field('name')} />
          <Input label="Value" ref={valueField} type="password" autoComplete="off" {...field('value')} />
        </SendForm>
      </Card>
      <Card title="Secrets">
        <Read query={list} what="secrets">
          {({ items, missing, required, optional }) => (
            <Rows
              label="Secrets"
              empty={
                <Empty command={`svc secrets set NAME=- --project ${slug}`}>
                  No secrets yet. Sessions and apps get secrets as environment variables. Set one above, or in a
                  terminal, which prompts for the value:
                </Empty>
              }
            >
              {missing.map((name) => (
                <SecretRow key={name} name={name} verb="Set" {...row}>
                  <Badge tone="bad">required, missing</Badge>
                </SecretRow>
              ))}
              {items.map(({ name, updated_at }) => (
                <SecretRow key={name} name={name} verb="Change" {...row} removal={remove}>
                  {required.includes(name) && <Badge>required</Badge>}
                  <Time at={updated_at} />
                </SecretRow>
              ))}
              {optional
                .filter((name) => !items.some((item) => item.name === name))
                .map((name) => (
                  <SecretRow key={name} name={name} verb="Set" {...row}>
                    <Badge>optional, not set</Badge>
                  </SecretRow>
                ))}
            </Rows>
          )}
        </Read>
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
          action={removal}
          given={name}
          disabledReason={refusal}
        >
          Sessions and apps no longer get this secret. Its value can't be recovered.
        </ConfirmButton>
      )}
    </Row>
  )
}
