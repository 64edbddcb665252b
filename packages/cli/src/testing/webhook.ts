import type { ProjectEvent, Webhook, WebhookDelivery } from '@svc/sdk'
import { at, ids } from './ids.ts'

export const aWebhook = (changes: Partial<Webhook> = {}): Webhook => ({
  ...{ webhook_id: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', project_id: ids.project, url: 'https://ci.example.com/svc' },
  ...{ events: ['*'], state: 'active', reason: null, last_event: 41, attempts: 0, next_attempt_at: null },
  ...{ created_by: ids.user, created_at: at(3600), updated_at: at(3600) },
  ...changes,
})

export const aDelivery = (changes: Partial<WebhookDelivery> = {}): WebhookDelivery => ({
  ...{ delivery_id: 'bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb', event_id: 41, event_type: 'session.failed' },
  ...{ status: 'delivered', attempts: 1, http_status: 204, error: null, answer: 'thank you', ms: 12 },
  ...{ created_at: at(3600), last_attempt_at: at(3600) },
  ...changes,
})

/** An event of a change request that a session's agent opened. */
export const anEvent = (changes: { id?: number; title?: string } = {}): ProjectEvent => ({
  ...{ id: changes.id ?? 41, project_id: ids.project, created_at: at(3600), type: 'change_request.opened' },
  actor: { user_id: ids.user, session_id: '44444444-4444-4444-8444-444444444444' },
  data: {
    ...{ cr_id: '55555555-5555-4555-8555-555555555555', number: 3, title: changes.title ?? 'Add a greeting' },
    ...{ status: 'open', base_ref: 'main', head_ref: 'greeting', base_commit_sha: null, head_commit_sha: null },
    ...{ merge_commit_sha: null, origin_session_id: null, conflicts: ['a.txt'] },
  },
})

const hostWebhook = {
  ...{ url: `https://svc.example.com/v1/projects/${ids.project}/host-webhook`, secret: 'svc_hook_secret' },
  ...{ last_call_at: at(3600), last_sender: 'github' },
}

export const webhookAnswers = {
  streamProjectEvents: () => ({ events: [anEvent()], last: 41, forgotten: 0 }),
  listWebhooks: () => ({ webhooks: [aWebhook()] }),
  createWebhook: () => ({ ...aWebhook(), secret: 'svc_whs_shown_once' }),
  updateWebhook: () => ({ ...aWebhook(), secret: null }),
  listDeliveries: () => ({ deliveries: [aDelivery()] }),
  redeliver: () => aDelivery(),
  pingWebhook: () => aDelivery({ event_id: null, event_type: 'ping', status: 'waiting', attempts: 0 }),
  getHostWebhook: () => hostWebhook,
  rotateHostWebhook: () => hostWebhook,
}
