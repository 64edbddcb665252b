/** Counts a push while it arrives, so that a push over its quota is refused before any of it is kept. */
import { join } from 'node:path'
import { packFiles } from '../objects/open-packs.ts'
import type { Repository } from '../repository.ts'
import { sizeOf, storeBytes } from '../objects/store-size.ts'

export interface PushQuota {
  /** Limit for one push. */
  pushBytes: number
  /** Limit for the store, without `otherBytes`, which are counted elsewhere. */
  storeBytes: number
  otherBytes: number
  /** False while the disk is too full for a push. */
  hasRoom: () => boolean
  /** The sentence for the pusher. */
  refusal: (over: OverQuota) => string
}

export interface OverQuota {
  kind: 'push' | 'store' | 'disk'
  usedBytes: number
}

interface Store {
  usedBytes: number
  /** Bytes of concurrent pushes, each of which fits on its own. */
  arrivingBytes: number
  meters: number
}
const stores = new Map<string, Store>()

/** An empty pack and its index: a new branch at a known commit sends no more. */
const emptyPackBytes = 64
const emptyIndexBytes = 1096

export class PushMeter {
  over: OverQuota | null = null
  readonly #dir: string
  readonly #quota: PushQuota
  readonly #store: Store
  #bytes = 0

  static async open(repo: Repository, quota: PushQuota): Promise<PushMeter> {
    const usedBytes = Math.max(0, (await storeBytes(repo.dir)) - quota.otherBytes)
    const store = stores.get(repo.dir) ?? { usedBytes, arrivingBytes: 0, meters: 0 }
    store.usedBytes = usedBytes
    stores.set(repo.dir, store)
    store.meters++
    return new PushMeter(repo.dir, quota, store)
  }

  private constructor(dir: string, quota: PushQuota, store: Store) {
    this.#dir = dir
    this.#quota = quota
    this.#store = store
    if (!quota.hasRoom()) this.#refuse('disk')
  }

  get packBytesMax(): number {
    return this.#quota.pushBytes
  }

  /** The largest possible file of this push, including an index of it. */
  get fileBytesMax(): number {
    return Math.max(0, this.#quota.storeBytes - this.#store.usedBytes) + fileSlackBytes
  }

  /** The pack up to the chunk that exceeds the limit. The caller reads the rest. */
  async *pass(chunks: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
    for (;;) {
      const { done, value } = await chunks.next()
      if (done === true) return
      this.count(value.length)
      if (this.over !== null) return
      yield value
    }
  }

  count(bytes: number): void {
    this.#bytes += bytes
    this.#store.arrivingBytes += bytes
    const { usedBytes, arrivingBytes } = this.#store
    if (!this.#quota.hasRoom()) this.#refuse('disk')
    else if (this.#bytes > this.#quota.pushBytes) this.#refuse('push')
    else if (this.#bytes > emptyPackBytes && usedBytes + arrivingBytes > this.#quota.storeBytes) this.#refuse('store')
  }

  /** A pack that refers to our objects is completed with them and can get much larger than what was sent. */
  async judge(room: string): Promise<void> {
    const paths = (await packFiles(room)).map((name) => join(room, 'objects/pack', name))
    if ((await sizeOf(paths.filter((path) => path.endsWith('.idx')))) <= emptyIndexBytes) return
    const bytes = await sizeOf(paths)
    this.#store.arrivingBytes += bytes - this.#bytes
    this.#bytes = bytes
    if (this.#store.usedBytes + this.#store.arrivingBytes > this.#quota.storeBytes) this.#refuse('store')
  }

  /** A pack that unpacks to more than the remaining space; git then ends with this signal. */
  refuseUnpacked(): void {
    this.#refuse('store')
  }

  get refusal(): string | null {
    return this.over === null ? null : this.#quota.refusal(this.over)
  }

  /** `kept`: its objects are in the store now. */
  close(kept: boolean): void {
    this.#store.arrivingBytes -= this.#bytes
    if (kept) this.#store.usedBytes += this.#bytes
    if (--this.#store.meters === 0) stores.delete(this.#dir)
  }

  #refuse(kind: OverQuota['kind']): void {
    this.over ??= { kind, usedBytes: this.#store.usedBytes }
  }
}

/** For the index of an empty pack, and git's own files. */
const fileSlackBytes = 64 * 1024

/** Whether the length in a request's headers already exceeds the quota. */
export async function overBeforehand(repo: Repository, quota: PushQuota, bytes: number): Promise<OverQuota | null> {
  const meter = await PushMeter.open(repo, quota)
  meter.count(bytes)
  meter.close(false)
  return meter.over
}
