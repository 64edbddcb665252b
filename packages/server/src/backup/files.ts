/** Files of a backup folder: written under another name first, with a checksum, and encrypted for a recipient. */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { Decrypter, Encrypter } from 'age-encryption'
import { StartupError } from '../startup/startup-error.ts'
import type { StoredFile } from './manifest.ts'

type Chunks = AsyncIterable<Uint8Array>

/** What a write leaves before its end. The next backup removes it. */
export const partialSuffix = '.partial'

interface Written extends StoredFile {
  /** Before compression and encryption. */
  sourceBytes: number
}

/** Fast, and most of what it can save. */
const gzipLevel = 1

/** Returns once the file is on the disk under its name. */
export async function writeStored(
  root: string,
  name: string,
  source: Chunks,
  { recipient, isCompressed }: { recipient: string | null; isCompressed: boolean },
): Promise<Written> {
  const path = join(root, name)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const hash = createHash('sha256')
  let [bytes, sourceBytes] = [0, 0]
  async function* counted(chunks: Chunks): Chunks {
    for await (const chunk of chunks) {
      sourceBytes += chunk.length
      yield chunk
    }
  }
  async function* hashed(chunks: Chunks): Chunks {
    for await (const chunk of chunks) {
      hash.update(chunk)
      bytes += chunk.length
      yield chunk
    }
  }
  const plain = Readable.from(counted(source), { objectMode: false })
  const packed: Chunks = isCompressed ? plain.compose(createGzip({ level: gzipLevel })) : plain
  const sealed = recipient === null ? packed : seal(packed, recipient)
  const partial = `${path}${partialSuffix}`
  try {
    await pipeline(hashed(sealed), createWriteStream(partial, { mode: 0o600 }))
    await sync(partial)
    await rename(partial, path)
    await sync(dirname(path))
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
  return { name, bytes, sha256: hash.digest('hex'), sourceBytes }
}

/** Throws at the end unless the file is what was written. */
export async function* readStored(
  root: string,
  file: StoredFile,
  { identity, isCompressed }: { identity: string | null; isCompressed: boolean },
): Chunks {
  const checked = checkedChunks(root, file)
  const opened = identity === null ? checked : unseal(checked, identity)
  if (!isCompressed) return yield* opened
  yield* Readable.from(opened, { objectMode: false }).compose(createGunzip()) as Chunks
}

async function* checkedChunks(root: string, { name, bytes, sha256 }: StoredFile): Chunks {
  const hash = createHash('sha256')
  let found = 0
  try {
    for await (const chunk of createReadStream(join(root, name)) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      found += chunk.length
      yield chunk
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new StartupError(`The backup lacks the file ${name}. Use another backup, or another copy of this one.`)
  }
  if (found === bytes && hash.digest('hex') === sha256) return
  throw new StartupError(
    `The file ${name} of the backup is damaged: it differs from its checksum. Use another backup, or another copy of this one.`,
  )
}

async function* seal(chunks: Chunks, recipient: string): Chunks {
  const encrypter = new Encrypter()
  encrypter.addRecipient(recipient)
  yield* (await encrypter.encrypt(webStream(chunks))) as unknown as Chunks
}

async function* unseal(chunks: Chunks, identity: string): Chunks {
  const decrypter = new Decrypter()
  decrypter.addIdentity(identity)
  yield* (await decrypter.decrypt(webStream(chunks))) as unknown as Chunks
}

function webStream(chunks: Chunks): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done === true) controller.close()
      else controller.enqueue(new Uint8Array(value))
    },
    async cancel() {
      await iterator.return?.()
    },
  })
}

/** The whole text or none, also after a crash. */
export async function writeText(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await writeFile(`${path}${partialSuffix}`, text, { mode: 0o600 })
  await sync(`${path}${partialSuffix}`)
  await rename(`${path}${partialSuffix}`, path)
  await sync(dirname(path))
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
