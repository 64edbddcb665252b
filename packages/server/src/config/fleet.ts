/** Several servers on one database. */
import type { Settings } from './settings.ts'

/** Also a label of a host name, so that the name of a pod fits. */
export const serverNamePattern = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/

export function readFleet(settings: Settings) {
  const name = settings.text('SVC_SERVER_NAME')
  if (name !== null && !serverNamePattern.test(name))
    settings.refuse('SVC_SERVER_NAME', 'has to be up to 63 lowercase letters, digits, dots and hyphens')
  return {
    /** Null: the name that the data folder has, or gets. */
    serverName: name,
    /** How other servers reach this one. Null: this server runs alone. */
    peerUrl: readPeerUrl(settings),
    /** Whether idle projects move to servers that keep clearly fewer. */
    balanceHomes: settings.choice('SVC_BALANCE_HOMES', ['on', 'off']) === 'on',
  }
}

function readPeerUrl(settings: Settings): string | null {
  const url = settings.url('SVC_PEER_URL')
  if (url === null) return null
  const { protocol, pathname, search, username } = new URL(url)
  if (protocol !== 'http:' || pathname !== '/' || search !== '' || username !== '')
    settings.refuse('SVC_PEER_URL', 'has to be an http address without a path, such as http://10.0.0.7:8420')
  for (const [name, why] of [
    ['DATABASE_URL', 'the PostgreSQL that all servers use'],
    ['SVC_PUBLIC_URL', 'the address that users open, the same on every server'],
  ])
    if (settings.text(name!) === null) settings.problems.push(`SVC_PEER_URL needs ${name}: ${why}.`)
  if (settings.text('SVC_PROXY_PROTOCOL') === '1')
    settings.problems.push('SVC_PEER_URL cannot be used with SVC_PROXY_PROTOCOL: other servers send no PROXY header.')
  return url
}
