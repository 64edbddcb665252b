/** Asks a daemon for the unfinished work of its sandbox. A daemon is not trusted: its first line is parsed, and the pack behind it is bounded here and judged by git. */
import type { SaveWorkRequest } from '@svc/contract'
import { z } from 'zod'
import { boundedText, type DaemonAddress, type DaemonOutcome } from './daemon-client.ts'

const headBytesMax = 256 * 1024
const refusalBytesMax = 64 * 1024

const sha = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/)
const head = z
  .object({
    state: z.enum(['clean', 'saved']),
    commit: sha.nullable(),
    base: sha.nullable(),
    files: z.number().int().min(0).max(100_000_000),
    paths: z.array(z.string().max(1000)).max(100),
    unpushed: z.number().int().min(0).max(1_000_000_000),
    notes: z.array(z.string().max(2000)).max(50),
    pack: z.boolean(),
  })
  .refine((work) => (work.state === 'saved') === (work.commit !== null), 'names a commit when there is none, or none')
export type WorkHead = z.infer<typeof head>

export interface SentWork {
  head: WorkHead
  pack: AsyncIterable<Uint8Array>
}

/** The answer's start is parsed before it returns; the pack is read by the caller, and `signal` ends that too. */
export async function askForWork(
  daemon: DaemonAddress,
  request: SaveWorkRequest,
  options: { bytesMax: number; signal: AbortSignal },
): Promise<DaemonOutcome<SentWork>> {
  try {
    const response = await fetch('http://daemon/svc/wip', {
      unix: daemon.socket,
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.sandboxKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(request),
      signal: options.signal,
      redirect: 'manual',
    })
    if (!response.ok || response.body === null) return await refusalOf(response)
    const bytes = bounded(response.body, options.bytesMax)
    const { line, rest } = await firstLine(bytes)
    const parsed = head.safeParse(JSON.parse(line))
    if (parsed.success) return { kind: 'ok', value: { head: cleanText(parsed.data), pack: rest } }
    return { kind: 'away', reason: "The daemon's answer to /svc/wip has an unknown shape." }
  } catch (error) {
    return { kind: 'away', reason: error instanceof Error ? error.message : String(error) }
  }
}

async function refusalOf(response: Response): Promise<DaemonOutcome<SentWork>> {
  const said = z
    .object({ error: z.string().max(20_000), code: z.string().max(100) })
    .safeParse(JSON.parse(await boundedText(response, refusalBytesMax)))
  return said.success
    ? { kind: 'refused', code: said.data.code, reason: said.data.error }
    : { kind: 'away', reason: `The daemon answered /svc/wip with status ${response.status}.` }
}

async function* bounded(body: ReadableStream<Uint8Array>, bytesMax: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new Error(`The sandbox sent more than ${bytesMax} bytes.`)
    yield chunk
  }
}

async function firstLine(
  bytes: AsyncGenerator<Uint8Array>,
): Promise<{ line: string; rest: AsyncIterable<Uint8Array> }> {
  let held = Buffer.alloc(0)
  for (;;) {
    const next = await bytes.next()
    if (next.done) throw new Error('The answer of the daemon ended within its first line.')
    held = Buffer.concat([held, next.value])
    const end = held.indexOf(10)
    if (end === -1 && held.length <= headBytesMax) continue
    if (end === -1 || end > headBytesMax) throw new Error('The first line of the daemon does not end.')
    const left = held.subarray(end + 1)
    return {
      line: held.toString('utf8', 0, end),
      rest: (async function* () {
        if (left.length > 0) yield left
        yield* bytes
      })(),
    }
  }
}

/** PostgreSQL keeps no NUL and no half of a surrogate pair. */
function cleanText(work: WorkHead): WorkHead {
  const clean = (text: string) => text.toWellFormed().replaceAll('\0', '\u{fffd}')
  return { ...work, paths: work.paths.map(clean), notes: work.notes.map(clean) }
}
