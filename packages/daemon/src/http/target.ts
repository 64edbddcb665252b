/** Routes by the path exactly as sent: nothing is decoded, so an encoding cannot hide a target. */

import { linkPort } from '@svc/contract/daemon/control'

export type Target =
  | { kind: 'control'; name: string }
  /** `path` is what the program on that port receives. */
  | { kind: 'port'; port: number; path: string }
  | { kind: 'runtime'; path: string }
  | { kind: 'refused'; reason: string; hint: string }

export interface OwnPorts {
  daemon: number
  relay: number
  egress: number
  runtime: number
}

const portPattern = /^[1-9][0-9]{0,4}$/

export function targetOf(path: string, own: OwnPorts): Target {
  // The absolute form names a host, and "*" is not a path.
  if (!path.startsWith('/')) return refused('The request target is not a path.', 'Send a path that begins with "/".')
  const plain = path.split(/[?#]/, 1)[0]!
  if (plain === '/svc' || plain.startsWith('/svc/')) return { kind: 'control', name: plain.slice('/svc/'.length) }
  if (plain !== '/proxy' && !plain.startsWith('/proxy/')) return { kind: 'runtime', path }

  const rest = path.slice('/proxy/'.length)
  const end = rest.search(/[/?#]/)
  const text = end === -1 ? rest : rest.slice(0, end)
  const after = end === -1 ? '' : rest.slice(end)
  // Each port has one spelling: the text that passes is the number that is compared and dialed.
  const port = portPattern.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65_535)) {
    return refused('The port is not valid.', 'Use /proxy/<port>/ with a number from 1 to 65535, without leading zeros.')
  }
  if (Object.values(own).includes(port) || port === linkPort) {
    return refused(`Port ${port} is reserved for the platform.`, 'Start your program on another port.')
  }
  return { kind: 'port', port, path: after.startsWith('/') ? after : `/${after}` }
}

const refused = (reason: string, hint: string): Target => ({ kind: 'refused', reason, hint })
