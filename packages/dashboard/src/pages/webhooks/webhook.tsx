import { Failure, Read, useSend } from '../../components/requests.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { Badge, Command, Output, Time, type Tone, withCode } from '../../ui/text.tsx'
import { Button } from '../../ui/form.tsx'
import { Card, Notice, rowFacts, Rows } from '../../ui/layout.tsx'
import { deliveries, type Delivery, type Webhook } from './queries.ts'

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

const deliveryTones = { delivered: 'good', waiting: 'warn', failed: 'bad' } as const

/** The newest deliveries with their responses, and a button to send each again. */
function Deliveries({ projectId, webhook }: { projectId: string; webhook: Webhook }) {
  return (
    <Read query={deliveries(projectId, webhook.webhook_id)} what="the deliveries">
      {({ deliveries }) => (
        <div className="border-t border-line">
          <Rows
            label={`Deliveries to ${webhook.url}`}
            empty={
              <p className="px-4 py-3 text-sm text-dim">No deliveries yet. Press Send ping to test the webhook.</p>
            }
          >
            {deliveries.map((each) => (
              <DeliveryRow key={each.delivery_id} projectId={projectId} webhook={webhook} delivery={each} />
            ))}
          </Rows>
        </div>
      )}
    </Read>
  )
}

function DeliveryRow({ projectId, webhook, delivery }: { projectId: string; webhook: Webhook; delivery: Delivery }) {
  const path = { projectId, webhookId: webhook.webhook_id, deliveryId: delivery.delivery_id }
  const again = useSend('POST', '/v1/projects/{projectId}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver', {
    path,
    once: true,
    refetch: [['project', projectId, 'webhooks']],
  })
  const name = `${delivery.event_type}${delivery.event_id === null ? '' : ` ${delivery.event_id}`}`
  return (
    <li className="flex flex-col gap-1.5 px-4 py-2.5 text-sm">
      {again.error !== null && <Failure error={again.error} />}
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Badge tone={deliveryTones[delivery.status]}>{delivery.status}</Badge>
        <code className="min-w-24 flex-1 font-mono break-all">{name}</code>
        <span className={rowFacts}>
          {delivery.http_status !== null && `${delivery.http_status} · `}
          {delivery.ms !== null && `${delivery.ms} ms · `}
          {delivery.attempts === 1 ? '1 attempt' : `${delivery.attempts} attempts`} ·{' '}
          <Time at={delivery.last_attempt_at ?? delivery.created_at} />
        </span>
        <Button kind="quiet" aria-label={`Send again: ${name}`} action={again}>
          Send again
        </Button>
      </div>
      {delivery.error !== null && <p className="break-words text-bad">{withCode(delivery.error)}</p>}
      {delivery.answer !== null && delivery.answer !== '' && (
        <details>
          <summary className="cursor-pointer text-dim">Response</summary>
          <Output label={`Response to ${name}`} className="mt-1 max-h-60">
            {delivery.answer}
          </Output>
        </details>
      )}
    </li>
  )
}
