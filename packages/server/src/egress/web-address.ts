/** Which addresses of the web this server calls for a project: not its own network, not one a name was turned to meanwhile. */
import { isIP } from 'node:net'
import { closedNetwork } from '@svc/git'
import { type DialPolicy, publicInternet } from './dial.ts'

export interface WebPolicy {
  /** The operator lets projects name hosts of private networks, and http without TLS. */
  allowPrivate: boolean
  resolve?: DialPolicy['resolve']
}

/** An address that nothing here may dial; the message is for whoever wrote it. */
export class AddressRefused extends Error {}

/** The addresses to dial for it and no others. Throws AddressRefused, or an Error when the name leads nowhere at this moment. */
export async function judgeWebAddress(url: URL, policy: WebPolicy): Promise<string[]> {
  const refusal = refuseUrl(url, policy.allowPrivate)
  if (refusal !== null) throw new AddressRefused(refusal)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return isIP(host) === 0 ? judged(host, policy) : [host]
}

/** What can be said of an address before its name is resolved; null when it may be tried. */
export function refuseUrl(url: URL, allowPrivate: boolean): string | null {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return `${url.protocol} addresses cannot be called.`
  if (url.protocol === 'http:' && !allowPrivate)
    return 'The address has to begin with https://: over http, what is sent could be read on the way.'
  if (url.username !== '' || url.password !== '') return 'The address holds a user name or password.'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) return refuseAddress(host, host, allowPrivate)
  if (
    !allowPrivate &&
    (/(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|home\.arpa)$/.test(host) || !host.includes('.'))
  )
    return `The host ${host} is a private name, and this server calls public ones only.`
  return null
}

async function judged(host: string, { allowPrivate, resolve = publicInternet.resolve }: WebPolicy): Promise<string[]> {
  let addresses: string[]
  try {
    addresses = await resolve(host)
  } catch (error) {
    throw new Error(`The host ${host} could not be resolved.`, { cause: error })
  }
  if (addresses.length === 0) throw new Error(`The host ${host} has no address.`)
  // One private answer among public ones is how rebinding begins, so every answer counts.
  for (const address of addresses) {
    const refusal = refuseAddress(host, address, allowPrivate)
    if (refusal !== null) throw new AddressRefused(refusal)
  }
  return addresses
}

/** Metadata services hand out the credentials of the machine, so no setting opens the way to them. */
const metadata = /^(link-local|a metadata service)/
const metadata6 = /^fd00:ec2:(:|0*:).*254$/i

function refuseAddress(host: string, address: string, allowPrivate: boolean): string | null {
  const what = closedNetwork(address)
  if (what === null) return null
  if (allowPrivate && !metadata.test(what) && !metadata6.test(address)) return null
  const leads = host === address ? `${address} is ${what}` : `The host ${host} leads to ${address}: ${what}`
  return `${leads}. This server does not call there.`
}
