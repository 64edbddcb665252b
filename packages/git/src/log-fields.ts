import { explainEnd, startGit, type GitOptions } from './git.ts'

/**
 * The fields of what git writes with a NUL behind each, as they come: of every field so many bytes as `keep` says are
 * kept and the rest is read past, since a message can be as long as a disk and a name too.
 */
export async function eachField(
  dir: string,
  args: string[],
  options: GitOptions,
  reader: { keep: () => number; take: (field: Buffer) => void },
): Promise<void> {
  const child = await startGit(dir, args, options)
  child.stdin.end(options.input ?? '')
  let parts: Buffer[] = []
  let room = reader.keep()
  const add = (bytes: Buffer) => {
    if (room <= 0 || bytes.length === 0) return
    // A copy: a slice would hold on to the whole chunk.
    parts.push(Buffer.from(bytes.subarray(0, room)))
    room -= Math.min(room, bytes.length)
  }
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
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
  const failure = explainEnd(args, await child.ended, options.accept ?? [0])
  if (failure) throw failure
}
