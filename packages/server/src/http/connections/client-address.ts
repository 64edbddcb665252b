/** The client's address behind a request. Every limit, log line and audit row uses this. */
import type { IncomingMessage } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { headerLines } from '@svc/contract/daemon/raw-headers'
import parseForwarded from 'forwarded-parse'
import type { NetworkConfig } from '../../config/network.ts'

/** A request with the facts its listener recorded. */
export interface ListenedRequest extends IncomingMessage {
  svcFromSandbox?: boolean
  /** Another server forwarded it, so this one answers. */
  svcForwarded?: boolean
  svcAddress?: string
  /** The trace of the server that sent the request. */
  svcTrace?: string
}

export function addressOf(request: ListenedRequest | undefined): string {
  return request?.svcAddress ?? 'unknown'
}

/** Connections that came with a PROXY header, and the client it names, if any. */
const relayed = new WeakMap<Socket, string | null>()

export function noteRelayed(socket: Socket, client: string | null): void {
  relayed.set(socket, client)
}

/** The client of a request. A PROXY header overrides the peer. */
export function clientOf(
  network: Pick<NetworkConfig, 'trustsProxy' | 'forwardedHeader'>,
  { socket, rawHeaders }: IncomingMessage,
): string {
  const named = relayed.get(socket)
  // The peer is the balancer, which named no client and writes no forwarding header, so any header is an unproven claim.
  if (named === null) return plainAddress(socket.remoteAddress ?? '') ?? 'unknown'
  return resolveAddress(network, named ?? socket.remoteAddress, rawHeaders)
}

/**
 * The rightmost hop that is no trusted proxy. Each proxy appends the address it saw, so whatever a client writes is
 * further left. Without trusted proxies the peer is the client, and the header is not read.
 */
export function resolveAddress(
  { trustsProxy, forwardedHeader }: Pick<NetworkConfig, 'trustsProxy' | 'forwardedHeader'>,
  peer: string | undefined,
  rawHeaders: string[],
): string {
  let address = plainAddress(peer ?? '') ?? 'unknown'
  if (address === 'unknown' || !trustsProxy(address)) return address
  for (const hop of hopsOf(forwardedHeader, headerLines(rawHeaders, forwardedHeader).join(', ')).toReversed()) {
    const next = plainAddress(hop)
    // A hop without a valid address proves nothing about those before it.
    if (next === null) return address
    address = next
    if (!trustsProxy(address)) return address
  }
  return address
}

const headerBytesMax = 4096

function hopsOf(header: NetworkConfig['forwardedHeader'], value: string): string[] {
  if (value === '' || value.length > headerBytesMax) return []
  if (header === 'x-forwarded-for') return value.split(',')
  try {
    return parseForwarded(value).map((hop) => hop.for ?? '')
  } catch {
    return []
  }
}

/** Without the port some proxies append, and an IPv4 address in its usual form. */
export function plainAddress(text: string): string | null {
  const host = /^\[([0-9a-fA-F:.]+)\](?::\d+)?$/.exec(text.trim())?.[1] ?? text.trim().replace(/^([\d.]+):\d+$/, '$1')
  const address = host.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
  return isIP(address) === 0 ? null : address.toLowerCase()
}

/** The network a limit counts: one subscriber commonly has a whole IPv6 /64. */
export function clientNetwork(address: string): string {
  if (isIP(address) !== 6) return address
  const [left = '', right = ''] = address.split('%')[0]!.split('::')
  const head = left.split(':').filter((group) => group !== '')
  const tail = right.split(':').filter((group) => group !== '')
  const zeros = address.includes('::') ? Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0') : []
  return `${[...head, ...zeros, ...tail]
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}
