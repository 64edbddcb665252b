/** Writes a tar archive of files whose sizes are known only once they are written. */
import { type FileHandle, open } from 'node:fs/promises'
import { invariant } from '@svc/contract/errors'
import type { Chunks } from '../place.ts'
import { syncBytes, writeAll } from '../new-file.ts'
import { endBytes, headBytes, headOf, padded } from './entries.ts'

type OnFailure = (error: NodeJS.ErrnoException) => never

export class TarWriter {
  readonly #file: FileHandle
  /** Of the archive, as opposed to one of the chunks. */
  readonly #onFailure: OnFailure
  #end = 0
  #behind = 0
  #last: { name: string; start: number } | null = null

  private constructor(file: FileHandle, onFailure: OnFailure) {
    this.#file = file
    this.#onFailure = onFailure
  }

  /** The file exists. `onFailure` explains why it cannot be written. */
  static async open(path: string, onFailure: OnFailure): Promise<TarWriter> {
    const writer = new TarWriter(await open(path, 'r+').catch(onFailure), onFailure)
    await writer.#cut(0)
    return writer
  }

  /** If this fails, the archive is as before. */
  async add(name: string, chunks: Chunks): Promise<void> {
    const start = this.#end
    const content = start + headBytes
    let bytes = 0
    try {
      for await (const chunk of chunks) {
        await this.#write(chunk, content + bytes)
        bytes += chunk.length
        await this.#syncSome(chunk.length)
      }
      await this.#write(headOf(name, bytes, new Date()), start)
    } catch (error) {
      await this.#cut(start)
      throw error
    }
    this.#last = { name, start }
    // What is between here and the end of the file so far reads as zeros, which is how tar fills a block.
    this.#end = content + padded(bytes)
  }

  /** Only the newest file can go. */
  async remove(name: string): Promise<void> {
    invariant(this.#last?.name === name, `${name} is not the newest file of the archive.`)
    await this.#cut(this.#last.start)
    this.#end = this.#last.start
    this.#last = null
  }

  /** Returns once the archive is on the disk as a whole. */
  async end(): Promise<void> {
    await this.#cut(this.#end + endBytes)
    await this.#file.sync().catch(this.#onFailure)
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  async #cut(bytes: number): Promise<void> {
    await this.#file.truncate(bytes).catch(this.#onFailure)
  }

  async #syncSome(written: number): Promise<void> {
    this.#behind += written
    if (this.#behind < syncBytes) return
    this.#behind = 0
    await this.#file.datasync().catch(this.#onFailure)
  }

  async #write(chunk: Uint8Array, at: number): Promise<void> {
    await writeAll(this.#file, chunk, at).catch(this.#onFailure)
  }
}
