/** Blocks this server's own addresses for sandboxes: over the internet, a request would not count as one from a sandbox. */
import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Config } from '../config.ts'
import { type DialPolicy, resolved } from './dial.ts'

/** Reads the port for each dial, because a server on a random port learns it after the start. */
export function exceptThisServer(policy: DialPolicy, config: Pick<Config, 'publicUrl' | 'port'>): DialPolicy {
  return {
    resolve: (host) => policy.resolve(host),
    async closed(address, port) {
      const why = await policy.closed(address, port)
      if (why !== null) return why
      if (contains(addressesOfMachine(), address)) return 'an address of this server'
      const url = new URL(config.publicUrl)
      const ports = [url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port), config.port]
      // Other services at the same address stay reachable.
      if (!ports.includes(port)) return null
      return contains(await addressesOf(policy, url.hostname), address) ? 'the public address of this server' : null
    },
  }
}

function addressesOfMachine(): string[] {
  return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address))
}

async function addressesOf(policy: DialPolicy, hostname: string): Promise<string[]> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(host) === 0 ? resolved(policy, host) : [host]
}

/** An IPv6 address has many spellings. */
function contains(addresses: string[], address: string): boolean {
  const list = new BlockList()
  for (const each of addresses) if (isIP(each) !== 0) list.addAddress(each, isIP(each) === 6 ? 'ipv6' : 'ipv4')
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
