import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, onlyOnce, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Command } from '../../ui/copy.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Time } from '../../ui/time.tsx'
import { Deliveries } from './deliveries.tsx'
import type { Webhook } from './queries.ts'

const tones: Record<Webhook['state'], Tone> = { active: 'good', retrying: 'warn', paused: 'bad' }

export function WebhookCard({ projectId, webhook }: { projectId: string; webhook: Webhook }) {
  const queries = useQueryClient()
  const [asks, setAsks] = useState(false)
  const params = { params: { path: { projectId, webhookId: webhook.webhook_id } } }
  const settle = { onSettled: askAgain(queries, ['project', projectId, 'webhooks']) }
  const ping = useMutation({
    mutationFn: () =>
      reply(
        api.POST('/v1/projects/{projectId}/webhooks/{webhookId}/ping', {
          params: { ...params.params, header: onlyOnce() },
        }),
      ),
    ...settle,
  })
  const edit = useMutation({
    mutationFn: (body: { paused?: boolean; rotate_secret?: boolean }) =>
      reply(api.PATCH('/v1/projects/{projectId}/webhooks/{webhookId}', { ...params, body })),
    ...settle,
  })
  const remove = useMutation({
    mutationFn: () => reply(api.DELETE('/v1/projects/{projectId}/webhooks/{webhookId}', params)),
    ...settle,
  })
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
            title="The new secret, shown once. What was signed with the one before is not genuine any more."
          >
            <Command>{edit.data.secret}</Command>
          </Notice>
        )}
        {webhook.reason !== null && (
          <Notice tone={paused ? 'bad' : 'warn'} title={webhook.reason}>
            {webhook.next_attempt_at !== null && (
              <>
                {webhook.attempts} {webhook.attempts === 1 ? 'try' : 'tries'}, the next{' '}
                <Time at={webhook.next_attempt_at} />
              </>
            )}
          </Notice>
        )}
        <p className="text-dim">
          {webhook.events.includes('*') ? 'Every event' : webhook.events.join(', ')} · made{' '}
          <Time at={webhook.created_at} />
        </p>
        <div className="flex flex-wrap gap-2">
          <Button busy={ping.isPending} onClick={() => ping.mutate()}>
            Send a ping
          </Button>
          <Button busy={edit.isPending} onClick={() => edit.mutate({ paused: !paused })}>
            {paused ? 'Resume' : 'Pause'}
          </Button>
          <Button busy={edit.isPending} onClick={() => edit.mutate({ rotate_secret: true })}>
            New secret
          </Button>
          <Button kind="quiet" onClick={() => setAsks(true)}>
            Delete
          </Button>
        </div>
      </div>
      <Deliveries projectId={projectId} webhook={webhook} />
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title="Send nothing more there?"
        verb="Delete"
        busy={remove.isPending}
        onConfirm={() => remove.mutate()}
      >
        What was not delivered yet is not sent, and what was is forgotten here.
      </ConfirmDialog>
    </Card>
  )
}
