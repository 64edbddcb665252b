import { Failure, useSend } from '../../components/requests.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { Badge, Command, Time, type Tone } from '../../ui/text.tsx'
import { Button } from '../../ui/form.tsx'
import { Card, Notice } from '../../ui/layout.tsx'
import { Deliveries } from './deliveries.tsx'
import type { Webhook } from './queries.ts'

const tones: Record<Webhook['state'], Tone> = { active: 'good', retrying: 'warn', paused: 'bad' }

export function WebhookCard({ projectId, webhook }: { projectId: string; webhook: Webhook }) {
  const path = { projectId, webhookId: webhook.webhook_id }
  const refetch = [['project', projectId, 'webhooks']]
  const ping = useSend('POST', '/v1/projects/{projectId}/webhooks/{webhookId}/ping', { path, once: true, refetch })
  const edit = useSend('PATCH', '/v1/projects/{projectId}/webhooks/{webhookId}', { path, refetch })
  const remove = useSend('DELETE', '/v1/projects/{projectId}/webhooks/{webhookId}', { path, refetch })
  const error = ping.error ?? edit.error ?? remove.error
  const paused = webhook.state === 'paused'
  return (
    <Card
      title={<span className="font-mono break-all">{webhook.url}</span>}
      aside={<Badge tone={tones[webhook.state]}>{webhook.state}</Badge>}
    >
      <div className="flex flex-col gap-3 px-4 py-3 text-sm">
        {error !== null && <Failure error={error} />}
        {edit.data?.secret != null && (
          <Notice
            tone="neutral"
            title="Copy the new secret now. It won't be shown again. The old secret no longer signs deliveries."
          >
            <Command>{edit.data.secret}</Command>
          </Notice>
        )}
        {webhook.reason !== null && (
          <Notice tone={paused ? 'bad' : 'warn'} title={webhook.reason}>
            {webhook.next_attempt_at !== null && (
              <>
                {webhook.attempts} {webhook.attempts === 1 ? 'attempt' : 'attempts'}, next{' '}
                <Time at={webhook.next_attempt_at} />
              </>
            )}
          </Notice>
        )}
        <p className="text-dim">
          {webhook.events.includes('*') ? 'All events' : webhook.events.join(', ')} · created{' '}
          <Time at={webhook.created_at} />
        </p>
        <div className="flex flex-wrap gap-2">
          <Button action={ping}>Send ping</Button>
          <Button busy={edit.isPending} onClick={() => edit.mutate({ paused: !paused })}>
            {paused ? 'Resume' : 'Pause'}
          </Button>
          <Button busy={edit.isPending} onClick={() => edit.mutate({ rotate_secret: true })}>
            Replace secret
          </Button>
          <ConfirmButton
            verb="Delete webhook"
            label="Delete"
            title="Delete this webhook?"
            action={remove}
            given={undefined}
          >
            Pending deliveries are not sent, and the delivery history is deleted.
          </ConfirmButton>
        </div>
      </div>
      <Deliveries projectId={projectId} webhook={webhook} />
    </Card>
  )
}
