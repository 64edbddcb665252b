/** Backups in a folder of this machine. */
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { quote } from '@svc/contract/shell-words'
import { lockFile } from '../../startup/folder-lock.ts'
import { foreignFileHint } from '../../startup/foreign-file.ts'
import { inheritOwner, inheritOwners } from './inherit-owner.ts'
import {
  AbsentFileError,
  type Chunks,
  type ListedFile,
  NoRoomError,
  type Place,
  PlaceError,
  type PlaceLock,
} from './place.ts'
import { partialSuffix, writeFileWhole } from './write-file.ts'

const lockName = 'backup.lock'
/** A new file system has it, for its own repair. */
const repairFolder = 'lost+found'
/** They hold all files of the backups. The header of the place stands beside them. */
const folders = ['backups', 'data', 'packs']

export class FolderPlace implements Place {
  readonly isOneFile = false
  readonly address: string

  /** Root gives a folder that it makes to the owner of this one. Null: to the owner of the folder above. */
  readonly #likeFolder: string | null

  constructor(path: string, likeFolder: string | null = null) {
    this.address = path
    this.#likeFolder = likeFolder
  }

  async isEmpty(): Promise<boolean> {
    const names = (await readdir(this.address).catch(absent).catch(this.#unreadable)) ?? []
    return names.every((name) => name === lockName || name === repairFolder)
  }

  async list(folder: string): Promise<ListedFile[]> {
    const files = (await this.#files(folder)).filter((path) => !path.endsWith(partialSuffix))
    // One that is removed meanwhile is left out.
    const sizes = await Promise.all(files.map(async (path) => (await stat(path).catch(absent))?.size ?? null))
    return files.flatMap((path, at) => {
      const bytes = sizes[at] ?? null
      return bytes === null ? [] : { name: relative(this.address, path), bytes }
    })
  }

  async *read(name: string): Chunks {
    try {
      yield* createReadStream(join(this.address, name)) as AsyncIterable<Buffer>
    } catch (error) {
      if (isAbsence(error as NodeJS.ErrnoException)) throw new AbsentFileError(name)
      this.#unreadable(error as NodeJS.ErrnoException)
    }
  }

  async write(name: string, chunks: Chunks): Promise<void> {
    await writeFileWhole(join(this.address, name), chunks).catch(this.#unwritable)
  }

  async remove(names: string[]): Promise<void> {
    const paths = names.map((name) => join(this.address, name))
    for (const path of paths) await rm(path, { force: true }).catch(this.#unwritable)
    for (const folder of new Set(paths.map((path) => dirname(path)))) await this.#removeEmpty(folder)
  }

  async removeUnfinished(): Promise<void> {
    const files = (await Promise.all(folders.map((folder) => this.#files(folder)))).flat()
    const names = files.map((path) => relative(this.address, path))
    const entries = await readdir(this.address, { withFileTypes: true }).catch(this.#unreadable)
    const beside = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
    await this.remove([...beside, ...names].filter((name) => name.endsWith(partialSuffix)))
  }

  async lock(): Promise<PlaceLock | null> {
    try {
      const made = await mkdir(this.address, { recursive: true, mode: 0o700 })
      await inheritOwners(this.address, made, this.#likeFolder ?? undefined)
      const path = join(this.address, lockName)
      const isNew = !existsSync(path)
      const held = lockFile(path)
      if (isNew) await inheritOwner(path)
      // The kernel holds the lock for this process, so no other one can take it meanwhile.
      return held && { requireHeld: async () => {}, release: async () => held.release() }
    } catch (error) {
      return this.#unwritable(error as NodeJS.ErrnoException)
    }
  }

  async #files(folder: string): Promise<string[]> {
    const options = { recursive: true, withFileTypes: true } as const
    const entries = (await readdir(join(this.address, folder), options).catch(absent).catch(this.#unreadable)) ?? []
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  }

  /** Up to the folder of the backups. */
  async #removeEmpty(folder: string): Promise<void> {
    if (folder === this.address) return
    const names = await readdir(folder).catch(absent)
    if (names === null || names.length > 0) return
    await rmdir(folder)
    await this.#removeEmpty(dirname(folder))
  }

  readonly #hint = (error: NodeJS.ErrnoException): string => {
    const hint = error.code === 'EACCES' ? foreignFileHint(this.address, error) : null
    return hint === null ? '' : ` ${hint}`
  }

  readonly #unreadable = (error: NodeJS.ErrnoException): never => {
    throw new PlaceError(
      `The backup folder ${this.address} cannot be read: ${error.message}.${this.#hint(error)}`,
      error,
    )
  }

  readonly #unwritable = (error: NodeJS.ErrnoException): never => {
    const { code = '', message } = error
    if (code === 'ENOSPC' || code === 'EDQUOT')
      throw new NoRoomError(
        `The disk that holds ${this.address} is full. Earlier backups are whole. Free some space, or remove backups (svc self-host backups ${quote(this.address)} --remove <id>), and run the command again.`,
        error,
      )
    if (['EACCES', 'EROFS', 'EPERM', 'ENOTDIR', 'EEXIST'].includes(code))
      throw new PlaceError(
        `The backup folder ${this.address} cannot be written: ${message}. Earlier backups are whole.${this.#hint(error)}`,
        error,
      )
    throw error
  }
}

const isAbsence = ({ code }: NodeJS.ErrnoException) => code === 'ENOENT' || code === 'ENOTDIR'

function absent(error: NodeJS.ErrnoException): null {
  if (isAbsence(error)) return null
  throw error
}
