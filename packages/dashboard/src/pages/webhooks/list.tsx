import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, onlyOnce, reply } from '../../api.ts'
import { useInvalidate } from '../../cache/invalidate.ts'
import { QueryResult } from '../../components/query-result.tsx'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { useAdminRefusal } from '../../components/role.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Empty } from '../../ui/card.tsx'
import { Command } from '../../ui/copy.tsx'
import { Form, Input, Select } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { webhooks } from './queries.ts'
import { WebhookCard } from './webhook.tsx'
import { Page } from '../../ui/page.tsx'

/** The webhooks of a project with their deliveries. */
export function WebhooksPage() {
  const { project_id: projectId, slug } = useProject()
  const found = useQuery(webhooks(projectId))
  return (
    <Page title="Webhooks">
      <CreateWebhook />
      <QueryResult of={found} what="webhooks">
        {({ webhooks }) =>
          webhooks.length === 0 ? (
            <Card>
              <Empty command={`svc webhooks add https://example.com/hooks/svc --project ${slug}`}>
                No webhooks yet. A webhook sends the project's events to a URL. Create one above, or in a terminal:
              </Empty>
            </Card>
          ) : (
            webhooks.map((each) => <WebhookCard key={each.webhook_id} projectId={projectId} webhook={each} />)
          )
        }
      </QueryResult>
    </Page>
  )
}

const choices = [
  ['*', 'All events'],
  ['change_request.*', 'Change requests'],
  ['session.*', 'Sessions'],
  ['trigger.*', 'Triggers'],
  ['deploy.*', 'Deploys'],
  ['check.*', 'Checks'],
  ['default_branch.*', 'Default branch'],
] as const

function CreateWebhook() {
  const { project_id: projectId, account_id: accountId } = useProject()
  const roleRefusal = useAdminRefusal(accountId)
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
    onSettled: useInvalidate(['project', projectId, 'webhooks']),
    onSuccess: () => setUrl(''),
  })
  const refusal = roleRefusal ?? (url.trim() === '' ? 'Enter a URL' : null)
  return (
    <>
      {make.data !== undefined && (
        <Notice tone="neutral" title="Copy the signing secret now. It won't be shown again.">
          <div className="flex flex-col gap-2">
            <Command>{make.data.secret}</Command>
            <p>
              Deliveries are signed: <code className="font-mono">X-Svc-Signature</code> is{' '}
              <code className="font-mono">sha256=</code> followed by the HMAC-SHA256 of{' '}
              <code className="font-mono">X-Svc-Timestamp</code>, a dot, and the body.
            </p>
          </div>
        </Notice>
      )}
      {make.isError && <Failure error={make.error} />}
      <Card title="Create a webhook">
        <Form onSubmit={() => refusal === null && !make.isPending && make.mutate()}>
          <Input
            label="URL"
            type="url"
            hint="The server sends each event there with POST."
            placeholder="https://example.com/hooks/svc"
            value={url}
            maxLength={2048}
            autoComplete="off"
            onChange={setUrl}
          />
          <Select label="Events" options={choices} value={events} onChange={setEvents} />
          <Button type="submit" kind="primary" busy={make.isPending} disabledReason={refusal}>
            Create webhook
          </Button>
        </Form>
      </Card>
    </>
  )
}
