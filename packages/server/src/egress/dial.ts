/** Resolves a host, checks every address, and connects to a checked address. */
import { once } from 'node:events'
import { lookup } from 'node:dns/promises'
import { connect, isIP, type Socket } from 'node:net'
import { closedNetwork } from '@svc/git'
import { withDeadline } from '../deadline.ts'

export interface DialPolicy {
  /** Returns all addresses of a name. */
  resolve(host: string): Promise<string[]>
  /** The reason why sandboxes may not reach an address, or null. */
  closed(address: string, port: number): string | null | Promise<string | null>
}

export const publicInternet: DialPolicy = {
  resolve: async (host) => (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address),
  closed: (address) => closedNetwork(address),
}

export type DialOutcome =
  | { kind: 'connected'; socket: Socket }
  /** No sandbox may reach this address, whatever the lists allow. */
  | { kind: 'closed'; reason: string }
  | { kind: 'failed'; reason: string }

const resolveMs = 10_000
const connectMs = 10_000
const addressesMax = 4

export async function dial(policy: DialPolicy, host: string, port: number): Promise<DialOutcome> {
  const addresses = isIP(host) === 0 ? await resolved(policy, host) : [host]
  if (addresses.length === 0) return { kind: 'failed', reason: `The host ${host} could not be resolved.` }
  // DNS rebinding mixes private addresses with public ones, so each address must pass.
  for (const address of addresses) {
    const what = await policy.closed(address, port)
    if (what !== null) return { kind: 'closed', reason: `The host ${host} resolves to ${address}: ${what}.` }
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
  // A failed lookup is not an error here; the caller reports it.
  return withDeadline(
    policy.resolve(host).catch(() => []),
    resolveMs,
    () => [],
  )
}

async function connectTo(address: string, port: number): Promise<Exclude<DialOutcome, { kind: 'closed' }>> {
  // A client that closed its sending side still expects the response.
  const socket = connect({ host: address, port, allowHalfOpen: true })
  const signal = AbortSignal.timeout(connectMs)
  try {
    await once(socket, 'connect', { signal })
    return { kind: 'connected', socket }
  } catch (error) {
    socket.destroy()
    const { code, message } = error as NodeJS.ErrnoException
    return { kind: 'failed', reason: signal.aborted ? 'connection timed out' : (code ?? message) }
  }
}
