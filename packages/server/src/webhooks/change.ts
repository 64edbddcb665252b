import {
  type BodyOf,
  type createWebhookRoute,
  ServiceError,
  type updateWebhookRoute,
  type Webhook,
  webhooksPerProjectMax,
} from '@svc/contract'
import { auditEvent, recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import { notFound } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import { resolveWebAddress } from '../egress/web-address.ts'
import { readNumbers } from '../events/store.ts'
import { openFor, sealFor } from '../keyring/of-project.ts'
import { lockProject, type ProjectRow } from '../projects/store.ts'
import {
  queueRedelivery,
  deleteWebhookRow,
  type DeliveryRow,
  getDelivery,
  insertPing,
  insertWebhook,
  listWebhooks,
  presentWebhook,
  requireWebhook,
  updateWebhook,
  type WebhookRow,
} from './store.ts'

type ChangeDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'randomBytes'>

interface OnProject {
  project: ProjectRow
  caller: Caller
}

type OnWebhook = OnProject & { webhookId: string }

export async function createWebhook(
  deps: ChangeDeps,
  input: OnWebhook & BodyOf<typeof createWebhookRoute> & { isRepetition: boolean },
): Promise<Webhook & { secret: string }> {
  const { project, caller, webhookId } = input
  const made = await madeBefore(deps, input)
  if (made !== null) return made
  const url = await requireUrl(deps, input.url)
  const secret = input.secret ?? makeSecret(deps)
  return deps.db.transaction().execute(async (trx) => {
    await lockProject(trx, project.project_id)
    if ((await listWebhooks(trx, project.project_id)).length >= webhooksPerProjectMax)
      throw new ServiceError('limit_reached', `A project has at most ${webhooksPerProjectMax} webhooks.`, {
        hint: 'Delete one that you no longer need.',
      })
    const row = await insertWebhook(trx, {
      webhook_id: webhookId,
      project_id: project.project_id,
      url,
      events: JSON.stringify(input.events),
      secret: sealFor(deps, project, aad(webhookId), secret),
      cursor: (await readNumbers(trx, project.project_id)).last,
      created_by: caller.actor.user_id,
    })
    await recordAudit(
      trx,
      caller,
      auditOf(project, row, 'create', { after: { to: new URL(url).origin, events: input.events } }),
    )
    return { ...presentWebhook(row), secret }
  })
}

/** Finds the webhook of an earlier request with the same key, even if that request died before its answer. */
async function madeBefore(
  deps: ChangeDeps,
  { project, webhookId, isRepetition }: OnWebhook & { isRepetition: boolean },
): Promise<(Webhook & { secret: string }) | null> {
  const row = (await listWebhooks(deps.db, project.project_id)).find((each) => each.webhook_id === webhookId)
  if (row !== undefined) return { ...presentWebhook(row), secret: secretOf(deps, project, row) }
  // It was deleted since: a retry must not create another.
  if (isRepetition) throw notFound('webhook')
  return null
}

export async function editWebhook(deps: ChangeDeps, input: OnWebhook & BodyOf<typeof updateWebhookRoute>) {
  const { project, caller, events, paused } = input
  const found = await requireWebhook(deps.db, project.project_id, input.webhookId)
  const url = input.url === undefined ? undefined : await requireUrl(deps, input.url)
  const secret = input.secret ?? (input.rotate_secret === true ? makeSecret(deps) : null)
  return deps.db.transaction().execute(async (trx) => {
    const row = await updateWebhook(trx, found.webhook_id, {
      ...(url === undefined ? {} : { url }),
      ...(events === undefined ? {} : { events: JSON.stringify(events) }),
      ...(secret === null ? {} : { secret: sealFor(deps, project, aad(found.webhook_id), secret) }),
      ...(paused === undefined ? {} : { paused_reason: paused ? 'Paused manually.' : null }),
      ...(input.from_now === true ? { cursor: (await readNumbers(trx, project.project_id)).last } : {}),
      // The change may have fixed the problem, so the next try does not wait.
      startsAgain: paused === false || url !== undefined || input.from_now === true,
    })
    const after = {
      ...(url === undefined ? {} : { to: new URL(url).origin }),
      ...(events === undefined ? {} : { events }),
      ...(paused === undefined ? {} : { paused }),
      ...(input.from_now === true ? { from_event: row.cursor } : {}),
      ...(secret === null ? {} : { secret: 'changed' }),
    }
    await recordAudit(trx, caller, auditOf(project, row, 'update', { after }))
    return { ...presentWebhook(row), secret }
  })
}

export async function deleteWebhook(deps: Pick<Deps, 'db'>, { project, caller, webhookId }: OnWebhook): Promise<void> {
  const row = await requireWebhook(deps.db, project.project_id, webhookId)
  await deps.db.transaction().execute(async (trx) => {
    await deleteWebhookRow(trx, row.webhook_id)
    await recordAudit(trx, caller, auditOf(project, row, 'delete', { before: { to: new URL(row.url).origin } }))
  })
}

export async function pingWebhook(
  deps: Pick<Deps, 'db'>,
  { project, caller, webhookId, deliveryId }: OnWebhook & { deliveryId: string },
): Promise<DeliveryRow> {
  const row = await requireWebhook(deps.db, project.project_id, webhookId)
  return deps.db.transaction().execute(async (trx) => {
    const earlier = await getDelivery(trx, row.webhook_id, deliveryId)
    if (earlier !== null) return earlier
    const delivery = await insertPing(trx, { delivery_id: deliveryId, webhook_id: row.webhook_id })
    await recordAudit(trx, caller, auditOf(project, row, 'ping', { after: { delivery_id: delivery.delivery_id } }))
    return delivery
  })
}

/** A delivery that waits for its next try gets it at once. */
export async function redeliver(
  deps: Pick<Deps, 'db'>,
  { project, caller, webhookId, deliveryId }: OnWebhook & { deliveryId: string },
): Promise<DeliveryRow> {
  const row = await requireWebhook(deps.db, project.project_id, webhookId)
  return deps.db.transaction().execute(async (trx) => {
    const queued = await queueRedelivery(trx, { webhookId: row.webhook_id, deliveryId })
    const delivery = queued ?? (await getDelivery(trx, row.webhook_id, deliveryId))
    if (delivery === null) throw notFound('delivery')
    if (queued === null && row.paused_reason === null) await updateWebhook(trx, row.webhook_id, { startsAgain: true })
    await recordAudit(trx, caller, auditOf(project, row, 'redeliver', { after: { delivery_id: deliveryId } }))
    return delivery
  })
}

async function requireUrl(deps: Pick<Deps, 'config'>, text: string): Promise<string> {
  const invalid = (message: string) =>
    new ServiceError('invalid', message, { detail: { issues: [{ path: 'url', message }] } })
  if (/[\p{Cc}\p{Cf}\u2028\u2029\\ ]/u.test(text) || !/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text))
    throw invalid('The URL must begin with https:// and name a host.')
  const url = new URL(text)
  if (url.hash !== '') throw invalid('The URL has a fragment, which is never sent.')
  try {
    await resolveWebAddress(url, { allowPrivate: deps.config.allowPrivateGitHosts })
  } catch (error) {
    throw invalid((error as Error).message)
  }
  return url.href
}

function makeSecret(deps: Pick<Deps, 'randomBytes'>): string {
  return `svc_whs_${Buffer.from(deps.randomBytes(24)).toString('base64url')}`
}

const aad = (webhookId: string) => ['webhook', webhookId]

export function secretOf(deps: Pick<Deps, 'keyring'>, project: ProjectRow, row: WebhookRow): string {
  return openFor(deps, project, aad(row.webhook_id), row.secret)
}

/** The address without its path, which is often a secret of the receiver. */
function auditOf(project: ProjectRow, row: WebhookRow, verb: string, change: { before?: object; after?: object }) {
  return { ...auditEvent(project, `webhook.${verb}`, 'webhook', row.webhook_id), ...change }
}
