/** Several servers on one database. */
import type { Settings } from './settings.ts'

/** Also a label of a host name, so that the name of a pod fits. */
export const serverNamePattern = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/

export function readFleet(settings: Settings) {
  const name = settings.text('SVC_SERVER_NAME')
  if (name !== null && !serverNamePattern.test(name))
    settings.refuse('SVC_SERVER_NAME', 'has to be up to 63 lowercase letters, digits, dots and hyphens')
  const peer = readPeer(settings)
  return {
    /** Null: the name that the data folder has, or gets. */
    serverName: name,
    ...peer,
    /** Whether a change of a ref waits for the copy on another server. A server that runs alone has none. */
    replica: readReplica(settings, peer.peerUrl),
    /** Whether idle projects move to servers that keep clearly fewer. */
    balanceHomes: settings.choice('SVC_BALANCE_HOMES', ['on', 'off']) === 'on',
  }
}

export type ReplicaMode = 'sync' | 'async' | 'none'

function readReplica(settings: Settings, peerUrl: string | null): ReplicaMode {
  const chosen = settings.choice('SVC_REPLICA', ['sync', 'async', 'none'])
  if (peerUrl !== null) return chosen
  if (settings.text('SVC_REPLICA') !== null && chosen !== 'none')
    settings.problem(
      ['SVC_REPLICA', 'SVC_PEER_URL'],
      'SVC_REPLICA needs SVC_PEER_URL: a copy is on another server of the same database.',
    )
  return 'none'
}

/** Where only other servers connect. */
export interface PeerAddress {
  host: string
  port: number
}

interface Peer {
  /** How other servers reach this one, encrypted with https. Null: this server runs alone. */
  peerUrl: string | null
  /** Null: other servers use the same port as everyone. */
  peerListen: PeerAddress | null
}

function readPeer(settings: Settings): Peer {
  const peerUrl = settings.url('SVC_PEER_URL')
  if (peerUrl === null) return { peerUrl, peerListen: null }
  const { protocol, pathname, search, username, port } = new URL(peerUrl)
  if (pathname !== '/' || search !== '' || username !== '')
    settings.refuse('SVC_PEER_URL', 'has to be an address without a path, such as https://10.0.0.7:8421')
  const needed = [
    { name: 'DATABASE_URL', what: 'the PostgreSQL that all servers use' },
    { name: 'SVC_PUBLIC_URL', what: 'the address that users open, the same on every server' },
  ].filter(({ name }) => settings.text(name) === null)
  if (needed.length > 0)
    settings.problem(
      ['SVC_PEER_URL', ...needed.map(({ name }) => name)],
      `SVC_PEER_URL needs ${needed.map(({ name, what }) => `${name} (${what})`).join(' and ')}.`,
    )
  const host = settings.text('SVC_HOST') ?? '127.0.0.1'
  const isEncrypted = protocol === 'https:'
  const peerListen = readPeerListen(settings) ?? (isEncrypted ? { host, port: Number(port) || 443 } : null)
  refuseSharedPort(settings, { peerUrl, peerListen })
  if (peerListen === null && settings.text('SVC_PROXY_PROTOCOL') === '1')
    settings.problem(
      ['SVC_PEER_URL', 'SVC_PEER_LISTEN'],
      'SVC_PEER_URL needs a port of its own beside SVC_PROXY_PROTOCOL, because other servers send no PROXY header. Start it with https, or set SVC_PEER_LISTEN.',
    )
  return { peerUrl, peerListen }
}

/** The port of everyone answers without encryption, and no server connects to it with https. */
function refuseSharedPort(settings: Settings, { peerUrl, peerListen }: { peerUrl: string } & Peer): void {
  const port = settings.integer('SVC_PORT', 8420, 0, 65535)
  const { protocol, hostname, port: peerPort } = new URL(peerUrl)
  const isEncrypted = protocol === 'https:'
  const other = port === 8421 ? 8422 : 8421
  if (isEncrypted && (Number(peerPort) || 443) === port)
    settings.problem(['SVC_PEER_URL'], `SVC_PEER_URL with https needs another port than SVC_PORT (${port}).`, {
      SVC_PEER_URL: `https://${hostname}:${other}`,
    })
  if (peerListen?.port === port && settings.text('SVC_PEER_LISTEN') !== null)
    settings.problem(['SVC_PEER_LISTEN'], `SVC_PEER_LISTEN needs another port than SVC_PORT (${port}).`, {
      SVC_PEER_LISTEN: `${peerListen.host.includes(':') ? `[${peerListen.host}]` : peerListen.host}:${other}`,
    })
}

function readPeerListen(settings: Settings): PeerAddress | null {
  const text = settings.text('SVC_PEER_LISTEN')
  if (text === null) return null
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(text) ?? []
  if (host !== undefined && Number(port) < 65_536) return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
  settings.refuse('SVC_PEER_LISTEN', 'has to be an address and a port, such as 0.0.0.0:8421')
  return null
}
