/** Ingress of paths that only upgrade: authorizes the caller, then opens a raw pipe to a daemon. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { ServiceError } from '@svc/contract'
import { headerLines } from '@svc/contract/daemon/raw-headers'
import type { Credentials } from '../../auth/authenticate.ts'
import type { Deps } from '../../deps.ts'
import { type IngressHandler, writeResponse } from '../../http/ingress.ts'
import { isOwnHost } from '../../http/admission/host-allow-list.ts'
import { replyError } from '../../http/reply-error.ts'
import { type Passage, passUpgrade } from '../../sandboxes/tunnel.ts'

export type Admitted = Pick<Passage, 'daemon' | 'path' | 'userId' | 'role'>

/** `admit` returns the daemon for an upgrade, or throws to refuse it. */
export function upgradeIngress(
  deps: Deps,
  pattern: RegExp,
  admit: (request: IncomingMessage, socket: Duplex, requestId: string) => Promise<Admitted>,
): IngressHandler {
  return {
    takes: (request, upgrades) => upgrades && pattern.test(request.url ?? ''),
    async request() {
      throw new Error('This ingress takes only upgrades.')
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

/** An upgrade can write, so its cookie needs the same origin checks as a write. */
export function credentialsOfUpgrade(deps: Pick<Deps, 'config'>, request: IncomingMessage): Credentials {
  const { host = '', origin = null, cookie = null } = request.headers
  if (headerLines(request.rawHeaders, 'host').length !== 1 || !isOwnHost(deps.config, host))
    throw new ServiceError('forbidden', 'This server does not serve that host name.')
  // Two lines are a smuggling attempt: servers disagree on which one counts.
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
