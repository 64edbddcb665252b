/** The webhook endpoint: a signature over the exact bytes instead of a token. Not a contract route, because each sender defines its body. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { deliveryHeaders, parseJson, ServiceError, signatureHeaders, webhookBytesMax } from '@svc/contract'
import { boundSession } from '../../auth/actor.ts'
import { isUuid, refuseByPath } from '../../auth/allow.ts'
import { authenticate } from '../../auth/authenticate.ts'
import type { Deps } from '../../deps.ts'
import { readBody } from '../../http/bodies/body.ts'
import { type App, requestInfo } from '../../http/mount.ts'
import { credentialsOf, type RequestInfo } from '../../http/request-info.ts'
import { replyError } from '../../http/reply-error.ts'
import { getProject, type ProjectRow } from '../../projects/store.ts'
import { openSecrets } from '../../secrets/change.ts'
import { fireByWebhook } from '../fire-on-request.ts'
import { getTrigger, type TriggerRow } from '../store.ts'

export function triggerIngress(app: App, deps: Deps): void {
  app.post('/v1/projects/:projectId/triggers/:slug/webhook', async (c) => {
    const request = requestInfo(deps, c)
    try {
      const answer = await takeDelivery(deps, {
        projectId: c.req.param('projectId') ?? '',
        slug: c.req.param('slug') ?? '',
        raw: c.req.raw,
        request,
      })
      return c.json(answer, answer.ping === true ? 200 : 202, { 'x-request-id': request.id })
    } catch (error) {
      return replyError(error, request, deps)
    }
  })
}

/** `queued`: the session starts once the git host is available. `skipped`: a ping. */
interface WebhookAnswer {
  session_id: string | null
  status: 'fired' | 'queued' | 'skipped'
  ping?: true
}

interface Delivery {
  projectId: string
  slug: string
  raw: Request
  request: RequestInfo
}

async function takeDelivery(deps: Deps, { projectId, slug, raw, request }: Delivery): Promise<WebhookAnswer> {
  const body = await readBody(raw, { bytesMax: webhookBytesMax, refusal: 'The delivery is larger than 1 MiB.' })
  const found = isUuid(projectId) && slug.length <= 64 ? await webhookOf(deps, projectId, slug) : null
  // Compared even without a trigger, so that the response time does not reveal which webhooks exist.
  if (!isSigned(body, raw.headers, found?.secret ?? 'none') || found === null)
    throw new ServiceError('unauthenticated', 'No webhook accepts a delivery with this signature.', {
      hint: 'Sign the exact body with HMAC-SHA256 under the secret that secret_env names, as `X-Svc-Signature: sha256=<hex>`. Without that secret, the webhook accepts no delivery.',
    })
  if (!found.trigger.enabled)
    throw new ServiceError('conflict', `The trigger ${slug} is disabled.`, { hint: `svc triggers enable ${slug}` })
  // GitHub sends a ping when a webhook is created.
  if (raw.headers.get('x-github-event') === 'ping') return { session_id: null, status: 'skipped', ping: true }
  const fromSession = await callingSession(deps, { request, raw })
  const headers = Object.fromEntries(
    [...raw.headers].filter(([name]) => /^x-[a-z0-9-]+$/.test(name) && !isCredential(name)),
  )
  const deliveryKey = deliveryOf(raw.headers) ?? deps.newId()
  const payload = readPayload(body, raw.headers.get('content-type') ?? '')
  const { project, trigger } = found
  const session_id = await fireByWebhook(deps, trigger, { project, deliveryKey, payload, headers, fromSession })
  return { session_id, status: session_id === null ? 'queued' : 'fired' }
}

/**
 * The session whose agent sends the delivery, which becomes the parent of the new session. From a sandbox the token is
 * required: without it, an agent with the signing secret could start itself without end.
 */
async function callingSession(deps: Deps, { request, raw }: Pick<Delivery, 'request' | 'raw'>): Promise<string | null> {
  if (!request.fromSandbox) return null
  const credentials = { ...credentialsOf(raw), cookie: null }
  if (credentials.authorization === null)
    throw new ServiceError('forbidden', 'A sandbox cannot call a webhook without a token.', {
      hint: 'Fire it with `svc triggers fire <slug>`, or send `Authorization: Bearer $SVC_CLI_TOKEN` too.',
    })
  const actor = await authenticate(deps, credentials)
  refuseByPath(actor, request.path)
  return boundSession(actor)
}

async function webhookOf(
  deps: Deps,
  projectId: string,
  slug: string,
): Promise<{ project: ProjectRow; trigger: TriggerRow; secret: string } | null> {
  const trigger = await getTrigger(deps.db, projectId, slug)
  const project = await getProject(deps.db, projectId)
  if (trigger === null || project === null || trigger.type !== 'webhook') return null
  const secret = (await openSecrets(deps, project))[trigger.definition.secret_env ?? '']
  return secret === undefined || secret === '' ? null : { project, trigger, secret }
}

/** Accepts one signature over the exact bytes, with the `sha256=` prefix that most senders use. */
export function isSigned(body: Uint8Array, headers: Headers, secret: string): boolean {
  const given = signatureHeaders.map((name) => headers.get(name)).find((value) => value !== null) ?? ''
  const expected = createHmac('sha256', secret).update(body).digest()
  const [, hex] = /^(?:sha256=)?([0-9a-fA-F]{64})$/.exec(given) ?? []
  return timingSafeEqual(expected, hex === undefined ? Buffer.alloc(32) : Buffer.from(hex, 'hex')) && hex !== undefined
}

const isCredential = (name: string) =>
  (signatureHeaders as readonly string[]).includes(name) || /token|secret|signature|auth|key/.test(name)

function deliveryOf(headers: Headers): string | null {
  const given = deliveryHeaders.map((name) => headers.get(name)).find((value) => value !== null && value !== '')
  // Hashed, because a sender may choose an id of any length.
  return given == null ? null : createHash('sha256').update(given).digest('hex')
}

/** JSON, also in the form encoding of GitHub; anything else is text. */
function readPayload(body: Buffer, contentType: string): unknown {
  const text = body.toString('utf8')
  const json = contentType.startsWith('application/x-www-form-urlencoded')
    ? (new URLSearchParams(text).get('payload') ?? text)
    : text
  const payload = parseJson(json)
  return payload === undefined ? json : payload
}
