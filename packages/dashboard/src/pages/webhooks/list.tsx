import { Read, SendForm, useSend } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { useAdminRefusal } from '../../components/role.ts'
import { Card, Empty, Notice, Page } from '../../ui/layout.tsx'
import { Command } from '../../ui/text.tsx'
import { Input, Select, useFields } from '../../ui/form.tsx'
import { webhooks } from './queries.ts'
import { WebhookCard } from './webhook.tsx'

export function WebhooksPage() {
  const { project_id: projectId, slug } = useProject()
  return (
    <Page title="Webhooks">
      <CreateWebhook />
      <Read query={webhooks(projectId)} what="webhooks">
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
      </Read>
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
  const { values, set, field } = useFields<{ url: string; events: (typeof choices)[number][0] }>({
    url: '',
    events: '*',
  })
  const make = useSend('POST', '/v1/projects/{projectId}/webhooks', {
    path: { projectId },
    once: true,
    refetch: [['project', projectId, 'webhooks']],
    onSuccess: () => set({ url: '' }),
  })
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
      <Card title="Create a webhook">
        <SendForm
          of={make}
          submit="Create webhook"
          refusal={roleRefusal ?? (values.url.trim() === '' ? 'Enter a URL' : null)}
          onSubmit={() => make.mutate({ url: values.url, events: [values.events] })}
        >
          <Input
            label="URL"
            wide
            type="url"
            hint="The server sends each event there with POST."
            placeholder="https://example.com/hooks/svc"
            maxLength={2048}
            autoComplete="off"
            {...field('url')}
          />
          <Select label="Events" options={choices} {...field('events')} />
        </SendForm>
      </Card>
    </>
  )
}
