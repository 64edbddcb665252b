/** Settings of the listener: reverse proxies in front of it, and limits on connections and slow clients. */
import { compile } from 'proxy-addr'
import type { Settings } from './settings.ts'

export type NetworkConfig = ReturnType<typeof readNetwork>
export type NetworkLimits = NetworkConfig['limits']

export function readNetwork(settings: Settings) {
  return {
    /** Whether a connection's peer is a reverse proxy whose forwarding header counts. */
    trustsProxy: readProxies(settings),
    /** The one header that carries the client's address. A proxy passes the other one through as the client wrote it. */
    forwardedHeader: readHeader(settings),
    /** The public listener accepts connections only from trusted proxies, each with a PROXY header. */
    proxyProtocol: readProxyProtocol(settings),
    limits: {
      /** From the connection to the end of the first request's headers. Bun itself cuts headers that take longer than about 12 seconds. */
      headersMs: settings.integer('SVC_HEADERS_SECONDS', 10, 1, 10) * 1000,
      /** How long a request body may stall while the server waits for it. */
      bodyIdleMs: settings.integer('SVC_BODY_IDLE_SECONDS', 30, 1, 3600) * 1000,
      bodyBytesPerSecond: settings.integer('SVC_BODY_BYTES_PER_SECOND', 500, 0, 1_000_000),
      /** For a body that the server reads whole, such as JSON. */
      wholeBodyMs: settings.integer('SVC_JSON_BODY_SECONDS', 60, 1, 3600) * 1000,
      connections: settings.integer('SVC_CONNECTIONS_MAX', 4000, 1, 1_000_000),
      connectionsPerAddress: settings.integer('SVC_CONNECTIONS_PER_ADDRESS', 500, 1, 1_000_000),
      /** Event streams and WebSockets, counted apart from other connections. */
      streams: settings.integer('SVC_STREAMS_MAX', 4000, 1, 1_000_000),
      streamsPerAddress: settings.integer('SVC_STREAMS_PER_ADDRESS', 500, 1, 1_000_000),
      /** How often open streams are authorized again. Not configurable: docs/operate/server.md states it. */
      judgeEveryMs: 15_000,
    },
  }
}

function readProxies(settings: Settings): (address: string) => boolean {
  try {
    const trusts = compile(settings.list('SVC_TRUSTED_PROXIES'))
    return (address) => trusts(address, 0)
  } catch {
    settings.refuse(
      'SVC_TRUSTED_PROXIES',
      'must be addresses or networks such as 10.0.0.0/8, or loopback, separated by commas',
    )
    return () => false
  }
}

function readProxyProtocol(settings: Settings): boolean {
  const isOn = settings.flag('SVC_PROXY_PROTOCOL', false)
  if (isOn && settings.list('SVC_TRUSTED_PROXIES').length === 0)
    settings.problem(
      ['SVC_PROXY_PROTOCOL', 'SVC_TRUSTED_PROXIES'],
      'SVC_PROXY_PROTOCOL needs SVC_TRUSTED_PROXIES: the addresses from which the balancer connects.',
    )
  return isOn
}

function readHeader(settings: Settings): 'x-forwarded-for' | 'forwarded' {
  const header = (settings.text('SVC_FORWARDED_HEADER') ?? 'x-forwarded-for').toLowerCase()
  if (header === 'x-forwarded-for' || header === 'forwarded') return header
  settings.refuse('SVC_FORWARDED_HEADER', 'must be x-forwarded-for or forwarded')
  return 'x-forwarded-for'
}
