import { git, type GitOptions } from '../process/git.ts'

/**
 * Streams the NUL-terminated fields of git's output. Keeps as many bytes of each field as `keep` returns and skips
 * the rest, since a message or a name can fill a disk.
 */
export async function eachField(
  dir: string,
  args: string[],
  options: GitOptions,
  reader: { keep: () => number; take: (field: Buffer) => void },
): Promise<void> {
  let parts: Buffer[] = []
  let room = reader.keep()
  const add = (bytes: Buffer) => {
    if (room <= 0 || bytes.length === 0) return
    // A copy, since a slice would keep the whole chunk in memory.
    parts.push(Buffer.from(bytes.subarray(0, room)))
    room -= Math.min(room, bytes.length)
  }
  const take = (chunk: Buffer) => {
    let at = 0
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, at)) {
      add(chunk.subarray(at, end))
      reader.take(Buffer.concat(parts))
      parts = []
      room = reader.keep()
      at = end + 1
    }
    add(chunk.subarray(at))
  }
  await git(dir, args, { ...options, take })
}
