/** The ports that programs in the sandbox listen on, from the kernel's tables of sockets. */
import { open } from 'node:fs/promises'

import { listeningPortsMax, type PortsReply } from '@svc/contract/daemon/control'

/** The kernel lists listening sockets first. An agent can open any number of connections. */
const tableBytesMax = 256 * 1024
const listens = '0A'

/** Only those that the proxy reaches, which connects to 127.0.0.1. */
export async function listeningPorts(): Promise<PortsReply> {
  const tables = await Promise.all([readTable('/proc/net/tcp'), readTable('/proc/net/tcp6')])
  const ports = new Set(tables.flatMap(portsIn))
  return { ports: [...ports].sort((one, other) => one - other).slice(0, listeningPortsMax) }
}

function portsIn(table: string): number[] {
  return table.split('\n').flatMap((line) => {
    const [, address = '', port = '', , , state] =
      /^\s*\d+: ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]{2}) /.exec(line) ?? []
    return state === listens && isReachable(address) ? [Number.parseInt(port, 16)] : []
  })
}

/** Addresses are words in the byte order of the machine, so the last byte of 127.0.0.1 comes first on most. */
function isReachable(address: string): boolean {
  return /^0+$/.test(address) || /^(0{16}FFFF0000|0{16}0000FFFF)?(0100007F|7F000001)$/.test(address)
}

/** Empty where the kernel has no such table, as without IPv6. */
async function readTable(path: string): Promise<string> {
  const file = await open(path).catch(() => null)
  if (file === null) return ''
  try {
    const buffer = Buffer.alloc(tableBytesMax)
    let length = 0
    for (let read = -1; read !== 0 && length < tableBytesMax; length += read)
      read = (await file.read(buffer, length, tableBytesMax - length, null)).bytesRead
    return buffer.toString('latin1', 0, length)
  } finally {
    await file.close()
  }
}
