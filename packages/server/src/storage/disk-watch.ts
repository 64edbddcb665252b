/** Measures the free space of the data folder's file system in the background. Everything that would fill it checks this first. */
import { statfs } from 'node:fs/promises'
import { ServiceError } from '@svc/contract'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'

const everyMs = 5_000
const leastBytesMin = 1024 ** 3
const partMin = 0.02

export interface DiskSpace {
  freeBytes: number
  totalBytes: number
}

/** A stand-in for the file system, for tests. */
type Measure = (dir: string) => Promise<DiskSpace>

export class DiskWatch {
  freeBytes = Number.MAX_SAFE_INTEGER
  minFreeBytes = 0
  totalBytes = 0
  /** How answers name the server whose disk it is: several servers may have passed the request on. */
  readonly server: string
  readonly #config: Pick<Config, 'dataDir' | 'diskFreeBytesMin'>
  readonly #log: Logger
  readonly #measure: Measure
  #timer: NodeJS.Timeout | null = null
  #wasLow = false

  /** `home`: the name of this server among several. */
  constructor(input: {
    config: Pick<Config, 'dataDir' | 'diskFreeBytesMin'>
    log: Logger
    home?: string | null
    measure?: Measure
  }) {
    this.server = input.home ?? 'this server'
    this.#config = input.config
    this.#log = input.log
    this.#measure = input.measure ?? measureFileSystem
  }

  get isLow(): boolean {
    return this.freeBytes < this.minFreeBytes
  }

  async begin(): Promise<void> {
    await this.look()
    this.#timer = setInterval(() => void this.look(), everyMs)
    this.#timer.unref()
  }

  end(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }

  async look(): Promise<void> {
    try {
      const { freeBytes, totalBytes } = await this.#measure(this.#config.dataDir)
      this.freeBytes = freeBytes
      this.totalBytes = totalBytes
      this.minFreeBytes = minFreeBytesOf(this.#config, totalBytes)
    } catch (error) {
      this.#log.warn({ err: error }, 'failed to read the free space of the data folder')
      return
    }
    if (this.isLow === this.#wasLow) return
    this.#wasLow = this.isLow
    const figures = { free_bytes: this.freeBytes, min_free_bytes: this.minFreeBytes }
    if (this.isLow) this.#log.error(figures, 'the disk is almost full: refusing new work')
    else this.#log.info(figures, 'the disk has space again: accepting new work')
  }
}

/** With less free space, the server takes no new work. */
export function minFreeBytesOf({ diskFreeBytesMin }: Pick<Config, 'diskFreeBytesMin'>, totalBytes: number): number {
  return diskFreeBytesMin ?? Math.max(leastBytesMin, Math.round(totalBytes * partMin))
}

export async function measureFileSystem(dir: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(dir)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

/** Refuses what would fill the disk. Reading, merging and stopping use the space that is left. */
export function requireDiskRoom({ disk }: { disk: DiskWatch }): void {
  if (!disk.isLow) return
  throw new ServiceError('unavailable', `The disk of ${disk.server} is almost full, so it accepts no new work.`, {
    hint: 'Its operator must free space in the data folder. Reading and merging still work.',
    detail: { retry_after_seconds: 60, waiting_for: 'operator' },
  })
}
