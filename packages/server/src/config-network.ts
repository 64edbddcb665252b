/** Settings of the listener: reverse proxies in front of it, and limits on connections and slow clients. */
import { compile } from 'proxy-addr'

export interface NetworkConfig {
  /** Whether the peer of a connection is a reverse proxy whose forwarding header counts. */
  trustsProxy: (address: string) => boolean
  /** The one header that carries the client's address. A proxy passes the other one on as the client wrote it. */
  forwardedHeader: 'x-forwarded-for' | 'forwarded'
  /** The public listener takes connections from trusted proxies alone, each with a PROXY header. */
  proxyProtocol: boolean
  limits: NetworkLimits
}

export interface NetworkLimits {
  /** From the connection to the end of the first request's headers. */
  headersMs: number
  /** A request body may stall this long while the server waits for it. */
  bodyIdleMs: number
  bodyBytesPerSecond: number
  /** For a body that the server reads as a whole, such as JSON. */
  wholeBodyMs: number
  connections: number
  connectionsPerAddress: number
  /** Event streams and WebSockets, which count apart from other connections. */
  streams: number
  streamsPerAddress: number
  /** Open streams are judged again this often. No setting: docs/operate/server.md names it. */
  judgeEveryMs: number
}

type Env = Record<string, string | undefined>

export function readNetwork(
  env: Env,
  problems: string[],
  read: (name: string, fallback: number, min: number, max: number) => number,
): NetworkConfig {
  return {
    trustsProxy: readProxies(env.SVC_TRUSTED_PROXIES, problems),
    forwardedHeader: readHeader(env.SVC_FORWARDED_HEADER, problems),
    proxyProtocol: readProxyProtocol(env, problems),
    limits: {
      // Bun cuts a head that takes longer than about 12 seconds by itself.
      headersMs: read('SVC_HEADERS_SECONDS', 10, 1, 10) * 1000,
      bodyIdleMs: read('SVC_BODY_IDLE_SECONDS', 30, 1, 3600) * 1000,
      bodyBytesPerSecond: read('SVC_BODY_BYTES_PER_SECOND', 500, 0, 1_000_000),
      wholeBodyMs: read('SVC_JSON_BODY_SECONDS', 60, 1, 3600) * 1000,
      connections: read('SVC_CONNECTIONS_MAX', 4000, 1, 1_000_000),
      connectionsPerAddress: read('SVC_CONNECTIONS_PER_ADDRESS', 500, 1, 1_000_000),
      streams: read('SVC_STREAMS_MAX', 4000, 1, 1_000_000),
      streamsPerAddress: read('SVC_STREAMS_PER_ADDRESS', 500, 1, 1_000_000),
      judgeEveryMs: 15_000,
    },
  }
}

function readProxies(text: string | undefined, problems: string[]): NetworkConfig['trustsProxy'] {
  const entries = (text ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  try {
    const trusts = compile(entries)
    return (address) => trusts(address, 0)
  } catch {
    problems.push(
      `SVC_TRUSTED_PROXIES has to be addresses or networks such as 10.0.0.0/8, or loopback, separated by commas, but is ${JSON.stringify(text)}.`,
    )
    return () => false
  }
}

function readProxyProtocol(env: Env, problems: string[]): boolean {
  const text = env.SVC_PROXY_PROTOCOL || '0'
  if (text === '0' || text === 'false') return false
  if (text !== '1' && text !== 'true')
    problems.push(`SVC_PROXY_PROTOCOL has to be 1 or 0, but is ${JSON.stringify(text)}.`)
  else if (!env.SVC_TRUSTED_PROXIES?.trim())
    problems.push('SVC_PROXY_PROTOCOL needs SVC_TRUSTED_PROXIES: the addresses from which the balancer connects.')
  return true
}

function readHeader(text: string | undefined, problems: string[]): NetworkConfig['forwardedHeader'] {
  const header = (text || 'x-forwarded-for').toLowerCase()
  if (header === 'x-forwarded-for' || header === 'forwarded') return header
  problems.push(`SVC_FORWARDED_HEADER has to be x-forwarded-for or forwarded, but is ${JSON.stringify(text)}.`)
  return 'x-forwarded-for'
}
