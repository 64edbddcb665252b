/** Requests to the origins beside the API's: previews and apps. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { headerLines } from '@svc/contract/daemon/raw-headers'
import type { Config } from '../../config.ts'
import { isOrigin } from './own-origin.ts'

/** Whether another origin made the browser send this request: from there, only a link may lead here. */
export function isForeign(publicUrl: string, request: IncomingMessage): boolean {
  const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = request.headers
  const isLink = mode === 'navigate' && (request.method === 'GET' || request.method === 'HEAD')
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isLink) return true
  if (origin === undefined || isLink) return false
  // Previews and apps share the scheme of the public URL.
  return !isOrigin(origin, new URL(publicUrl).protocol, request.headers.host ?? '')
}

/** The first label of a host name below the preview domain. Null for the service's own names. */
export function labelOf(
  { publicUrl, previewDomain }: Pick<Config, 'publicUrl' | 'previewDomain'>,
  request: IncomingMessage,
): string | null {
  const name = hostOf(request)
  const suffix = `.${previewDomain.toLowerCase()}`
  if (!name.endsWith(suffix)) return null
  return name === new URL(publicUrl).hostname.toLowerCase() ? null : name.slice(0, -suffix.length)
}

/** Cached, as several ingress handlers read it. */
const hosts = new WeakMap<IncomingMessage, string>()

/** In lower case and without its port; empty when there is none, or more than one. */
export function hostOf(request: IncomingMessage): string {
  let host = hosts.get(request)
  if (host === undefined) {
    host = readHost(request)
    hosts.set(request, host)
  }
  return host
}

function readHost(request: IncomingMessage): string {
  const lines = headerLines(request.rawHeaders, 'host')
  return lines.length === 1 ? (/^([A-Za-z0-9._-]+)(?::\d{1,5})?$/.exec(lines[0]!)?.[1]?.toLowerCase() ?? '') : ''
}

export async function send(response: ServerResponse, answer: Response): Promise<void> {
  if (response.headersSent) {
    response.destroy()
    return
  }
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  response.end(Buffer.from(await answer.arrayBuffer()))
}
