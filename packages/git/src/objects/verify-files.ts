/** Whether the files of the objects of a repository are as git wrote them. Changes nothing. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createInflate } from 'node:zlib'
import { orIfAbsent } from '../process/absent.ts'
import { objectFormat, type ObjectFormat } from '../process/object-format.ts'
import { packFiles } from './open-packs.ts'

const readBytes = 1024 ** 2

/**
 * Packs and their indexes end with a checksum. `isIntact` says whether it fits, once all chunks are read. A chunk is
 * overwritten when the next one is asked for. The file is closed at the end.
 */
export function readChecksummed(
  file: FileHandle,
  format: ObjectFormat,
): { chunks: AsyncIterable<Uint8Array>; isIntact: () => boolean } {
  const hash = createHash(format)
  const checksum: Uint8Array[] = []
  async function* read(): AsyncGenerator<Uint8Array> {
    const checked = (await file.stat()).size - hash.copy().digest().length
    let done = 0
    for await (const chunk of readInto(Buffer.allocUnsafeSlow(readBytes), file)) {
      const content = chunk.subarray(0, Math.max(0, checked - done))
      hash.update(content)
      if (content.length < chunk.length) checksum.push(Buffer.from(chunk.subarray(content.length)))
      done += chunk.length
      yield chunk
    }
  }
  return { chunks: read(), isIntact: () => Buffer.concat(checksum).equals(hash.digest()) }
}

/** A stream of the file takes new memory for each chunk, which costs the kernel more than to read it. */
async function* readInto(buffer: Buffer, file: FileHandle): AsyncGenerator<Buffer> {
  try {
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}

/**
 * Names at most `max` damaged files: compares packs and their indexes with their checksums, and loose objects with their ids.
 * Reads each file once and no object of a pack, which takes a sixth of the time of a full git fsck.
 */
export async function damagedFiles(dir: string, max: number): Promise<string[]> {
  const format = await objectFormat(dir)
  const found: string[] = []
  for await (const { path, differs } of objectFiles(dir, format)) {
    if (found.length >= max) break
    const problem = await differs().catch((error: NodeJS.ErrnoException) =>
      // git has joined packs, or packed the object, since the folder was listed.
      error.code === 'ENOENT' ? null : error.message,
    )
    if (problem !== null) found.push(`${path}: ${problem}`)
  }
  return found
}

interface ObjectFile {
  path: string
  /** Null: the file is intact. */
  differs: () => Promise<string | null>
}

async function* objectFiles(dir: string, format: ObjectFormat): AsyncGenerator<ObjectFile> {
  const packs = await packFiles(dir)
  for (const name of packs.filter((each) => /\.(?:pack|idx)$/.test(each))) {
    const path = join(dir, 'objects/pack', name)
    yield { path, differs: () => differsFromChecksum(path, format) }
  }
  const folders = await readdir(join(dir, 'objects')).catch(orIfAbsent<string[]>([]))
  for (const folder of folders.filter((name) => /^[0-9a-f]{2}$/.test(name)))
    for (const name of await readdir(join(dir, 'objects', folder)).catch(orIfAbsent<string[]>([]))) {
      const path = join(dir, 'objects', folder, name)
      if (/^(?:[0-9a-f]{38}|[0-9a-f]{62})$/.test(name))
        yield { path, differs: () => differsFromId(path, { id: `${folder}${name}`, format }) }
    }
}

async function differsFromChecksum(path: string, format: ObjectFormat): Promise<string | null> {
  const file = await open(path)
  const { chunks, isIntact } = readChecksummed(file, format)
  // Reads to the end, which closes the file.
  for await (const _ of chunks);
  return isIntact() ? null : 'it differs from its checksum'
}

async function differsFromId(
  path: string,
  { id, format }: { id: string; format: ObjectFormat },
): Promise<string | null> {
  const hash = createHash(format)
  await pipeline(createReadStream(path), createInflate(), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) hash.update(chunk)
  })
  return hash.digest('hex') === id ? null : 'its content is not that of its id'
}
