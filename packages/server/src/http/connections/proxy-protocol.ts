/** The header of the PROXY protocol, versions 1 and 2, with which a balancer names the client of each connection. */
import { isIPv4, isIPv6 } from 'node:net'

export interface ProxyHeader {
  /** Its length in bytes. HTTP follows. */
  bytes: number
  /** Null where it names none, as for a health check of the balancer itself. */
  client: string | null
}

const textStart = Buffer.from('PROXY ')
const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n')
const lineBytesMax = 107
/** Includes extensions, which are skipped. nginx has the same limit. */
const headerBytesMax = 4096
const fixedBytes = 16

/** Null while the header is incomplete. Throws for bytes that are no header. */
export function parseProxyHeader(bytes: Buffer): ProxyHeader | null {
  if (beginsAs(bytes, signature)) return parseBinary(bytes)
  if (beginsAs(bytes, textStart)) return parseLine(bytes)
  throw malformed()
}

function beginsAs(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length)
  return bytes.subarray(0, length).equals(start.subarray(0, length))
}

function parseLine(bytes: Buffer): ProxyHeader | null {
  const end = bytes.subarray(0, lineBytesMax).indexOf('\r\n')
  if (end === -1) {
    if (bytes.length >= lineBytesMax) throw malformed()
    return null
  }
  const line = bytes.toString('latin1', 0, end)
  // The protocol requires ignoring whatever follows UNKNOWN.
  if (/^PROXY UNKNOWN(?: |$)/.test(line)) return { bytes: end + 2, client: null }
  const [, family, source = '', target = '', ...ports] =
    /^PROXY TCP([46]) ([^ ]+) ([^ ]+) (\d{1,5}) (\d{1,5})$/.exec(line) ?? []
  const isAddress = family === '4' ? isIPv4 : isIPv6
  if (!isAddress(source) || !isAddress(target) || source.includes('%') || ports.some((port) => +port > 65_535))
    throw malformed()
  return { bytes: end + 2, client: family === '4' ? source : usualForm(source) }
}

function parseBinary(bytes: Buffer): ProxyHeader | null {
  if (bytes.length < fixedBytes) return null
  const [versionAndCommand, family] = [bytes[12]!, bytes[13]!]
  const total = fixedBytes + bytes.readUInt16BE(14)
  if ((versionAndCommand !== 0x20 && versionAndCommand !== 0x21) || total > headerBytesMax) throw malformed()
  if (bytes.length < total) return null
  const isLocal = versionAndCommand === 0x20
  return { bytes: total, client: isLocal ? null : clientOf(family, bytes.subarray(fixedBytes, total)) }
}

function clientOf(family: number, addresses: Buffer): string | null {
  switch (family) {
    case 0x11: // TCP over IPv4
      if (addresses.length < 12) throw malformed()
      return [...addresses.subarray(0, 4)].join('.')
    case 0x21: // TCP over IPv6
      if (addresses.length < 36) throw malformed()
      return usualForm(addresses.toString('hex', 0, 16).replace(/....(?!$)/g, '$&:'))
    case 0x00: // unspecified
    case 0x12: // UDP
    case 0x22:
    case 0x31: // unix sockets
    case 0x32:
      return null
    default:
      throw malformed()
  }
}

/** One canonical text per address, since limits compare texts. */
function usualForm(ipv6: string): string {
  const address = new URL(`http://[${ipv6}]`).hostname.slice(1, -1)
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(address) ?? []
  if (high === undefined || low === undefined) return address
  return [high, low].flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]).join('.')
}

function malformed(): Error {
  return new Error('The connection does not start with a PROXY header.')
}
