/** Reads the unfinished work of a sandbox from its daemon. The daemon is not trusted: the first line is validated, the pack is bounded here and verified by git. */
import type { SaveWorkRequest } from '@svc/contract'
import { z } from 'zod'
import { bounded } from '../http/bodies/streams.ts'
import { storableText } from './storable.ts'
import { boundedText, type DaemonAddress, type DaemonOutcome, refusalOf, untilGivenUp } from './daemon-client.ts'

const headBytesMax = 256 * 1024
const refusalBytesMax = 64 * 1024

const sha = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/)
const head = z
  .object({
    state: z.enum(['clean', 'saved']),
    commit: sha.nullable(),
    base: sha.nullable(),
    files: z.number().int().min(0).max(100_000_000),
    paths: z.array(storableText(1000)).max(100),
    unpushed: z.number().int().min(0).max(1_000_000_000),
    notes: z.array(storableText(2000)).max(50),
    pack: z.boolean(),
  })
  .refine((work) => (work.state === 'saved') === (work.commit !== null), 'names a commit when there is none, or none')
export type WorkHead = z.infer<typeof head>

interface SentWork {
  head: WorkHead
  pack: AsyncIterable<Uint8Array>
}

/** Parses the head of the reply. The caller reads the pack, which `signal` also ends. */
export async function requestWork(
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
      signal: untilGivenUp(daemon, options.signal),
      redirect: 'manual',
    })
    if (!response.ok || response.body === null)
      return refusalOf('/svc/wip', response, JSON.parse(await boundedText(response, refusalBytesMax)))
    const tooLarge = `The sandbox sent more than ${options.bytesMax} bytes.`
    const bytes = bounded(response.body, options.bytesMax, tooLarge)
    const { line, rest } = await firstLine(bytes)
    const parsed = head.safeParse(JSON.parse(line))
    if (parsed.success) return { kind: 'ok', value: { head: parsed.data, pack: rest } }
    return { kind: 'unavailable', reason: "The daemon's reply to /svc/wip has an unknown shape." }
  } catch (error) {
    // People read the reason, and the runtime's words for this are about an address.
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ECONNREFUSED')
      return { kind: 'unavailable', reason: 'The sandbox cannot be reached.' }
    return { kind: 'unavailable', reason: error instanceof Error ? error.message : String(error) }
  }
}

async function firstLine(
  bytes: AsyncGenerator<Uint8Array>,
): Promise<{ line: string; rest: AsyncIterable<Uint8Array> }> {
  let held = Buffer.alloc(0)
  for (;;) {
    const next = await bytes.next()
    if (next.done) throw new Error('The reply of the daemon ended within its first line.')
    held = Buffer.concat([held, next.value])
    const end = held.indexOf(10)
    if (end === -1 && held.length <= headBytesMax) continue
    if (end === -1 || end > headBytesMax) throw new Error('The first line of the reply of the daemon is too long.')
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
