import { relayPort, ServiceError } from '@svc/contract'
import type { MiddlewareHandler } from 'hono'
import type { Deps } from '../deps.ts'
import { errorResponse } from './reply-error.ts'
import type { Bindings } from './request-info.ts'

const loopbackNames = new Set(['localhost', '127.0.0.1', '[::1]'])

/** A foreign name that resolves to this server (DNS rebinding) must not reach it: only its own names are answered. */
export function refuseForeignHost(
  deps: Pick<Deps, 'config'>,
): MiddlewareHandler<{ Bindings: Bindings; Variables: { requestId: string } }> {
  const { config } = deps
  const publicHost = new URL(config.publicUrl).hostname.toLowerCase()
  const previewSuffix = `.${config.previewDomain}`
  return async (c, next) => {
    const host = c.req.header('host') ?? ''
    const name = hostName(host)
    const fromSandbox = c.env?.incoming?.svcFromSandbox === true
    const isOurs = fromSandbox
      ? host === `127.0.0.1:${relayPort}` || host === `localhost:${relayPort}`
      : name !== null &&
        (name === publicHost || name === config.host || loopbackNames.has(name) || name.endsWith(previewSuffix))
    if (!isOurs)
      return errorResponse(
        new ServiceError('forbidden', `This server does not answer for the name ${JSON.stringify(name ?? host)}.`, {
          hint: 'Set SVC_PUBLIC_URL to the address users reach it by.',
        }),
        c.get('requestId'),
      )
    await next()
  }
}

function hostName(host: string): string | null {
  const match = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?$/.exec(host)
  return match === null ? null : match[1]!.toLowerCase()
}
