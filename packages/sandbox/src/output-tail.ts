/** The last output of a sandbox's PID 1, which shows why the sandbox ended. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const bytesMax = 4096
const linesInSentence = 5

/** "Its last lines: …", or an empty string without output. */
export function lastLinesOf(file: string): string {
  const bytes = Buffer.alloc(bytesMax)
  let fd: number
  try {
    fd = openSync(file, 'r')
  } catch {
    // The sandbox was removed, or it never started.
    return ''
  }
  try {
    const from = Math.max(0, fstatSync(fd).size - bytesMax)
    return plainLines(bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytesMax, from)))
  } finally {
    closeSync(fd)
  }
}

/** Output from a sandbox may contain anything; a reason is one line of plain characters. */
export function plainLines(text: string): string {
  const lines = text
    .slice(-bytesMax)
    .split('\n')
    .map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, ' ').trim())
    .filter((line) => line !== '')
  return lines.length === 0 ? '' : `Its last lines: ${lines.slice(-linesInSentence).join(' / ')}`
}
