/** Parses the only request of a proxy connection strictly: anything unknown is rejected. */
import { egressHost } from '@svc/contract'

export type ProxyRequest =
  | { kind: 'tunnel'; host: string; port: number }
  /** `head` replaces the head that the client sent. */
  | { kind: 'forward'; host: string; port: number; head: string }

export const headBytesMax = 32 * 1024

const fieldPattern = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([^\0\r\n]*)$/
/** Hop-by-hop fields, which are not forwarded. */
const hopByHop = /^(?:connection|keep-alive|proxy-.*|te|trailer|upgrade|host)$/i

/** The request, or the reason why it is invalid. `text` ends before the empty line. */
export function parseProxyRequest(text: string): ProxyRequest | string {
  const [line = '', ...fields] = text.split('\r\n')
  const [, method, target, version] = /^([A-Z]{1,32}) ([\x21-\x7e]{1,16384}) HTTP\/1\.([01])$/.exec(line) ?? []
  if (method === undefined || target === undefined) return 'The request line is not valid HTTP/1.1.'
  if (method === 'CONNECT') {
    const at = authority(target, null)
    return at === null ? 'CONNECT requires a host and a port.' : { kind: 'tunnel', ...at }
  }
  const [, where, path = ''] = /^http:\/\/([^/?#@]+)([/?].*)?$/i.exec(target) ?? []
  if (where === undefined)
    return 'This is a proxy. It accepts CONNECT host:port and absolute http:// URLs without a user.'
  const at = authority(where, 80)
  if (at === null) return 'The URL has no host.'
  const kept: string[] = []
  for (const field of fields) {
    const [, name] = fieldPattern.exec(field) ?? []
    if (name === undefined) return 'A header line is malformed.'
    if (!hopByHop.test(name)) kept.push(field)
  }
  const shown = at.host.includes(':') ? `[${at.host}]` : at.host
  const requestPath = path.startsWith('/') ? path : `/${path}`
  const head = [
    `${method} ${requestPath} HTTP/1.${version}`,
    `Host: ${at.port === 80 ? shown : `${shown}:${at.port}`}`,
    ...kept,
    // One request per connection, because the next one may target another host and needs its own check.
    'Connection: close',
    '\r\n',
  ].join('\r\n')
  return { kind: 'forward', ...at, head }
}

function authority(text: string, portByDefault: number | null): { host: string; port: number } | null {
  const [, name = '', portText] = /^(\[[0-9a-fA-F:.]+\]|[^:]+)(?::(\d{1,5}))?$/.exec(text) ?? []
  const host = egressHost(name)
  const port = portText === undefined ? portByDefault : Number(portText)
  return host === null || port === null || port < 1 || port > 65_535 ? null : { host, port }
}
