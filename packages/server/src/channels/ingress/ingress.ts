/**
 * Endpoints for platform requests. They take no token but require a signature over the exact bytes. They are no
 * contract routes because the platform defines the bodies.
 */
import { ServiceError, webhookBytesMax } from '@svc/contract'
import { isUuid } from '../../auth/allow.ts'
import { sha256 } from '../../auth/credentials.ts'
import type { Deps } from '../../deps.ts'
import { readBody } from '../../http/bodies/body.ts'
import { type App, requestInfo } from '../../http/mount.ts'
import { replyError } from '../../http/reply-error.ts'
import { credentialsOf } from '../credentials.ts'
import type { Incoming } from './incoming.ts'
import type { SignedRequest } from '../platform.ts'
import { type PlatformName, platformOf } from '../platforms.ts'
import { type ChannelRow, channelsOfConversation, listChannels } from '../store.ts'
import { ingestMessage, ingestPress } from './ingest.ts'

export function channelIngressRoutes(app: App, deps: Deps): void {
  for (const endpoint of ['events', 'interactions'] as const)
    app.post(`/v1/channels/slack/:projectId/${endpoint}`, async (c) => {
      const request = requestInfo(deps, c)
      try {
        const answer = await handleRequest(deps, {
          platform: 'slack',
          endpoint,
          projectId: c.req.param('projectId') ?? '',
          raw: c.req.raw,
        })
        return c.json(answer, 200, { 'x-request-id': request.id })
      } catch (error) {
        return replyError(error, request, deps)
      }
    })
}

type IngressDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'now' | 'newId' | 'log'>

/** Responds once the event is stored: processing takes longer than a platform waits. */
async function handleRequest(
  deps: IngressDeps,
  input: { platform: PlatformName; endpoint: 'events' | 'interactions'; projectId: string; raw: Request },
): Promise<Record<string, unknown>> {
  const { platform, endpoint, projectId, raw } = input
  const body = await readBody(raw, { bytesMax: webhookBytesMax, refusal: 'The request is larger than 1 MiB.' })
  const request = { headers: raw.headers, body }
  const ofProject = isUuid(projectId) ? await listChannels(deps.db, projectId) : []
  const known = await signedBy(
    deps,
    request,
    ofProject.filter((channel) => channel.platform === platform),
  )
  if (known.length === 0)
    throw new ServiceError('unauthenticated', 'This signature matches no channel.', {
      hint: 'Enter the signing secret again with `svc channels connect`, and check the clock of this server: signatures expire after five minutes.',
    })
  const incoming = platformOf(deps.config, platform).read(endpoint, request)
  return answerTo(deps, request, platform, incoming)
}

async function answerTo(
  deps: IngressDeps,
  request: SignedRequest,
  platform: PlatformName,
  incoming: Incoming,
): Promise<Record<string, unknown>> {
  switch (incoming.kind) {
    case 'challenge':
      return { challenge: incoming.answer }
    case 'nothing':
      deps.log.debug({ platform, why: incoming.why }, 'chat delivery ignored')
      return { ok: true }
    case 'message':
    case 'press': {
      // One app may serve several projects with one request URL, so pick the channels of this conversation whose secret signed the request.
      const named = await channelsOfConversation(deps.db, platform, incoming.conversationId)
      for (const channel of await signedBy(deps, request, named))
        await (incoming.kind === 'message'
          ? ingestMessage(deps, channel, incoming)
          : ingestPress(deps, channel, incoming))
      return { ok: true }
    }
    default:
      return incoming satisfies never
  }
}

async function signedBy(deps: IngressDeps, request: SignedRequest, channels: ChannelRow[]): Promise<ChannelRow[]> {
  const now = deps.now()
  const signed: ChannelRow[] = []
  // Verify against a dummy secret too, so that timing does not reveal which channels exist.
  platformOf(deps.config, 'slack').isSigned(request, sha256('none').toString('hex'), now)
  for (const channel of channels) {
    const opened = await credentialsOf(deps, channel)
    if (opened === null) continue
    const platform = platformOf(deps.config, channel.platform)
    if (platform.isSigned(request, opened.credentials.signingSecret, now)) signed.push(channel)
  }
  return signed
}
