/** The one request a proxy connection begins with, read strictly: what is not understood is not passed on. */
import { egressHost } from '@svc/contract'

export type ProxyRequest =
  | { kind: 'tunnel'; host: string; port: number }
  /** `head` is what the host is to get in place of what the client sent. */
  | { kind: 'forward'; host: string; port: number; head: string }

export const headBytesMax = 32 * 1024

const fieldPattern = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([^\0\r\n]*)$/
/** Said between the client and us, never to the host. */
const hopByHop = /^(?:connection|keep-alive|proxy-.*|te|trailer|upgrade|host)$/i

/** The request, or why it is none. `text` ends before the empty line. */
export function parseProxyRequest(text: string): ProxyRequest | string {
  const [line = '', ...fields] = text.split('\r\n')
  const [, method, target, version] = /^([A-Z]{1,32}) ([\x21-\x7e]{1,16384}) HTTP\/1\.([01])$/.exec(line) ?? []
  if (method === undefined || target === undefined) return 'The request line is not one of HTTP/1.1.'
  if (method === 'CONNECT') {
    const at = authority(target, null)
    return at === null ? 'CONNECT needs a host and a port.' : { kind: 'tunnel', ...at }
  }
  const [, where, path = ''] = /^http:\/\/([^/?#@]+)([/?].*)?$/i.exec(target) ?? []
  if (where === undefined)
    return 'This is a proxy: it takes CONNECT host:port and whole http:// addresses without a user.'
  const at = authority(where, 80)
  if (at === null) return 'The address names no host.'
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
    // One request a connection: the next one may be for another host, and has to be judged anew.
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
