/** WebSockets through `sandbox_url`: asked the same questions as a request there, then a raw pipe. */
import type { IncomingMessage } from 'node:http'
import { relayPort, ServiceError } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { isOwnHost } from '../http/host-allow-list.ts'
import { headerLines } from '@svc/contract/raw-headers'
import { type Door, writeResponse } from '../http/door.ts'
import { replyError } from '../http/reply-error.ts'
import { admit } from './edge.ts'
import { passUpgrade } from './tunnel.ts'

const pattern = /^\/v1\/sandboxes\/([^/?#]+)\//

export function sandboxDoor(deps: Deps): Door {
  return {
    takes: (request, upgrades) => upgrades && pattern.test(request.url ?? ''),
    async request() {
      throw new Error('Only upgrades come here.')
    },
    async upgrade(request, socket, head) {
      const id = deps.newId()
      const about = { id, method: request.method ?? '', path: (request.url ?? '').slice(0, 500) }
      const refuse = (error: unknown) => writeResponse(socket, replyError(error, about, deps))
      try {
        const passage = await admitUpgrade(deps, request)
        await passUpgrade(
          request,
          socket,
          head,
          { ...passage, credentials: 'for us', extra: [], answerExtra: { 'x-request-id': id } },
          () => void refuse(new ServiceError('unavailable', 'The daemon of this sandbox does not answer.')),
        )
      } catch (error) {
        await refuse(error)
      }
    },
  }
}

async function admitUpgrade(deps: Deps, request: IncomingMessage) {
  const { host = '', origin = null, cookie = null } = request.headers
  if (headerLines(request.rawHeaders, 'host').length !== 1 || !isOwnHost(deps.config, host))
    throw new ServiceError('forbidden', 'This server does not answer for that name.')
  // Two lines are a smuggling attempt: which of them counts would depend on who reads.
  const authorization = headerLines(request.rawHeaders, 'authorization')
  if (authorization.length > 1) throw new ServiceError('invalid', 'More than one Authorization header was sent.')
  const url = new URL(request.url ?? '/', `http://127.0.0.1:${relayPort}`)
  const admitted = await admit(deps, {
    sandboxId: pattern.exec(request.url ?? '')?.[1] ?? '',
    url,
    method: request.method ?? 'GET',
    credentials: {
      authorization: authorization[0] ?? null,
      cookie,
      // An upgrade opens a channel both ways, so a cookie is believed for it only where it would be for a write.
      method: 'POST',
      origin,
      secFetchSite: (request.headers['sec-fetch-site'] as string | undefined) ?? null,
      host,
    },
  })
  if (admitted.kind === 'health') throw new ServiceError('invalid', 'This address does not upgrade.')
  return admitted
}
