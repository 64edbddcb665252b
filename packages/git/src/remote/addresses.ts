import { isIP } from 'node:net'

/** Networks that are not public, as the registries list them, and the clouds' metadata services. */
const closed4 = [
  '0.0.0.0/8 this network',
  '10.0.0.0/8 a private network',
  '100.64.0.0/10 a carrier network',
  '127.0.0.0/8 this machine',
  '168.63.129.16/32 a metadata service',
  '169.254.0.0/16 link-local, with the metadata services of clouds',
  '172.16.0.0/12 a private network',
  '192.0.0.0/24 a reserved network',
  '192.0.2.0/24 a network for documentation',
  '192.88.99.0/24 a reserved network',
  '192.168.0.0/16 a private network',
  '198.18.0.0/15 a network for tests',
  '198.51.100.0/24 a network for documentation',
  '203.0.113.0/24 a network for documentation',
  '224.0.0.0/4 multicast',
  '240.0.0.0/4 a reserved network',
].map((line) => parseNetwork(line, parse4))

const closed6 = [
  '::/128 this machine',
  '::1/128 this machine',
  '64:ff9b:1::/48 a translated private network',
  '100::/64 a discarding network',
  '2001:2::/48 a network for tests',
  '2001:10::/28 a reserved network',
  '2001:20::/28 a reserved network',
  '2001:db8::/32 a network for documentation',
  '3fff::/20 a network for documentation',
  '5f00::/16 a reserved network',
  'fc00::/7 a private network',
  'fe80::/10 link-local',
  'fec0::/10 a private network',
  'ff00::/8 multicast',
].map((line) => parseNetwork(line, parse6))

/** IPv6 networks that embed an IPv4 address, which is judged instead. `shift` is its distance from the right. */
const carriers = [
  { network: parseNetwork('::ffff:0:0/96 -', parse6), shift: 0n },
  { network: parseNetwork('::ffff:0:0:0/96 -', parse6), shift: 0n },
  { network: parseNetwork('::/96 -', parse6), shift: 0n },
  { network: parseNetwork('64:ff9b::/96 -', parse6), shift: 0n },
  { network: parseNetwork('2002::/16 -', parse6), shift: 80n },
]

interface Network {
  bits: bigint
  width: bigint
  prefix: bigint
  what: string
}

/** The kind of non-public network of an address; null for a public address. */
export function closedNetwork(address: string): string | null {
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  if (isIP(bare) === 4) return find(closed4, parse4(bare))
  if (isIP(bare) !== 6) return 'no address at all'
  const bits = parse6(bare)
  const direct = find(closed6, bits)
  if (direct) return direct
  const carrier = carriers.find(({ network }) => contains(network, bits))
  if (carrier) return find(closed4, (bits >> carrier.shift) & 0xffffffffn)
  // Teredo has the client's address inverted at the end, and its server's in the middle.
  if (contains(teredo, bits)) return find(closed4, ~bits & 0xffffffffn) ?? find(closed4, (bits >> 64n) & 0xffffffffn)
  return null
}

const teredo = parseNetwork('2001::/32 -', parse6)

function find(networks: Network[], bits: bigint): string | null {
  return networks.find((network) => contains(network, bits))?.what ?? null
}

function contains({ bits, width, prefix }: Network, address: bigint): boolean {
  const shift = width - prefix
  return address >> shift === bits >> shift
}

function parseNetwork(line: string, parse: (text: string) => bigint): Network {
  const space = line.indexOf(' ')
  const [address = '', prefix = ''] = line.slice(0, space).split('/')
  return {
    bits: parse(address),
    width: address.includes(':') ? 128n : 32n,
    prefix: BigInt(prefix),
    what: line.slice(space + 1),
  }
}

function parse4(text: string): bigint {
  return text.split('.').reduce((bits, part) => bits * 256n + BigInt(part), 0n)
}

function parse6(text: string): bigint {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text)
  if (dotted) {
    const low = parse4(dotted[2] as string)
    return parse6(`${dotted[1]}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`)
  }
  const [left = '', right] = text.split('::')
  const groups = (side: string) => side.split(':').filter(Boolean)
  const head = groups(left)
  const tail = right === undefined ? [] : groups(right)
  const middle = right === undefined ? [] : Array<string>(8 - head.length - tail.length).fill('0')
  return [...head, ...middle, ...tail].reduce((bits, group) => bits * 65536n + BigInt(`0x${group}`), 0n)
}
