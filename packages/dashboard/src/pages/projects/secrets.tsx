import { type ReactNode, useRef } from 'react'
import { Failure, Read, SendForm, useSend } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { triggers } from '../triggers/queries.ts'
import { secrets } from './queries.ts'
import type { Reply } from '../../api.ts'
import { Badge, Time } from '../../ui/text.tsx'
import { Button, Input, useFields } from '../../ui/form.tsx'
import { Card, Empty, Page, Row, rowFacts, Rows } from '../../ui/layout.tsx'

type Secrets = Reply<'/v1/projects/{projectId}/secrets'>

/** The names of secrets, missing ones first. Values cannot be read back. */
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
  // A webhook without its secret is an error of its trigger.
  const refetch = [list.queryKey, triggers(projectId).queryKey]
  const save = useSend('POST', '/v1/projects/{projectId}/secrets', {
    path: { projectId },
    refetch,
    onSuccess: () => set({ name: '', value: '' }),
  })
  const ofName = (name: string) => ({ path: { projectId, name } })
  const remove = useSend('DELETE', '/v1/projects/{projectId}/secrets/{name}', { request: ofName, refetch })
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
          {(found) => <SecretRows found={found} slug={slug} refusal={refusal} onEdit={edit} removal={remove} />}
        </Read>
      </Card>
    </Page>
  )
}

interface Actions {
  refusal: string | null
  onEdit: (name: string) => void
  removal: { isPending: boolean; mutate: (name: string) => void }
}

function SecretRows({ found, slug, removal, ...row }: Actions & { found: Secrets; slug: string }) {
  const { items, missing, optional } = found
  const unset = optional.filter((name) => !missing.includes(name) && !items.some((item) => item.name === name))
  return (
    <Rows
      label="Secrets"
      empty={
        <Empty command={`svc secrets set NAME=- --project ${slug}`}>
          No secrets yet. Sessions and apps get secrets as environment variables. Set one above, or in a terminal, which
          prompts for the value:
        </Empty>
      }
    >
      {missing.map((name) => (
        <SecretRow key={name} name={name} verb="Set" neededBy={neededBy(name, found)} {...row}>
          <Badge tone="bad">needed, not set</Badge>
        </SecretRow>
      ))}
      {items.map(({ name, updated_at }) => (
        <SecretRow key={name} name={name} verb="Change" neededBy={neededBy(name, found)} {...row} removal={removal}>
          <Badge tone="good">set</Badge>
          <Time at={updated_at} />
        </SecretRow>
      ))}
      {unset.map((name) => (
        <SecretRow key={name} name={name} verb="Set" neededBy={neededBy(name, found)} {...row}>
          <Badge>optional, not set</Badge>
        </SecretRow>
      ))}
    </Rows>
  )
}

/** The entries of `svc.toml` that name it; null when none does. */
function neededBy(name: string, { needed, optional }: Secrets): string | null {
  // During an upgrade of several servers an older one can answer, which omits them.
  const by = (needed as typeof needed | undefined)?.find((each) => each.name === name)?.needed_by ?? []
  if (by.length > 0)
    return `Needed by ${by.map(({ kind, slug }) => (slug === null ? '[env]' : `${kind} ${slug}`)).join(', ')}`
  return optional.includes(name) ? 'Optional in [env]' : null
}

function SecretRow({
  name,
  verb,
  neededBy,
  refusal,
  onEdit,
  removal,
  children,
}: Omit<Actions, 'removal'> &
  Partial<Pick<Actions, 'removal'>> & { name: string; verb: string; neededBy: string | null; children: ReactNode }) {
  return (
    <Row>
      <div className="min-w-0 flex-1 basis-28">
        <code className="font-mono break-all">{name}</code>
        {neededBy !== null && <p className="text-sm wrap-anywhere text-dim">{neededBy}</p>}
      </div>
      <span className={`${rowFacts} flex items-center gap-3`}>{children}</span>
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
