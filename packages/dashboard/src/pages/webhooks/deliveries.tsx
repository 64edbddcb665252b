import { Failure, Read, useSend } from '../../components/requests.tsx'
import { Badge, Output, Time } from '../../ui/text.tsx'
import { Button } from '../../ui/form.tsx'
import { Rows } from '../../ui/layout.tsx'
import { deliveries, type Delivery, type Webhook } from './queries.ts'

const tones = { delivered: 'good', waiting: 'warn', failed: 'bad' } as const

/** The newest deliveries with their responses, and a button to send each again. */
export function Deliveries({ projectId, webhook }: { projectId: string; webhook: Webhook }) {
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
        <Badge tone={tones[delivery.status]}>{delivery.status}</Badge>
        <code className="min-w-40 flex-1 font-mono break-all">{name}</code>
        <span className="text-dim">
          {delivery.http_status !== null && `${delivery.http_status} · `}
          {delivery.ms !== null && `${delivery.ms} ms · `}
          {delivery.attempts === 1 ? '1 attempt' : `${delivery.attempts} attempts`}
        </span>
        <Time at={delivery.last_attempt_at ?? delivery.created_at} />
        <Button kind="quiet" aria-label={`Send again: ${name}`} action={again}>
          Send again
        </Button>
      </div>
      {delivery.error !== null && <p className="break-words text-bad">{delivery.error}</p>}
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
