import type { IncomingMessage } from 'node:http'
import { relayPort, ServiceError } from '@svc/contract'
import type { MiddlewareHandler } from 'hono'
import type { Deps } from '../../deps.ts'
import { plainAddress } from '../connections/client-address.ts'
import { errorResponse } from '../reply-error.ts'
import type { Bindings } from '../request-info.ts'

const loopbackNames = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Answers only this server's own names, so that a foreign name that resolves to it (DNS rebinding) gets nothing. */
export function refuseForeignHost(
  deps: Pick<Deps, 'config'>,
): MiddlewareHandler<{ Bindings: Bindings; Variables: { requestId: string } }> {
  const { config } = deps
  return async (c, next) => {
    const host = c.req.header('host') ?? ''
    const name = hostName(host)
    const fromSandbox = c.env?.incoming?.svcFromSandbox === true
    const isOurs = fromSandbox
      ? host === `127.0.0.1:${relayPort}` || host === `localhost:${relayPort}`
      : isOwnHost(config, host) || isArrivalAddress(c.env?.incoming, name)
    if (!isOurs)
      return errorResponse(
        new ServiceError('forbidden', `This server does not serve the host name ${JSON.stringify(name ?? host)}.`, {
          hint: 'Set SVC_PUBLIC_URL to the address that users open.',
        }),
        c.get('requestId'),
      )
    await next()
  }
}

/** Whoever probes or scrapes a server often knows its address only. A foreign name can lead to it, but is not this address. */
function isArrivalAddress(request: IncomingMessage | undefined, name: string | null): boolean {
  const address = plainAddress(request?.socket.localAddress ?? '')
  return address !== null && name !== null && plainAddress(name) === address
}

/** The names a browser or client may use for this server. Names below the preview domain are other origins. */
export function isOwnHost(config: Pick<Deps['config'], 'publicUrl' | 'host'>, host: string): boolean {
  const name = hostName(host)
  return name !== null && (name === publicName(config.publicUrl) || name === config.host || loopbackNames.has(name))
}

let lastPublic = { url: '', name: '' }

/** Cached, as every request is checked against the same address. */
function publicName(url: string): string {
  if (lastPublic.url !== url) lastPublic = { url, name: new URL(url).hostname.toLowerCase() }
  return lastPublic.name
}

function hostName(host: string): string | null {
  const match = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?$/.exec(host)
  return match === null ? null : match[1]!.toLowerCase()
}
