/** The objects for a copy, as the body of a request. */
import { GitError, incompleteCommits, missingObjects, packForReplica, type Repository } from '@svc/git'

/** A smaller pack is sent whole, which needs no second connection after a failure. */
const wholeBytesMax = 4 * 1024 * 1024

/** Null: nothing is wanted. `isChecked`: the store has what the copy has, as far as is known. */
export async function packOf(
  { dir, group }: Pick<Repository, 'dir' | 'group'>,
  { wants, has }: { wants: string[]; has: string[] },
  { isChecked }: { isChecked: boolean },
): Promise<Uint8Array | ReadableStream<Uint8Array> | null> {
  if (wants.length === 0) return null
  const store: Repository = { dir, group, remote: null }
  const make = async (known: string[]) =>
    startOf(await packForReplica(store, { wants, has: known }, { isUrgent: isChecked }))
  if (isChecked) {
    try {
      return await make(has)
    } catch (error) {
      if (!(error instanceof GitError) || error.failure !== 'exit') throw error
    }
  }
  // One that was removed here since would end git.
  const missing = new Set(has.length === 0 ? [] : await missingObjects(store, has))
  return make(has.filter((sha) => !missing.has(sha)))
}

/**
 * The same with commits that rows name. Those that the store does not have with their whole history are left out: a
 * project goes on without them as before.
 */
export async function packWithRoots(
  store: Pick<Repository, 'dir' | 'group'>,
  { wants, roots, has }: { wants: string[]; roots: string[]; has: string[] },
) {
  const gone = new Set(roots.length === 0 ? [] : await missingObjects({ ...store, remote: null }, roots))
  const present = roots.filter((sha) => !gone.has(sha))
  const make = async (of: string[]) => ({
    roots: of,
    pack: await packOf(store, { wants: [...new Set([...wants, ...of])], has }, { isChecked: false }),
  })
  try {
    return await make(present)
  } catch (error) {
    const broken = error instanceof GitError ? new Set(await incompleteCommits(store.dir, present)) : new Set()
    if (broken.size === 0) throw error
    return make(present.filter((sha) => !broken.has(sha)))
  }
}

async function startOf(pack: ReadableStream<Uint8Array>): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const reader = pack.getReader()
  const chunks: Uint8Array[] = []
  for (let bytes = 0; bytes <= wholeBytesMax;) {
    const { done, value } = await reader.read()
    if (done) return Buffer.concat(chunks)
    chunks.push(value)
    bytes += value.length
  }
  return joined(chunks, reader)
}

function joined(first: Uint8Array[], reader: ReadableStreamDefaultReader<Uint8Array>): ReadableStream<Uint8Array> {
  const before = [...first]
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = before.shift()
        if (next !== undefined) return controller.enqueue(next)
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

/** A line of text, if any, and the pack behind it. */
export function packBody(
  line: string,
  pack: Uint8Array | ReadableStream<Uint8Array> | null,
): Uint8Array | ReadableStream<Uint8Array> {
  const head = line === '' ? [] : [Buffer.from(`${line}\n`)]
  if (pack instanceof ReadableStream) return head.length === 0 ? pack : joined(head, pack.getReader())
  return Buffer.concat([...head, ...(pack === null ? [] : [pack])])
}

const lineBytesMax = 256 * 1024 * 1024

/** The line of a `packBody`, and what follows it; null when nothing does. */
export async function readPackBody(
  body: AsyncIterable<Uint8Array>,
): Promise<{ line: string; pack: AsyncIterable<Uint8Array> | null }> {
  const chunks = body[Symbol.asyncIterator]()
  let text = Buffer.alloc(0)
  const parts: Uint8Array[] = []
  for (;;) {
    const { done, value } = await chunks.next()
    if (done === true) throw new Error('The request of a server ended before its line did.')
    const end = Buffer.from(value).indexOf(10)
    parts.push(end === -1 ? value : value.subarray(0, end))
    text = end === -1 ? text : Buffer.concat(parts)
    if (end === -1 && parts.reduce((sum, part) => sum + part.length, 0) <= lineBytesMax) continue
    if (end === -1) throw new Error('The line in the request of a server is too long.')
    const rest = value.subarray(end + 1)
    const next = rest.length > 0 ? null : await chunks.next()
    if (next?.done === true) return { line: text.toString('utf8'), pack: null }
    return { line: text.toString('utf8'), pack: after(next === null ? rest : next.value, chunks) }
  }
}

async function* after(first: Uint8Array, chunks: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  for (;;) {
    const { done, value } = await chunks.next()
    if (done === true) return
    yield value
  }
}
