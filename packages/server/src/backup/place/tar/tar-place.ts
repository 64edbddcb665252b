/** One backup in one tar archive, with the same files as in a folder. It appears whole and is never written again. */
import { createReadStream } from 'node:fs'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { invariant } from '@svc/contract/errors'
import '../../../failpoint.ts'
import { lockFile } from '../../../startup/folder-lock.ts'
import { AbsentFileError, type Chunks, type ListedFile, type Place, PlaceError, type PlaceLock } from '../place.ts'
import { inheritOwner } from '../inherit-owner.ts'
import { sync } from '../write-file.ts'
import { type Entry, type Index, readIndex } from './entries.ts'
import { TarWriter } from './write-tar.ts'

/** Hidden, beside the archive that it becomes. */
const unfinishedPattern = /^\..+\.svc-partial$/

export class TarPlace implements Place {
  readonly isOneFile = true
  readonly address: string
  readonly #unfinished: string
  #writer: TarWriter | null = null
  /** Null until it is read. */
  #entries: Map<string, Entry> | null = null

  constructor(path: string) {
    this.address = path
    this.#unfinished = join(dirname(path), `.${basename(path)}.svc-partial`)
  }

  async isEmpty(): Promise<boolean> {
    return (await stat(this.address).catch(absent)) === null
  }

  async list(folder: string): Promise<ListedFile[]> {
    const files = [...(await this.#read())].filter(([name]) => name.startsWith(folder))
    return files.map(([name, { bytes }]) => ({ name, bytes }))
  }

  async *read(name: string): Chunks {
    const entry = (await this.#read()).get(name)
    if (entry === undefined) throw new AbsentFileError(name)
    if (entry.bytes === 0) return
    try {
      yield* createReadStream(this.address, { start: entry.start, end: entry.start + entry.bytes - 1 }) as Chunks
    } catch (error) {
      this.#unreadable(error as NodeJS.ErrnoException)
    }
  }

  async write(name: string, chunks: Chunks): Promise<void> {
    await this.#writing().add(name, chunks)
  }

  async remove(names: string[]): Promise<void> {
    for (const name of names) await this.#writing().remove(name)
  }

  async complete(): Promise<void> {
    await this.#writing().end()
    await failpoint('backup.before_rename')
    if (!(await this.isEmpty()))
      throw new PlaceError(`${this.address} was made meanwhile by another program. Back up under another name.`)
    await inheritOwner(this.#unfinished)
    await rename(this.#unfinished, this.address).catch(this.#unwritable)
    await sync(dirname(this.address)).catch(this.#unwritable)
    await this.#close()
  }

  /** In the whole folder, since each backup has a name of its own. One that another command writes to is locked. */
  async removeUnfinished(): Promise<void> {
    const folder = dirname(this.address)
    for (const name of await this.#beside(folder)) {
      if (!unfinishedPattern.test(name)) continue
      try {
        const lock = lockFile(join(folder, name))
        if (lock === null) continue
        await rm(join(folder, name), { force: true })
        lock.release()
      } catch (error) {
        ofAnotherUser(error as NodeJS.ErrnoException)
      }
    }
  }

  async lock(): Promise<PlaceLock | null> {
    try {
      // First, since it may fill the disk.
      await this.removeUnfinished()
      const held = lockFile(this.#unfinished)
      if (held === null) return null
      this.#writer = await TarWriter.open(this.#unfinished, this.#unwritable).catch((error: unknown) => {
        held.release()
        throw error
      })
      // The kernel holds the lock for this process, so no other one can take it meanwhile.
      return { requireHeld: async () => {}, release: async () => this.#end(held) }
    } catch (error) {
      return this.#unwritable(error as NodeJS.ErrnoException)
    }
  }

  async #beside(folder: string): Promise<string[]> {
    const names = await readdir(folder).catch(absent)
    if (names !== null) return names
    throw new PlaceError(`There is no folder ${folder}. Make it, or choose another place. Nothing was changed.`)
  }

  async #end(lock: { release(): void }): Promise<void> {
    if (this.#writer !== null) await rm(this.#unfinished, { force: true })
    await this.#close()
    lock.release()
  }

  async #close(): Promise<void> {
    await this.#writer?.close()
    this.#writer = null
    this.#entries = null
  }

  #writing(): TarWriter {
    invariant(this.#writer !== null, 'An archive is written once, by the holder of its lock.')
    return this.#writer
  }

  async #read(): Promise<Map<string, Entry>> {
    this.#entries ??= await this.#index()
    return this.#entries
  }

  async #index(): Promise<Map<string, Entry>> {
    const file = await open(this.address).catch(absent).catch(this.#unreadable)
    if (file === null) return new Map()
    try {
      return this.#whole(await readIndex(file).catch(this.#unreadable))
    } finally {
      await file.close()
    }
  }

  #whole(index: Index): Map<string, Entry> {
    const again = 'Copy it again from where it was made, or use another backup. Nothing was changed.'
    switch (index.kind) {
      case 'whole':
        return index.entries
      case 'cut-off':
        throw new PlaceError(`${this.address} is cut off: its end is missing. ${again}`)
      case 'damaged':
        throw new PlaceError(`${this.address} is damaged at byte ${index.at}. ${again}`)
      case 'no-archive':
        throw new PlaceError(`${this.address} is not a tar archive, so it is no backup of svc. Nothing was changed.`)
      default:
        return index satisfies never
    }
  }

  readonly #unreadable = (error: NodeJS.ErrnoException): never => {
    throw new PlaceError(`${this.address} cannot be read: ${error.message}.`, error)
  }

  readonly #unwritable = (error: NodeJS.ErrnoException): never => {
    const { code = '', message } = error
    if (code === 'ENOSPC' || code === 'EDQUOT')
      throw new PlaceError(
        `The disk that holds ${this.address} is full, so there is no backup. Free some space, or choose another disk, and run the command again.`,
        error,
      )
    if (code === 'EFBIG')
      throw new PlaceError(
        `The file system of ${this.address} does not allow a file of that size. Choose another disk, or back up to a folder.`,
        error,
      )
    // One that is explained has no code.
    if (code === '') throw error
    throw new PlaceError(`${this.address} cannot be written: ${message}.`, error)
  }
}

/** In a folder that several users write to, each cleans up after itself. */
function ofAnotherUser(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EACCES' && error.code !== 'EPERM') throw error
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
  throw error
}
