/** From a host's name to a connection: resolved here, judged, and connected to the very address that was judged. */
import { lookup } from 'node:dns/promises'
import { connect, isIP, type Socket } from 'node:net'
import { closedNetwork } from '@svc/git'

export interface DialPolicy {
  /** All addresses of a name. */
  resolve(host: string): Promise<string[]>
  /** Why an address is closed to sandboxes; null for one that is open. */
  closed(address: string, port: number): string | null | Promise<string | null>
}

export const publicInternet: DialPolicy = {
  resolve: async (host) => (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address),
  closed: (address) => closedNetwork(address),
}

export type DialOutcome =
  | { kind: 'connected'; socket: Socket }
  /** The address is one that no sandbox may reach, whatever a list says. */
  | { kind: 'closed'; reason: string }
  | { kind: 'failed'; reason: string }

const resolveMs = 10_000
const connectMs = 10_000
const addressesMax = 4

export async function dial(policy: DialPolicy, host: string, port: number): Promise<DialOutcome> {
  const addresses = isIP(host) === 0 ? await resolved(policy, host) : [host]
  if (addresses.length === 0) return { kind: 'failed', reason: `The host ${host} could not be resolved.` }
  // One private answer among public ones is how rebinding begins, so every answer counts.
  for (const address of addresses) {
    const what = await policy.closed(address, port)
    if (what !== null) return { kind: 'closed', reason: `The host ${host} leads to ${address}: ${what}.` }
  }
  let reason = ''
  for (const address of addresses.slice(0, addressesMax)) {
    const outcome = await connectTo(address, port)
    if (outcome.kind === 'connected') return outcome
    reason = outcome.reason
  }
  return { kind: 'failed', reason: `${host}:${port} cannot be reached: ${reason}.` }
}

export async function resolved(policy: DialPolicy, host: string): Promise<string[]> {
  const late = new Promise<string[]>((resolve) => setTimeout(resolve, resolveMs, []).unref())
  // A name that is not there is no error of ours; the caller says what it means.
  return Promise.race([policy.resolve(host).catch(() => []), late])
}

function connectTo(address: string, port: number): Promise<Exclude<DialOutcome, { kind: 'closed' }>> {
  return new Promise((resolve) => {
    // A client that has said everything still wants its answer.
    const socket = connect({ host: address, port, allowHalfOpen: true })
    const late = setTimeout(() => socket.destroy(new Error('it does not answer')), connectMs)
    const fail = (error: NodeJS.ErrnoException) => {
      clearTimeout(late)
      resolve({ kind: 'failed', reason: error.code ?? error.message })
    }
    socket.once('error', fail)
    socket.once('connect', () => {
      clearTimeout(late)
      socket.off('error', fail)
      resolve({ kind: 'connected', socket })
    })
  })
}
