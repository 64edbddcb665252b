/** Where backups are kept: a folder, a bucket of an S3-compatible store, or one file. Names of files are relative, with slashes. */
import { StartupError } from '../../startup/startup-error.ts'

export type Chunks = AsyncIterable<Uint8Array>

export interface ListedFile {
  name: string
  bytes: number
}

export interface Place {
  /** As the operator writes it. It contains no credential. */
  readonly address: string
  /** It has one backup and is never written again. */
  readonly isOneFile: boolean
  /** Also without files of other programs. */
  isEmpty(): Promise<boolean>
  /** Complete files below `folder`, which ends with a slash. */
  list(folder: string): Promise<ListedFile[]>
  /** Throws `AbsentFileError` instead of the first bytes. */
  read(name: string): Chunks
  /** Returns once the file is durable under its name. If this fails or the process dies, there is no such file. A chunk may be overwritten once the next one is asked for. */
  write(name: string, chunks: Chunks): Promise<void>
  remove(names: string[]): Promise<void>
  /** Follows the last write of a backup. Absent where each write was. */
  complete?(): Promise<void>
  /** Removes what writes left that did not end. Only for the holder of the lock. */
  removeUnfinished(): Promise<void>
  /** Null: another command writes to this place. */
  lock(onWait: (reason: string) => void): Promise<PlaceLock | null>
}

export interface PlaceLock {
  /** Throws when another command has taken the place. */
  requireHeld(): Promise<void>
  release(): Promise<void>
}

/** The place itself failed, as opposed to what is backed up. The message says what to do. */
export class PlaceError extends StartupError {
  constructor(message: string, cause?: unknown) {
    super(message)
    this.name = 'PlaceError'
    this.cause = cause
  }
}

/** The place takes no more bytes. */
export class NoRoomError extends PlaceError {}

export class AbsentFileError extends Error {
  constructor(name: string) {
    super(`There is no file ${name}.`)
    this.name = 'AbsentFileError'
  }
}

/** Null when the file is absent. */
export async function readText(place: Pick<Place, 'read'>, name: string): Promise<string | null> {
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of place.read(name)) chunks.push(chunk)
  } catch (error) {
    if (error instanceof AbsentFileError) return null
    throw error
  }
  return Buffer.concat(chunks).toString('utf8')
}

export async function writeText(place: Pick<Place, 'write'>, name: string, text: string): Promise<void> {
  await place.write(name, oneChunk(Buffer.from(text)))
}

async function* oneChunk(chunk: Uint8Array): Chunks {
  yield chunk
}
