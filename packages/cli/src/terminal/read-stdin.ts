import { UsageError } from '../errors.ts'
import type { Io } from '../io.ts'

const bytesMax = 1024 * 1024

export async function readStdin(io: Pick<Io, 'stdin' | 'stderr'>, what: string): Promise<string> {
  if (io.stdin.isTTY) io.stderr.write(`Type or paste ${what}, then press Ctrl-D on an empty line.\n`)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of io.stdin) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    size += bytes.length
    if (size > bytesMax) throw new UsageError(`stdin has more than 1 MiB, which is too much for ${what}`)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '')
}

/** A flag's value, or stdin for `-`. */
export async function valueOrStdin(io: Pick<Io, 'stdin' | 'stderr'>, value: string, what: string): Promise<string> {
  return value === '-' ? readStdin(io, what) : value
}
