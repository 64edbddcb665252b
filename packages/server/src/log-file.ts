/** The log of a server that `svc self-host start` started: a file in the data folder. */
import { isDiskFull } from '@svc/git'
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
} from 'node:fs'

const olderKept = 4
const lookEveryMs = 1000
const retryMs = 10_000

export interface LogFile {
  path: string
  /** Above this, its content moves to `<path>.1`, and that of `.1` to `.2`. Infinity for a file without limit. */
  bytesMax: number
  /** The content stays where it is, and is tried again. Called once until that works. */
  onFailed: (error: unknown) => void
  /** So many lines could not be written, since the disk was full. It has space again. */
  onLost: (lines: number) => void
}

/** Writes a line to standard error. Nothing is rotated while that is another file, a terminal or a pipe. */
export function writerTo(file: LogFile): (line: string) => void {
  let lookAt = 0
  let isReported = false
  let lost = 0
  let isCut = endsWithinLine(file)
  for (const stream of [process.stdout, process.stderr]) stream.on('error', costsLines)
  const onWritten = (error?: Error | null) => {
    if (error) lost++
    else if (lost > 0) {
      const lines = lost
      lost = 0
      file.onLost(lines)
    }
  }
  return (line) => {
    if (Date.now() >= lookAt) {
      const failure = rotateIfLarge(file)
      lookAt = Date.now() + (failure === null ? lookEveryMs : retryMs)
      if (failure !== null && !isReported) file.onFailed(failure)
      isReported = failure !== null
    }
    // The last line before may be cut off.
    process.stderr.write(lost > 0 || isCut ? `\n${line}` : line, onWritten)
    isCut = false
  }
}

/** As a server leaves it that ends while its disk is full. */
function endsWithinLine({ path }: LogFile): boolean {
  try {
    const { size, dev, ino } = fstatSync(process.stderr.fd)
    const there = statSync(path)
    if (size === 0 || there.dev !== dev || there.ino !== ino) return false
    const last = Buffer.alloc(1)
    const fd = openSync(path, 'r')
    readSync(fd, last, 0, 1, size - 1)
    closeSync(fd)
    return last[0] !== 10
  } catch {
    // Standard error is another file, or one that this user may only write.
    return false
  }
}

/** A full disk costs lines of the log. Without a listener, the runtime prints its own trace and may end the process. */
function costsLines(error: NodeJS.ErrnoException): void {
  if (!isDiskFull(error)) throw error
}

/** Returns why that failed. */
function rotateIfLarge({ path, bytesMax }: LogFile): Error | null {
  try {
    const { size, dev, ino } = fstatSync(process.stderr.fd)
    if (size <= bytesMax) return null
    const there = statSync(path)
    if (there.dev !== dev || there.ino !== ino) return null
    requireAppend(path)
    requireRoom(path, size)
    rotate(path)
    return null
  } catch (error) {
    return error as Error
  }
}

/** Otherwise the next line goes where the last one ended: behind a hole as long as all that was rotated, and above the limit. */
function requireAppend(path: string): void {
  const info = `/proc/self/fdinfo/${process.stderr.fd}`
  // Systems other than Linux do not have it.
  if (!existsSync(info)) return
  const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(info, 'utf8'))?.[1] ?? '0'
  if ((Number.parseInt(flags, 8) & constants.O_APPEND) === 0)
    throw new Error(
      `${path} is not open for appending, so its content stays there. Start the server with 2>> ${path}, not with 2>.`,
    )
}

/** A copy that fills the disk would fail everything else on it. */
function requireRoom(path: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(path)
  if (bavail * bsize < 2 * bytes)
    throw new Error(`The disk of ${path} has no room for a copy of its ${bytes} bytes. Free some, or empty the file.`)
}

/** Copied, not renamed: this process and its children write to the open file, at its end. */
function rotate(path: string): void {
  const copy = `${path}.partial`
  try {
    copyFileSync(path, copy)
  } catch (error) {
    rmSync(copy, { force: true })
    throw error
  }
  for (let age = olderKept - 1; age >= 1; age--)
    if (existsSync(`${path}.${age}`)) renameSync(`${path}.${age}`, `${path}.${age + 1}`)
  renameSync(copy, `${path}.1`)
  truncateSync(path)
}
