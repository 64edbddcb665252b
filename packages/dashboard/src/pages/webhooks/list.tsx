import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, onlyOnce, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { Answer } from '../../components/answer.tsx'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { useAdminRefusal } from '../../components/role.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Empty } from '../../ui/card.tsx'
import { Command } from '../../ui/copy.tsx'
import { Form, Input, Select } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { webhooks } from './queries.ts'
import { WebhookCard } from './webhook.tsx'

/** Where events of the project are sent, and how that goes. */
export function WebhooksPage() {
  const { project_id: projectId, slug } = useProject()
  const found = useQuery(webhooks(projectId))
  return (
    <div className="flex flex-col gap-6">
      <h1 className="text-xl font-semibold">Webhooks</h1>
      <MakeWebhook />
      <Answer of={found} what="webhooks">
        {({ webhooks }) =>
          webhooks.length === 0 ? (
            <Card>
              <Empty command={`svc webhooks add https://example.com/hooks/svc --project ${slug}`}>
                No webhook. What happens in the project is told to nobody outside. Make one above, or in a terminal:
              </Empty>
            </Card>
          ) : (
            webhooks.map((each) => <WebhookCard key={each.webhook_id} projectId={projectId} webhook={each} />)
          )
        }
      </Answer>
    </div>
  )
}

const choices = [
  ['*', 'Everything'],
  ['change_request.*', 'Change requests'],
  ['session.*', 'Sessions'],
  ['trigger.*', 'Triggers'],
  ['deploy.*', 'Deploys'],
  ['check.*', 'Checks'],
  ['default_branch.*', 'The default branch'],
] as const

function MakeWebhook() {
  const { project_id: projectId, account_id: accountId } = useProject()
  const mayNot = useAdminRefusal(accountId)
  const queries = useQueryClient()
  const [url, setUrl] = useState('')
  const [events, setEvents] = useState('*')
  const make = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/projects/{projectId}/webhooks', {
          params: { path: { projectId }, header: onlyOnce() },
          body: { url, events: [events] },
        }),
      ),
    onSettled: askAgain(queries, ['project', projectId, 'webhooks']),
    onSuccess: () => setUrl(''),
  })
  const refusal = mayNot ?? (url.trim() === '' ? 'An address is needed' : null)
  return (
    <>
      {make.data !== undefined && (
        <Notice tone="neutral" title="Give the receiver this secret now: it is not shown again.">
          <div className="flex flex-col gap-2">
            <Command>{make.data.secret}</Command>
            <p>
              It signs each delivery: <code className="font-mono">X-Svc-Signature</code> is{' '}
              <code className="font-mono">sha256=</code> and the HMAC-SHA256 of{' '}
              <code className="font-mono">X-Svc-Timestamp</code>, a dot and the body.
            </p>
          </div>
        </Notice>
      )}
      {make.isError && <Failure error={make.error} />}
      <Card title="Send events to an address">
        <Form onSubmit={() => refusal === null && !make.isPending && make.mutate()}>
          <Input
            label="Address"
            type="url"
            hint="It is called from the server, with POST"
            placeholder="https://example.com/hooks/svc"
            value={url}
            maxLength={2048}
            autoComplete="off"
            onChange={(event) => setUrl(event.target.value)}
          />
          <Select label="Events" options={choices} value={events} onChange={(event) => setEvents(event.target.value)} />
          <Button type="submit" kind="primary" busy={make.isPending} disabledReason={refusal}>
            Make
          </Button>
        </Form>
      </Card>
    </>
  )
}
