/** The door of webhooks: no token, a signature over the exact bytes. Not a contract route, because its body is whatever its sender sends. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { deliveryHeaders, ServiceError, signatureHeaders, webhookBytesMax } from '@svc/contract'
import { isUuid } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import { readBody } from '../http/body.ts'
import { type App, requestInfo } from '../http/mount.ts'
import { replyError } from '../http/reply-error.ts'
import { getProject } from '../projects/store.ts'
import { openSecrets } from '../secrets/change.ts'
import { fireByWebhook } from './ask.ts'
import { getTrigger, type TriggerRow } from './store.ts'

export function triggerDoor(app: App, deps: Deps): void {
  app.post('/v1/projects/:projectId/triggers/:slug/webhook', async (c) => {
    const request = requestInfo(deps, c)
    try {
      const answer = await takeDelivery(deps, {
        projectId: c.req.param('projectId') ?? '',
        slug: c.req.param('slug') ?? '',
        raw: c.req.raw,
      })
      return c.json(answer, answer.ping === true ? 200 : 202, { 'x-request-id': request.id })
    } catch (error) {
      return replyError(error, request, deps)
    }
  })
}

interface Delivery {
  projectId: string
  slug: string
  raw: Request
}

async function takeDelivery(
  deps: Deps,
  { projectId, slug, raw }: Delivery,
): Promise<{ session_id: string | null; ping?: true }> {
  const body = await readBody(raw, { bytesMax: webhookBytesMax, refusal: 'The delivery is larger than 1 MiB.' })
  const found = isUuid(projectId) && slug.length <= 64 ? await webhookOf(deps, projectId, slug) : null
  // Compared all the same, so that time does not tell which webhooks there are.
  if (!isSigned(body, raw.headers, found?.secret ?? 'none') || found === null)
    throw new ServiceError('unauthenticated', 'No webhook here takes a delivery with this signature.', {
      hint: 'Sign the exact body with HMAC-SHA256 under the secret that secret_env names, as `X-Svc-Signature: sha256=<hex>`. A secret that is not set takes nothing.',
    })
  if (!found.trigger.enabled)
    throw new ServiceError('conflict', `The trigger ${slug} is disabled.`, { hint: `svc triggers enable ${slug}` })
  // What GitHub sends to see whether anybody is there.
  if (raw.headers.get('x-github-event') === 'ping') return { session_id: null, ping: true }
  const headers = Object.fromEntries(
    [...raw.headers].filter(([name]) => /^x-[a-z0-9-]+$/.test(name) && !isCredential(name)),
  )
  const deliveryKey = deliveryOf(raw.headers) ?? deps.newId()
  const payload = readPayload(body, raw.headers.get('content-type') ?? '')
  return { session_id: await fireByWebhook(deps, found.trigger, { deliveryKey, payload, headers }) }
}

async function webhookOf(
  deps: Deps,
  projectId: string,
  slug: string,
): Promise<{ trigger: TriggerRow; secret: string } | null> {
  const trigger = await getTrigger(deps.db, projectId, slug)
  const project = await getProject(deps.db, projectId)
  if (trigger === null || project === null || trigger.type !== 'webhook') return null
  const secret = (await openSecrets(deps, project))[trigger.definition.secret_env ?? '']
  return secret === undefined || secret === '' ? null : { trigger, secret }
}

/** One signature, over the bytes as they came. `sha256=` before it is how most senders write it. */
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
  // A name of any length and of any sender: its hash is the key.
  return given == null ? null : createHash('sha256').update(given).digest('hex')
}

/** JSON where it is some, also in the form in which GitHub can send it; anything else is text. */
function readPayload(body: Buffer, contentType: string): unknown {
  const text = body.toString('utf8')
  const json = contentType.startsWith('application/x-www-form-urlencoded')
    ? (new URLSearchParams(text).get('payload') ?? text)
    : text
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}
