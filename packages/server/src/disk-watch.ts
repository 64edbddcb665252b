/** How much space the data folder's file system has left, read in the background and asked by everything that would fill it. */
import { statfs } from 'node:fs/promises'
import { ServiceError } from '@svc/contract'
import type { Logger } from 'pino'
import type { Config } from './config.ts'

const everyMs = 5_000
const leastBytesMin = 1024 ** 3
const partMin = 0.02

export interface DiskSpace {
  freeBytes: number
  totalBytes: number
}

/** What tests put in place of the file system. */
type Measure = (dir: string) => Promise<DiskSpace>

export class DiskWatch {
  freeBytes = Number.MAX_SAFE_INTEGER
  minFreeBytes = 0
  readonly #config: Pick<Config, 'dataDir' | 'diskFreeBytesMin'>
  readonly #log: Logger
  readonly #measure: Measure
  #timer: NodeJS.Timeout | null = null
  #wasLow = false

  constructor(input: { config: Pick<Config, 'dataDir' | 'diskFreeBytesMin'>; log: Logger; measure?: Measure }) {
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
      this.minFreeBytes = this.#config.diskFreeBytesMin ?? Math.max(leastBytesMin, Math.round(totalBytes * partMin))
    } catch (error) {
      this.#log.warn({ err: error }, 'the free space of the data folder could not be read')
      return
    }
    if (this.isLow === this.#wasLow) return
    this.#wasLow = this.isLow
    const figures = { free_bytes: this.freeBytes, min_free_bytes: this.minFreeBytes }
    if (this.isLow) this.#log.error(figures, 'the disk is almost full: no new work is taken until there is room')
    else this.#log.info(figures, 'the disk has room again: new work is taken')
  }
}

async function measureFileSystem(dir: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(dir)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

/** Refuses what would fill the disk. Reading, merging and stopping go on in what is left. */
export function requireDiskRoom({ disk }: { disk: DiskWatch }): void {
  if (!disk.isLow) return
  throw new ServiceError('unavailable', 'The disk of this server is almost full, so it takes no new work.', {
    hint: 'Its operator has to make room in the data folder. What is there can be read and merged meanwhile.',
    detail: { retry_after_seconds: 60 },
  })
}
