/** Checks the web addresses this server calls for a project. Private networks and DNS rebinding are blocked. */
import { isIP } from 'node:net'
import { closedNetwork } from '@svc/git'
import { type DialPolicy, publicInternet } from './dial.ts'

export interface WebPolicy {
  /** The operator allows private hosts and plain http. */
  allowPrivate: boolean
  resolve?: DialPolicy['resolve']
}

/** An address that this server refuses to call; the message is for the user who configured it. */
export class AddressRefused extends Error {}

/** Returns the addresses to connect to. Throws AddressRefused, or an Error when the name does not resolve. */
export async function resolveWebAddress(url: URL, policy: WebPolicy): Promise<string[]> {
  const refusal = refuseUrl(url, policy.allowPrivate)
  if (refusal !== null) throw new AddressRefused(refusal)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return isIP(host) === 0 ? resolveChecked(host, policy) : [host]
}

/** Checks a URL before its name is resolved. Null when it may be tried. */
export function refuseUrl(url: URL, allowPrivate: boolean): string | null {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return `${url.protocol} URLs are not supported.`
  if (url.protocol === 'http:' && !allowPrivate)
    return 'The URL must start with https://, because http is not encrypted.'
  if (url.username !== '' || url.password !== '') return 'The URL contains a user name or password.'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) return refuseAddress(host, host, allowPrivate)
  if (
    !allowPrivate &&
    (/(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|home\.arpa)$/.test(host) || !host.includes('.'))
  )
    return `The host ${host} is a private name, and this server only calls public ones.`
  return null
}

async function resolveChecked(host: string, { allowPrivate, resolve = publicInternet.resolve }: WebPolicy) {
  let addresses: string[]
  try {
    addresses = await resolve(host)
  } catch (error) {
    throw new Error(`The host ${host} could not be resolved.`, { cause: error })
  }
  if (addresses.length === 0) throw new Error(`The host ${host} has no address.`)
  // DNS rebinding mixes private addresses with public ones, so each address must pass.
  for (const address of addresses) {
    const refusal = refuseAddress(host, address, allowPrivate)
    if (refusal !== null) throw new AddressRefused(refusal)
  }
  return addresses
}

/** Metadata services hand out the machine's credentials, so no setting allows them. */
const metadata = /^(link-local|a metadata service)/
const metadata6 = /^fd00:ec2:(:|0*:).*254$/i

function refuseAddress(host: string, address: string, allowPrivate: boolean): string | null {
  const what = closedNetwork(address)
  if (what === null) return null
  if (allowPrivate && !metadata.test(what) && !metadata6.test(address)) return null
  const finding = host === address ? `${address} is ${what}` : `The host ${host} resolves to ${address}: ${what}`
  return `${finding}. This server does not call such addresses.`
}
