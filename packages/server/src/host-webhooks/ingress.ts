/** The ingress for git hosts: a call that proves the project's secret makes the service poll its repository. Nothing else in the call is trusted. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { ServiceError } from '@svc/contract'
import { isUuid } from '../auth/allow.ts'
import { isSameSecret } from '../auth/credentials.ts'
import type { Deps } from '../deps.ts'
import { readBody } from '../http/bodies/body.ts'
import { type App, requestInfo } from '../http/mount.ts'
import { replyError } from '../http/reply-error.ts'
import { requestPoll } from '../projects/poll-store.ts'
import { getProject } from '../projects/store.ts'
import { secretOf } from './settings.ts'
import { recordCall } from './store.ts'

/** A push of two thousand commits stays far below this; polling detects larger ones. */
const bodyBytesMax = 8 * 1024 * 1024

export function hostWebhookIngress(app: App, deps: Deps): void {
  app.post('/v1/projects/:projectId/host-webhook', async (c) => {
    const request = requestInfo(deps, c)
    try {
      await takeCall(deps, c.req.param('projectId') ?? '', c.req.raw)
      return c.json({ ok: true }, 202, { 'x-request-id': request.id })
    } catch (error) {
      return replyError(error, request, deps)
    }
  })
}

async function takeCall(deps: Deps, projectId: string, raw: Request): Promise<void> {
  const body = await readBody(raw, { bytesMax: bodyBytesMax, refusal: 'The call is larger than 8 MiB.' })
  const project = isUuid(projectId) ? await getProject(deps.db, projectId) : null
  const secret = project === null ? null : await secretOf(deps, project)
  // Compared even without a secret, so that timing does not reveal which projects exist.
  const sender = senderOf(raw.headers, body, secret ?? 'none')
  if (sender === null || project === null || secret === null)
    throw new ServiceError('unauthenticated', 'The signature of this call is not valid for any project.', {
      hint: 'Enter the exact secret that `svc projects webhook` shows at the git host.',
    })
  await requestPoll(deps.db, project.project_id)
  await recordCall(deps.db, project.project_id, sender)
}

/** Headers with an HMAC-SHA256 of the body, each with the host that sends it. */
const signed = [
  ['x-gitea-signature', 'gitea'],
  ['x-forgejo-signature', 'gitea'],
  ['x-hub-signature-256', 'github'],
  ['x-svc-signature', 'plain'],
] as const
/** Headers with the secret itself. */
const bearing = [
  ['x-gitlab-token', 'gitlab'],
  ['x-svc-token', 'plain'],
] as const

/** The host that sent this with valid proof, or null. The first proof given has to be valid. */
export function senderOf(headers: Headers, body: Uint8Array, secret: string): string | null {
  const expected = createHmac('sha256', secret).update(body).digest()
  for (const [header, sender] of signed) {
    const given = headers.get(header)
    if (given === null) continue
    const [, hex] = /^(?:sha256=)?([0-9a-fA-F]{64})$/.exec(given) ?? []
    const bytes = hex === undefined ? Buffer.alloc(32) : Buffer.from(hex, 'hex')
    return timingSafeEqual(expected, bytes) && hex !== undefined ? sender : null
  }
  for (const [header, sender] of bearing) {
    const given = headers.get(header)
    if (given !== null) return isSameSecret(given, secret) ? sender : null
  }
  return null
}
