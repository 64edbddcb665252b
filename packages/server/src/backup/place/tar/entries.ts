/** The headers of a tar archive: how a file begins in one, and where each file of one is. */
import type { FileHandle } from 'node:fs/promises'
import { invariant } from '@svc/contract/errors'
import { Header, type HeaderData } from 'tar/header'
import { Pax } from 'tar/pax'

const block = 512

/** The extended header, its records, and the header: as many blocks for any size, so they can be written after the content. */
export const headBytes = 3 * block
/** Two empty blocks. */
export const endBytes = 2 * block
/** An extended header is read into memory, so it is limited. */
const recordsBytesMax = 1024 ** 2

export function padded(bytes: number): number {
  return Math.ceil(bytes / block) * block
}

/** A plain header has no room for sizes from 8 GiB on, so each file has an extended one (POSIX pax). */
export function headOf(name: string, bytes: number, writtenAt: Date): Buffer {
  const mtime = new Date(Math.floor(writtenAt.getTime() / 1000) * 1000)
  const header = Buffer.alloc(block)
  new Header({ path: name, size: bytes, mtime, mode: 0o600, uid: 0, gid: 0, type: 'File' }).encode(header)
  const head = Buffer.concat([new Pax({ path: name, size: bytes, mtime }).encode(), header])
  invariant(head.length === headBytes, `The name ${name} is too long for an archive of backups.`)
  return head
}

/** Where the content of a file is in the archive. */
export interface Entry {
  start: number
  bytes: number
}

export type Index =
  | { kind: 'whole'; entries: Map<string, Entry> }
  /** It ends before the blocks that mark the end. */
  | { kind: 'cut-off' }
  | { kind: 'damaged'; at: number }
  | { kind: 'no-archive' }

/** Reads the headers alone. Other programs may have made the archive from the files of a folder. */
export async function readIndex(file: FileHandle): Promise<Index> {
  const { size } = await file.stat()
  const entries = new Map<string, Entry>()
  let records: HeaderData = {}
  let at = 0
  while (at + block <= size) {
    const header = new Header(await readAt(file, at, block), 0, records)
    if (header.nullBlock) return entries.size === 0 ? { kind: 'no-archive' } : { kind: 'whole', entries }
    const { cksumValid, type, path = '', size: bytes = 0 } = header
    if (!cksumValid) return at === 0 ? { kind: 'no-archive' } : { kind: 'damaged', at }
    const start = at + block
    if (start + bytes > size) return { kind: 'cut-off' }
    if (type === 'ExtendedHeader') {
      if (bytes > recordsBytesMax) return { kind: 'damaged', at }
      records = Pax.parse((await readAt(file, start, bytes)).toString('utf8'))
    } else {
      if (type === 'File' || type === 'OldFile') entries.set(path.replace(/^(\.\/)+/, ''), { start, bytes })
      records = {}
    }
    at = start + padded(bytes)
  }
  return at === 0 ? { kind: 'no-archive' } : { kind: 'cut-off' }
}

async function readAt(file: FileHandle, at: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes)
  let done = 0
  while (done < bytes) {
    const { bytesRead } = await file.read(buffer, done, bytes - done, at + done)
    // The file was cut off meanwhile.
    if (bytesRead === 0) break
    done += bytesRead
  }
  return buffer
}
