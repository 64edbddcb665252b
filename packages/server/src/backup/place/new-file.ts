/**
 * A file that is written past the page cache where its file system can do so. The kernel needs a fourth of the time for it,
 * what others read stays cached, and none of their small writes waits behind gigabytes of this file.
 */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/** A direct write has this size, which is whole blocks of any disk. The rest of a file goes through the cache. */
export const directBytes = 4 * 1024 ** 2
/** The disk is never farther behind the cache: each small write of others would wait for a part of it. */
export const syncBytes = 16 * 1024 ** 2
/** macOS has no such flag. */
const directFlag: number | undefined = constants.O_DIRECT

export class NewFile {
  readonly #cached: FileHandle
  #direct: FileHandle | null
  #at = 0
  #behind = 0

  private constructor(cached: FileHandle, direct: FileHandle | null) {
    this.#cached = cached
    this.#direct = direct
  }

  static async open(path: string): Promise<NewFile> {
    const cached = await open(path, 'w', 0o600)
    const direct = directFlag === undefined ? null : await open(path, constants.O_WRONLY | directFlag).catch(refused)
    return new NewFile(cached, direct)
  }

  /** Appends. One call at a time. */
  async write(chunk: Uint8Array): Promise<void> {
    const at = this.#at
    this.#at += chunk.length
    if (chunk.length === directBytes && (await this.#writeDirect(chunk, at))) return
    await writeAll(this.#cached, chunk, at)
    this.#behind += chunk.length
    if (this.#behind < syncBytes) return
    this.#behind = 0
    await this.#cached.datasync()
  }

  /** Returns once the file is on the disk. */
  async sync(): Promise<void> {
    await this.#cached.sync()
  }

  async close(): Promise<void> {
    await this.#direct?.close()
    await this.#cached.close()
  }

  async #writeDirect(chunk: Uint8Array, at: number): Promise<boolean> {
    if (this.#direct === null) return false
    const done = await writeAll(this.#direct, chunk, at).catch(refused)
    if (done !== null) return true
    await this.#direct.close()
    this.#direct = null
    return false
  }
}

/** Returns how many bytes it has written: all of them. */
export async function writeAll(file: FileHandle, chunk: Uint8Array, at: number): Promise<number> {
  let done = 0
  while (done < chunk.length) done += (await file.write(chunk, done, chunk.length - done, at + done)).bytesWritten
  return done
}

/** The file system has no direct writes, or wants them at other addresses. */
function refused(error: NodeJS.ErrnoException): null {
  if (['EINVAL', 'EOPNOTSUPP', 'ENOTSUP'].includes(error.code ?? '')) return null
  throw error
}
