/** Backups in a bucket of an S3-compatible store. */
import pLimit from 'p-limit'
import '../../../failpoint.ts'
import { AbsentFileError, type Chunks, type ListedFile, type Place, PlaceError, type PlaceLock } from '../place.ts'
import { explained, isAbsent } from './failures.ts'
import { type LockTimes, lockName, takeLock } from './lock.ts'
import type { Requests, Upload } from './requests.ts'

/** All parts but the last have the same size, as some stores require. 10,000 parts make 312 GiB, and two are in memory. */
const partBytes = 32 * 1024 ** 2
const partsMax = 10_000
/** A download that breaks goes on where it was. This many times in a row without a byte. */
const resumesMax = 5
const removesAtOnce = 8
/** Below these are the files that are uploaded in parts. */
const folders = ['data/', 'packs/']

export class S3Place implements Place {
  readonly isOneFile = false
  readonly address: string
  readonly #requests: Requests
  readonly #lockTimes: LockTimes
  /** Throws when another command has taken the place meanwhile. */
  #requireUntaken: () => void = () => {}

  constructor(requests: Requests, lockTimes: LockTimes) {
    this.address = requests.bucket.address
    this.#requests = requests
    this.#lockTimes = lockTimes
  }

  isEmpty(): Promise<boolean> {
    return this.#explained(async () => {
      const some = await this.#requests.list('', 2)
      return some.every(({ name }) => name === lockName)
    })
  }

  list(folder: string): Promise<ListedFile[]> {
    return this.#explained(() => this.#requests.list(folder, Number.POSITIVE_INFINITY))
  }

  async *read(name: string): Chunks {
    let [at, failures] = [0, 0]
    let etag: string | null = null
    for (;;) {
      const headers: Record<string, string> =
        at === 0 || etag === null ? {} : { range: `bytes=${at}-`, 'if-match': etag }
      const response = await this.#get(name, headers)
      etag ??= response.headers.get('etag')
      const end = at + Number(response.headers.get('content-length') ?? Number.NaN)
      try {
        for await (const chunk of response.body ?? []) {
          at += chunk.length
          failures = 0
          yield chunk
        }
        // Without a length the checksum of the file has to tell.
        if (Number.isNaN(end) || at >= end) return
      } catch (error) {
        if (++failures > resumesMax || etag === null) throw this.#explain(error)
        continue
      }
      if (++failures > resumesMax || etag === null)
        throw new PlaceError(`The store of ${this.address} ends ${name} too early. Run the command again.`)
    }
  }

  async write(name: string, chunks: Chunks): Promise<void> {
    this.#requireUntaken()
    const parts = inParts(chunks)
    const first = await parts.next()
    const second = first.done === true ? first : await parts.next()
    const body = first.done === true ? new Uint8Array() : first.value
    if (second.done === true) return this.#explained(async () => void (await this.#requests.put(name, body)))
    await this.#writeInParts(name, body, second.value, parts)
  }

  remove(names: string[]): Promise<void> {
    this.#requireUntaken()
    return this.#explained(async () => {
      await pLimit(removesAtOnce).map(names, (name) => this.#requests.remove(name))
    })
  }

  /** Some stores do not list them. There, a rule of the bucket has to end them. */
  removeUnfinished(): Promise<void> {
    return this.#explained(async () => {
      for (const folder of folders)
        for (const upload of (await this.#requests.uploads(folder)) ?? []) await this.#abort(upload)
    })
  }

  lock(onWait: (reason: string) => void): Promise<PlaceLock | null> {
    return this.#explained(async () => {
      const lock = await takeLock(this.#requests, { ...this.#lockTimes, onWait })
      if (lock === null) return null
      this.#requireUntaken = () => lock.requireUntaken()
      return {
        requireHeld: () => this.#explained(() => lock.requireHeld()),
        release: () => this.#explained(() => lock.release()),
      }
    })
  }

  async #get(name: string, headers: Record<string, string>): Promise<Response> {
    try {
      return await this.#requests.get(name, headers)
    } catch (error) {
      if (isAbsent(error)) throw new AbsentFileError(name)
      throw this.#explain(error)
    }
  }

  /** While one part is sent, the next one is made. */
  async #writeInParts(name: string, first: Part, second: Part, rest: AsyncIterator<Part>): Promise<void> {
    const upload = { name, id: await this.#explained(() => this.#requests.beginUpload(name)) }
    const etags: Promise<string>[] = []
    let bytes = 0
    const send = (part: Part) => {
      bytes += part.length
      const etag = this.#requests.putPart(upload, etags.length + 1, part)
      etag.catch(isAwaitedLater)
      etags.push(etag)
    }
    try {
      send(first)
      for (let part: Part | null = second; part !== null; part = await nextOf(rest)) {
        await this.#explained(() => etags.at(-1)!)
        await failpoint('backup.after_part')
        if (etags.length === partsMax)
          throw new PlaceError(
            `The file ${name} is larger than ${(partsMax * partBytes) / 1024 ** 3} GiB, which ${this.address} cannot hold.`,
          )
        this.#requireUntaken()
        send(part)
      }
      await this.#explained(async () => this.#complete(upload, await Promise.all(etags), bytes))
    } catch (error) {
      await Promise.allSettled(etags)
      await this.#abort(upload).catch(isRemovedByTheNextBackup)
      throw error
    }
  }

  /** The store may have completed it although its answer was lost. */
  async #complete(upload: Upload, etags: string[], bytes: number): Promise<void> {
    try {
      await this.#requests.completeUpload(upload, etags)
    } catch (error) {
      if (!isAbsent(error)) throw error
      const found = await this.#requests.list(upload.name, 1)
      if (found[0]?.name !== upload.name || found[0].bytes !== bytes) throw error
    }
  }

  async #abort(upload: Upload): Promise<void> {
    try {
      await this.#requests.abortUpload(upload)
    } catch (error) {
      if (!isAbsent(error)) throw error
    }
  }

  async #explained<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      throw this.#explain(error)
    }
  }

  #explain(error: unknown): PlaceError {
    return explained(error, this.#requests.bucket, this.#requests.now())
  }
}

type Part = Uint8Array<ArrayBuffer>

async function nextOf(parts: AsyncIterator<Part>): Promise<Part | null> {
  const { done, value } = await parts.next()
  return done === true ? null : value
}

/** Each has `partBytes`, the last one what is left. */
async function* inParts(chunks: Chunks): AsyncGenerator<Part, void> {
  let part = new Uint8Array(0)
  let filled = 0
  for await (const chunk of chunks)
    for (let from = 0; from < chunk.length;) {
      if (filled === part.length) part = grown(part)
      const taken = chunk.subarray(from, from + part.length - filled)
      part.set(taken, filled)
      filled += taken.length
      from += taken.length
      if (filled < partBytes) continue
      yield part
      part = new Uint8Array(partBytes)
      filled = 0
    }
  if (filled > 0) yield part.subarray(0, filled)
}

/** Most files are small. */
function grown(part: Part): Part {
  const larger = new Uint8Array(Math.min(partBytes, Math.max(64 * 1024, part.length * 4)))
  larger.set(part)
  return larger
}

/** Each part is awaited before the next one but one is sent. */
function isAwaitedLater(): void {}

/** The reason of the failure is already on its way. */
function isRemovedByTheNextBackup(): void {}
