import { LRUCache } from 'lru-cache'
import { askHttp, type HttpAnswer } from '../remote/http-client.ts'
import { delimPkt, eachPkt, flushPkt, parsePkts, pkt, PktError } from '../formats/pkt-line.ts'
import { guarded, isSha, type Remote, type Sha, withheldText } from '../repository.ts'
import { CooperativeYield } from '../formats/cooperative-yield.ts'

/** A host's protocol v2 capabilities. `null`: the host speaks an older protocol, so git must ask it. */
interface HostAbilities {
  objectFormat: string
  unborn: boolean
}

export type RemoteRefs =
  | { kind: 'tips'; tips: Map<string, Sha>; aliases: Map<string, string>; head: string | null }
  | { kind: 'older-protocol' }
  | { kind: 'unreachable'; reason: string; status: number | null }

const abilitiesCache = new LRUCache<string, { abilities: HostAbilities | null }>({ max: 10_000, ttl: 3_600_000 })
const answerBytesMax = 64 * 1024 * 1024
/** Above this number of names the request gets long, and reading all branches is as fast. */
const prefixesMax = 1000

/** One `ls-refs` request on a kept-alive connection: 3 to 4 ms where `git ls-remote` takes 25. */
export async function lsRefsHttp(remote: Remote, branches: string[] | 'all', timeoutMs: number): Promise<RemoteRefs> {
  const deadline = Date.now() + timeoutMs
  const left = () => Math.max(1, deadline - Date.now())
  try {
    let known = abilitiesCache.get(remote.url)
    const wasCached = known !== undefined
    known ??= await greet(remote, left())
    if (!known.abilities) return { kind: 'older-protocol' }
    const answer = await postLsRefs(remote, known.abilities, branches, left())
    if (answer.status === 200) return await parseLsRefs(remote, answer.body)
    // The host may have changed since its greeting; greet it again, once.
    abilitiesCache.delete(remote.url)
    if (wasCached) return await lsRefsHttp(remote, branches, left())
    return refusedBy(remote, answer)
  } catch (error) {
    if (error instanceof HostRefusal) return error.refs
    const reason =
      error instanceof PktError
        ? `The host does not speak the git protocol: ${error.message}`
        : describeNetworkError(error)
    return { kind: 'unreachable', reason, status: null }
  }
}

/** Passes a refusal out of the greeting. */
class HostRefusal extends Error {
  readonly refs: RemoteRefs
  constructor(refs: RemoteRefs) {
    super('The host refused.')
    this.refs = refs
  }
}

async function greet(remote: Remote, timeoutMs: number): Promise<{ abilities: HostAbilities | null }> {
  const answer = await askHttp(remote, {
    method: 'GET',
    path: 'info/refs?service=git-upload-pack',
    headers: { 'Git-Protocol': 'version=2' },
    timeoutMs,
    bytesMax: answerBytesMax,
  })
  if (answer.status !== 200) throw new HostRefusal(refusedBy(remote, answer))
  if (!answer.contentType.startsWith('application/x-git-upload-pack-advertisement')) {
    const reason = 'The URL does not respond like a git repository. Check its path.'
    throw new HostRefusal({ kind: 'unreachable', reason, status: answer.status })
  }
  const known = { abilities: parseGreeting(answer.body) }
  abilitiesCache.set(remote.url, known)
  return known
}

function parseGreeting(body: Buffer): HostAbilities | null {
  const lines = textLines(body)
  if (!lines.includes('version 2')) return null
  const format = lines.find((line) => line.startsWith('object-format='))
  const lsRefs = lines.find((line) => line === 'ls-refs' || line.startsWith('ls-refs='))
  if (!lsRefs) return null
  return { objectFormat: format?.slice('object-format='.length) ?? 'sha1', unborn: lsRefs.includes('unborn') }
}

function postLsRefs(
  remote: Remote,
  host: HostAbilities,
  branches: string[] | 'all',
  timeoutMs: number,
): Promise<HttpAnswer> {
  // A prefix also matches longer names; the exact names are picked from the answer.
  const wanted = branches === 'all' || branches.length > prefixesMax ? [''] : branches
  const parts: Uint8Array[] = [
    pkt('command=ls-refs\n'),
    pkt(`object-format=${host.objectFormat}\n`),
    delimPkt,
    pkt('symrefs\n'),
  ]
  if (host.unborn) parts.push(pkt('unborn\n'))
  parts.push(pkt('ref-prefix HEAD\n'), ...wanted.map((branch) => pkt(`ref-prefix refs/heads/${branch}\n`)), flushPkt)
  return askHttp(remote, {
    method: 'POST',
    path: 'git-upload-pack',
    headers: {
      'Content-Type': 'application/x-git-upload-pack-request',
      Accept: 'application/x-git-upload-pack-result',
      'Git-Protocol': 'version=2',
    },
    body: Buffer.concat(parts),
    timeoutMs,
    bytesMax: answerBytesMax,
  })
}

async function parseLsRefs(remote: Remote, body: Buffer): Promise<RemoteRefs> {
  const yields = new CooperativeYield()
  const tips = new Map<string, Sha>()
  const aliases = new Map<string, string>()
  let head: string | null = null
  for (const one of eachPkt(body)) {
    if (yields.isDue) await yields.next()
    if (one.kind !== 'data') continue
    const line = textOf(one.bytes)
    if (line.startsWith('ERR '))
      return {
        kind: 'unreachable',
        reason: `The git host says: ${guarded(remote, line.slice(4)).slice(0, 500)}`,
        status: null,
      }
    const [id = '', name = '', ...attributes] = line.split(' ')
    const symref = attributes.find((one) => one.startsWith('symref-target:refs/heads/'))
    const target = symref?.slice('symref-target:refs/heads/'.length) ?? null
    if (name === 'HEAD') head = target
    else if (name.startsWith('refs/heads/') && isSha(id)) {
      const branch = name.slice('refs/heads/'.length)
      tips.set(branch, id)
      if (target !== null) aliases.set(branch, target)
    }
  }
  return { kind: 'tips', tips, aliases, head }
}

function textLines(body: Buffer): string[] {
  return parsePkts(body).flatMap((one) => (one.kind === 'data' ? [textOf(one.bytes)] : []))
}

function textOf(line: Buffer): string {
  const newline = 10
  return line.toString('utf8', 0, line.at(-1) === newline ? line.length - 1 : line.length)
}

/** Explains an HTTP status other than 200 to the user who named the repository. */
export function refusedBy(remote: Remote, answer: HttpAnswer): RemoteRefs & { kind: 'unreachable' } {
  return { kind: 'unreachable', reason: statusReason(remote, answer), status: answer.status }
}

function statusReason(remote: Remote, { status, location }: HttpAnswer): string {
  if (status === 401) return 'The git host requires a credential, or does not accept the given one.'
  if (status === 403) return 'The git host refuses this credential for the repository.'
  if (status === 404) return 'The git host has no repository at this address, or hides it from this credential.'
  if (status >= 300 && status < 400)
    return `The git host redirects to ${guardedPlace(remote, location)}; use that address instead.`
  return `The git host answered with HTTP status ${status}.`
}

function guardedPlace(remote: Remote, location: string | null): string {
  return location === null || guarded(remote, location) === withheldText ? 'another address' : location
}

export function describeNetworkError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  const known: Record<string, string> = {
    ECONNREFUSED: 'The git host refuses connections.',
    ConnectionRefused: 'The git host refuses connections.',
    ENOTFOUND: 'The name of the git host could not be resolved.',
    EAI_AGAIN: 'The name of the git host could not be resolved just now.',
    ECONNRESET: 'The git host closed the connection.',
    ETIMEDOUT: 'The git host could not be reached in time.',
  }
  return known[code ?? ''] ?? `The git host could not be reached: ${message}`
}
