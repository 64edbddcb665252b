/** The log of a server that `svc self-host start` started: a file in the data folder. */
import { copyFileSync, existsSync, fstatSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'

const olderKept = 4
const lookEveryMs = 1000

export interface LogFile {
  path: string
  /** Above this, its content moves to `<path>.1`, and that of `.1` to `.2`. Infinity for a file without limit. */
  bytesMax: number
  /** The content stays where it is, and is tried again a second later. */
  onFailed: (error: unknown) => void
  /** So many lines could not be written, since the disk was full. It has space again. */
  onLost: (lines: number) => void
}

/** Writes a line to standard error. Nothing is rotated while that is another file, a terminal or a pipe. */
export function writerTo(file: LogFile): (line: string) => void {
  let looked = 0
  let lost = 0
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
    if (Date.now() - looked >= lookEveryMs) {
      looked = Date.now()
      rotateIfLarge(file)
    }
    // The last line before may be cut off.
    process.stderr.write(lost > 0 ? `\n${line}` : line, onWritten)
  }
}

/** A full disk costs lines of the log. Without a listener, the runtime prints its own trace and may end the process. */
function costsLines(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOSPC' && error.code !== 'EDQUOT') throw error
}

function rotateIfLarge({ path, bytesMax, onFailed }: LogFile): void {
  try {
    const { size, dev, ino } = fstatSync(process.stderr.fd)
    if (size <= bytesMax) return
    const there = statSync(path)
    if (there.dev === dev && there.ino === ino) rotate(path)
  } catch (error) {
    onFailed(error)
  }
}

/** Copied, not renamed: this process and its children write to the open file, at its end. */
function rotate(path: string): void {
  const copy = `${path}.partial`
  rmSync(`${path}.${olderKept}`, { force: true })
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
