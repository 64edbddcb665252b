/** Reads the log file of a server of one's own, with the files that the server rotated, from the newest line on. */
import { open, stat } from 'node:fs/promises'

const chunkBytes = 256 * 1024

/** Whole lines only: the server may still be writing the last one. */
export async function readFrom(path: string, at: number): Promise<{ lines: string[]; end: number }> {
  const buffer = await bytesOf(path, at, chunkBytes)
  const end = buffer.lastIndexOf(0x0a) + 1
  return { lines: buffer.subarray(0, end).toString('utf8').split('\n').slice(0, -1), end: at + end }
}

/** The last lines of these, oldest first, and where the next line of the newest file begins. */
export async function lastLinesOf(
  path: string,
  { count, isWanted }: { count: number; isWanted: (line: string) => boolean },
): Promise<{ lines: string[]; end: number }> {
  const { size } = await stat(path)
  const at = Math.max(0, size - chunkBytes)
  const { end } = await readFrom(path, at)
  const lines: string[] = []
  for (let age = 0; ; age++) {
    const file = age === 0 ? path : `${path}.${age}`
    const to = age === 0 ? end : await sizeOf(file)
    if (to === null) break
    for await (const line of backwards(file, to)) {
      if (!isWanted(line)) continue
      lines.push(line)
      if (lines.length === count) return { lines: lines.reverse(), end }
    }
  }
  return { lines: lines.reverse(), end }
}

async function sizeOf(path: string): Promise<number | null> {
  return (await stat(path).catch(() => null))?.size ?? null
}

async function* backwards(path: string, to: number): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0)
  for (let at = to; at > 0;) {
    const from = Math.max(0, at - chunkBytes)
    const bytes = Buffer.concat([await bytesOf(path, from, at - from), rest])
    // Before the first line break is the end of a line that begins in the bytes before.
    const first = from === 0 ? 0 : bytes.indexOf(0x0a) + 1
    if (from === 0 || first > 0) {
      const lines = bytes.subarray(first).toString('utf8').split('\n')
      if (lines.at(-1) === '') lines.pop()
      yield* lines.reverse()
    }
    rest = from > 0 && first === 0 ? bytes : bytes.subarray(0, first)
    at = from
  }
}

async function bytesOf(path: string, at: number, count: number): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const buffer = Buffer.alloc(count)
    const { bytesRead } = await file.read(buffer, 0, count, at)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
