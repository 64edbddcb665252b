/** Files of a backup: written with a checksum, compressed, and encrypted for a recipient. */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { Decrypter, Encrypter } from 'age-encryption'
import { StartupError } from '../startup/startup-error.ts'
import type { StoredFile } from './manifest.ts'
import { AbsentFileError, type Chunks, type Place } from './place/place.ts'

/** Fast, and most of what it can save. */
const gzipLevel = 1

export async function writeStored(
  place: Place,
  name: string,
  source: Chunks,
  { recipient, isCompressed }: { recipient: string | null; isCompressed: boolean },
): Promise<StoredFile> {
  const hash = createHash('sha256')
  let bytes = 0
  async function* hashed(chunks: Chunks): Chunks {
    for await (const chunk of chunks) {
      hash.update(chunk)
      bytes += chunk.length
      yield chunk
    }
  }
  const packed: Chunks = isCompressed
    ? Readable.from(source, { objectMode: false }).compose(createGzip({ level: gzipLevel }))
    : source
  await place.write(name, hashed(recipient === null ? packed : seal(packed, recipient)))
  return { name, bytes, sha256: hash.digest('hex') }
}

/** Throws at the end unless the file is what was written. */
export async function* readStored(
  place: Place,
  file: StoredFile,
  { identity, isCompressed }: { identity: string | null; isCompressed: boolean },
): Chunks {
  const checked = checkedChunks(place, file)
  const opened = identity === null ? checked : unseal(checked, identity)
  if (!isCompressed) return yield* opened
  yield* Readable.from(opened, { objectMode: false }).compose(createGunzip()) as Chunks
}

/** Reads the file to its end, and changes nothing. */
export async function verifyStored(place: Place, file: StoredFile): Promise<void> {
  for await (const chunk of checkedChunks(place, file)) void chunk
}

/**
 * Why a file could not be used. Damage makes what reads a file fail before its end, where the checksum is known, so an
 * error that nobody explained gives way to that of the first damaged file.
 */
export async function damageOr(error: Error, place: Place, files: readonly StoredFile[]): Promise<Error> {
  if (error instanceof StartupError) return error
  try {
    for (const file of files) await verifyStored(place, file)
    return error
  } catch (damage) {
    return damage as Error
  }
}

async function* checkedChunks(place: Place, { name, bytes, sha256 }: StoredFile): Chunks {
  const hash = createHash('sha256')
  let found = 0
  // The end waits for the checksum, so that its reader does not judge a damaged file first.
  let held: Uint8Array | null = null
  try {
    for await (const chunk of place.read(name)) {
      hash.update(chunk)
      found += chunk.length
      if (held !== null) yield held
      held = chunk
    }
  } catch (error) {
    if (!(error instanceof AbsentFileError)) throw error
    throw new StartupError(
      `The backup lacks the file ${name}, which is lost, or was removed with an older backup meanwhile (--keep). Use another backup, or another copy of this one.`,
    )
  }
  if (found !== bytes || hash.digest('hex') !== sha256)
    throw new StartupError(
      `The file ${name} of the backup is damaged: it differs from its checksum. Use another backup, or another copy of this one.`,
    )
  if (held !== null) yield held
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
