/** Where a platform's requests come in: no token, a signature over the exact bytes. Not contract routes, because their bodies are the platform's. */
import { createHash } from 'node:crypto'
import { ServiceError, webhookBytesMax } from '@svc/contract'
import { isUuid } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import { readBody } from '../http/body.ts'
import { type App, requestInfo } from '../http/mount.ts'
import { replyError } from '../http/reply-error.ts'
import { credentialsOf } from './credentials.ts'
import type { Incoming } from './incoming.ts'
import type { SignedRequest } from './platform.ts'
import { type PlatformName, platformOf } from './platforms.ts'
import { type ChannelRow, channelsOfConversation, listChannels } from './store.ts'
import { takeMessage, takePress } from './take.ts'

export function channelDoorRoutes(app: App, deps: Deps): void {
  for (const door of ['events', 'interactions'] as const)
    app.post(`/v1/channels/slack/:projectId/${door}`, async (c) => {
      const request = requestInfo(deps, c)
      try {
        const answer = await takeRequest(deps, {
          platform: 'slack',
          door,
          projectId: c.req.param('projectId') ?? '',
          raw: c.req.raw,
        })
        return c.json(answer, 200, { 'x-request-id': request.id })
      } catch (error) {
        return replyError(error, request, deps)
      }
    })
}

type DoorDeps = Pick<Deps, 'db' | 'config' | 'keyring' | 'now' | 'newId' | 'log'>

/** Answered as soon as it is written down: what comes of it takes longer than a platform waits. */
async function takeRequest(
  deps: DoorDeps,
  input: { platform: PlatformName; door: 'events' | 'interactions'; projectId: string; raw: Request },
): Promise<Record<string, unknown>> {
  const { platform, door, projectId, raw } = input
  const body = await readBody(raw, { bytesMax: webhookBytesMax, refusal: 'The delivery is larger than 1 MiB.' })
  const request = { headers: raw.headers, body }
  const ofProject = isUuid(projectId) ? await listChannels(deps.db, projectId) : []
  const known = await signedBy(
    deps,
    request,
    ofProject.filter((channel) => channel.platform === platform),
  )
  if (known.length === 0)
    throw new ServiceError('unauthenticated', 'No channel here takes a request with this signature.', {
      hint: 'Check the signing secret with `svc channels connect`, and the clock of this server: signatures are good for five minutes.',
    })
  const incoming = platformOf(deps.config, platform).read(door, request)
  return answerTo(deps, request, platform, incoming)
}

async function answerTo(
  deps: DoorDeps,
  request: SignedRequest,
  platform: PlatformName,
  incoming: Incoming,
): Promise<Record<string, unknown>> {
  switch (incoming.kind) {
    case 'challenge':
      return { challenge: incoming.answer }
    case 'nothing':
      deps.log.debug({ platform, why: incoming.why }, 'a chat delivery asks for nothing')
      return { ok: true }
    case 'message':
    case 'press': {
      // One app may serve several projects, and calls one address for all: what it says is for the channel it names, if its own secret signed it.
      const named = await channelsOfConversation(deps.db, platform, incoming.conversationId)
      for (const channel of await signedBy(deps, request, named))
        await (incoming.kind === 'message' ? takeMessage(deps, channel, incoming) : takePress(deps, channel, incoming))
      return { ok: true }
    }
    default:
      return incoming satisfies never
  }
}

async function signedBy(deps: DoorDeps, request: SignedRequest, channels: ChannelRow[]): Promise<ChannelRow[]> {
  const now = deps.now()
  const signed: ChannelRow[] = []
  // Compared all the same, so that time does not tell which channels there are.
  platformOf(deps.config, 'slack').isSigned(request, createHash('sha256').update('none').digest('hex'), now)
  for (const channel of channels) {
    const opened = await credentialsOf(deps, channel)
    if (opened === null) continue
    const platform = platformOf(deps.config, channel.platform)
    if (platform.isSigned(request, opened.credentials.signingSecret, now)) signed.push(channel)
  }
  return signed
}
