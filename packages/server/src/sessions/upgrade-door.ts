/** The door of addresses of our own that only upgrade: who asks is judged, then a raw pipe to a daemon. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { ServiceError } from '@svc/contract'
import { headerLines } from '@svc/contract/raw-headers'
import type { Credentials } from '../auth/authenticate.ts'
import type { Deps } from '../deps.ts'
import { type Door, writeResponse } from '../http/door.ts'
import { isOwnHost } from '../http/host-allow-list.ts'
import { replyError } from '../http/reply-error.ts'
import { type Passage, passUpgrade } from './tunnel.ts'

export type Admitted = Pick<Passage, 'daemon' | 'path' | 'userId' | 'role'>

/** `admit` says to whose daemon an upgrade leads, or throws what refuses it. */
export function upgradeDoor(
  deps: Deps,
  pattern: RegExp,
  admit: (request: IncomingMessage, socket: Duplex, requestId: string) => Promise<Admitted>,
): Door {
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
        const { daemon, path, userId, role } = await admit(request, socket, id)
        await passUpgrade(
          request,
          socket,
          head,
          { daemon, path, userId, role, credentials: 'for us', extra: [], answerExtra: { 'x-request-id': id } },
          () => void refuse(new ServiceError('unavailable', 'The daemon of this sandbox does not answer.')),
        )
      } catch (error) {
        await refuse(error)
      }
    },
  }
}

/** An upgrade opens a channel both ways, so a cookie is believed for it only where it would be for a write: from our own pages. */
export function credentialsOfUpgrade(deps: Pick<Deps, 'config'>, request: IncomingMessage): Credentials {
  const { host = '', origin = null, cookie = null } = request.headers
  if (headerLines(request.rawHeaders, 'host').length !== 1 || !isOwnHost(deps.config, host))
    throw new ServiceError('forbidden', 'This server does not answer for that name.')
  // Two lines are a smuggling attempt: which of them counts would depend on who reads.
  const authorization = headerLines(request.rawHeaders, 'authorization')
  if (authorization.length > 1) throw new ServiceError('invalid', 'More than one Authorization header was sent.')
  return {
    authorization: authorization[0] ?? null,
    cookie,
    method: 'POST',
    origin,
    secFetchSite: (request.headers['sec-fetch-site'] as string | undefined) ?? null,
    host,
  }
}
