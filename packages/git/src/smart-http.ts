import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { streamChild } from './child-stream.ts'
import { isDiskFull } from './disk-full.ts'
import { hiddenRefs, refuseAlways, type PushGate, type PushInspector } from './gate.ts'
import { GitError, startGit } from './git.ts'
import { landPush } from './land-push.ts'
import { objectFormat } from './object-format.ts'
import { flushPkt, pkt, PktError } from './pkt-line.ts'
import { PushMeter, type PushQuota } from './push-quota.ts'
import { keepAlivePkt, writeReport, type PushReport } from './push-report.ts'
import { readPushRequest, type PushRequest } from './push-request.ts'
import { receivePush } from './receive.ts'
import type { Person } from './refs.ts'
import type { Repository } from './repository.ts'
import { makeScratch, removeScratch } from './scratch.ts'

export interface GitRequest {
  method: string
  path: 'info/refs' | 'git-upload-pack' | 'git-receive-pack'
  query: URLSearchParams
  headers: Headers
  body: ReadableStream<Uint8Array> | null
  signal: AbortSignal
}

export interface ServeOptions {
  /** Looks at what was pushed before any ref moves; a sentence refuses the push. */
  inspect?: PushInspector
  /** Pushes that rewind or delete a branch are refused unless these say otherwise. */
  allowForce?: boolean
  allowDelete?: boolean
  /** Only branches and tags are taken unless this says otherwise; hidden refs never are. */
  allowAnyRef?: boolean
  /** Whom the reflog of a managed repository names, where it keeps one. */
  pusher?: Person
  /** What a push may add. Without it a push is bounded, and the store is not. */
  quota?: PushQuota
}

const requestBytesMax = 64 * 1024 * 1024

/** Speaks git's smart HTTP protocol for one repository: versions 0, 1 and 2 for fetching, a gate before every push. */
export async function serveGitRequest(
  repo: Repository,
  request: GitRequest,
  gate: PushGate,
  options: ServeOptions = {},
): Promise<Response> {
  try {
    if (request.path === 'info/refs') return await greet(repo, request)
    if (request.method !== 'POST')
      return plain(405, 'This address takes POST requests of a git client.', { allow: 'POST' })
    const wanted = `application/x-${request.path}-request`
    if (request.headers.get('content-type') !== wanted) return plain(415, `The content type must be ${wanted}.`)
    return request.path === 'git-upload-pack'
      ? await serveFetch(repo, request)
      : await servePush(repo, request, gate, options)
  } catch (error) {
    if (error instanceof PktError) return plain(400, error.message)
    throw error
  }
}

async function greet(repo: Repository, { method, query, headers, signal }: GitRequest): Promise<Response> {
  if (method !== 'GET') return plain(405, 'This address takes GET requests of a git client.', { allow: 'GET' })
  const service = query.get('service')
  if (service !== 'git-upload-pack' && service !== 'git-receive-pack') {
    return plain(403, 'This repository is served by the smart HTTP protocol only. Use git 1.6.6 or newer.')
  }
  const version = protocolVersion(headers)
  const contentType = `application/x-${service}-advertisement`
  // Version 2 greets with what this server can do, which is the same for every repository of one object format.
  if (version === 2 && service === 'git-upload-pack') return answer(contentType, await greetingV2(repo))
  const args = [service.slice('git-'.length), '--stateless-rpc', '--http-backend-info-refs', repo.dir]
  const child = await startGit(repo.dir, args, { ...servingOptions(version), signal })
  child.stdin.end()
  return answer(
    contentType,
    streamChild(child, { args, preamble: Buffer.concat([pkt(`# service=${service}\n`), flushPkt]) }),
  )
}

async function greetingV2(repo: Repository): Promise<Uint8Array<ArrayBuffer>> {
  const format = await objectFormat(repo.dir)
  const lines = [
    'version 2',
    'agent=git/svc',
    'ls-refs=unborn',
    'fetch=shallow wait-for-done filter',
    'server-option',
    `object-format=${format}`,
  ]
  return Uint8Array.from(Buffer.concat([...lines.map((line) => pkt(`${line}\n`)), flushPkt]))
}

function protocolVersion(headers: Headers): 0 | 1 | 2 {
  const words = (headers.get('git-protocol') ?? '').split(':')
  if (words.includes('version=2')) return 2
  return words.includes('version=1') ? 1 : 0
}

function servingOptions(version: 0 | 1 | 2) {
  const config: [string, string][] = [
    ...hiddenRefs.map((ref): [string, string] => ['transfer.hideRefs', ref]),
    ['uploadpack.allowFilter', 'true'],
    // What the greeting of a push offers must be what the reading of a push takes.
    ['receive.advertisePushOptions', 'false'],
    ['transfer.advertiseSID', 'false'],
  ]
  const env: Record<string, string> = version === 0 ? {} : { GIT_PROTOCOL: `version=${version}` }
  return { lane: 'serve' as const, config, env }
}

async function serveFetch(repo: Repository, request: GitRequest): Promise<Response> {
  const args = ['upload-pack', '--stateless-rpc', repo.dir]
  const child = await startGit(repo.dir, args, {
    ...servingOptions(protocolVersion(request.headers)),
    signal: request.signal,
  })
  const body = Readable.from(limited(bodyOf(request), requestBytesMax))
  // upload-pack answers as soon as it has read enough, so the two directions run at the same time.
  body.on('error', () => child.kill('aborted'))
  body.pipe(child.stdin)
  // 128: the client said goodbye in the middle of a negotiation; what it needed was sent before.
  return answer('application/x-git-upload-pack-result', streamChild(child, { args, accept: [0, 128] }))
}

async function servePush(
  repo: Repository,
  request: GitRequest,
  gate: PushGate,
  options: ServeOptions,
): Promise<Response> {
  const contentType = 'application/x-git-receive-pack-result'
  const push = await readPushRequest(bodyOf(request))
  if (push.updates.length === 0) return answer(contentType, new Uint8Array())
  const reply = (report: PushReport) => answer(contentType, Uint8Array.from(writeReport(report, push.capabilities)))
  const idLength = (await objectFormat(repo.dir)) === 'sha256' ? 64 : 40
  const refusal = refuseAlways(push.updates, { ...options, idLength }) ?? (await gate(push.updates))
  if (refusal !== null) {
    await drain(push.pack)
    return reply(refuseAll(push, refusal))
  }
  const room = await makeScratch(repo.dir).catch(whenFull)
  // git shows its user the refusal of a push, and of an answer with an error only its number.
  const refuseAfterAll = async (reason: string) => {
    await drain(push.pack, options.quota?.pushBytes).catch(() => {})
    return reply(refuseAll(push, reason))
  }
  if (room === 'full') return refuseAfterAll(noSpace)
  const meter = options.quota === undefined ? null : await PushMeter.open(repo, options.quota)
  let landing = false
  try {
    const received = await receiveMetered(repo, room, push, { options, meter, signal: request.signal })
    if (meter !== null && meter.refusal !== null) return await refuseAfterAll(meter.refusal)
    const good = push.updates.filter(({ ref }) => received.refs.get(ref) === null)
    const failed =
      received.unpack !== 'ok' ||
      good.length === 0 ||
      (push.capabilities.has('atomic') && good.length < push.updates.length)
    if (failed) return reply(received)
    const objection = (await options.inspect?.({ repo: { dir: room, remote: null }, updates: good })) ?? null
    if (objection !== null) return reply(refuseAll(push, objection))
    landing = true
    const atomic = push.capabilities.has('atomic')
    const { pusher } = options
    const landed = landPush(repo, room, good, { atomic, ...(pusher ? { pusher } : {}) }).finally(() => {
      meter?.close(true)
      return removeScratch(room)
    })
    return answer(contentType, reportStream(received, landed, push.capabilities))
  } catch (error) {
    if (error instanceof GitError && error.failure === 'busy') return refuseAfterAll(tooManyPushes)
    whenFull(error)
    return refuseAfterAll(noSpace)
  } finally {
    if (!landing) {
      meter?.close(false)
      await removeScratch(room)
    }
  }
}

/** Nothing of a push over its quota leaves the room. */
async function receiveMetered(
  repo: Repository,
  room: string,
  push: PushRequest,
  { options, meter, signal }: { options: ServeOptions; meter: PushMeter | null; signal: AbortSignal },
): Promise<PushReport> {
  if (meter === null) return receivePush(repo, room, push, { ...options, signal })
  const limits = { packBytesMax: meter.packBytesMax, fileBytesMax: meter.fileBytesMax }
  const pack = meter.pass(push.pack[Symbol.asyncIterator]())
  const received = await receivePush(repo, room, { ...push, pack }, { ...options, ...limits, signal })
  if (received.isTooLarge) meter.refuseUnpacked()
  else if (received.unpack === 'ok') await meter.judge(room)
  return received
}

const noSpace = 'The disk of this server is full. Nothing was changed; push again when its operator has made room.'

const tooManyPushes = 'Too many pushes to this repository are running. Nothing was changed; push again in a moment.'

function whenFull(error: unknown): 'full' {
  if (isDiskFull(error)) return 'full'
  throw error
}

function refuseAll({ updates }: PushRequest, reason: string): PushReport {
  return { unpack: 'ok', refs: new Map(updates.map(({ ref }) => [ref, reason])), remarks: [reason] }
}

const keepAliveMs = 5000

/** The host may think for a while, so the answer begins at once and its end is the truth. Landing does not stop when the pusher leaves. */
function reportStream(
  received: PushReport,
  landed: Promise<PushReport>,
  capabilities: Set<string>,
): ReadableStream<Uint8Array> {
  let timer: ReturnType<typeof setInterval> | undefined
  return new ReadableStream<Uint8Array>({
    start(controller) {
      if (capabilities.has('side-band-64k')) timer = setInterval(() => controller.enqueue(keepAlivePkt()), keepAliveMs)
      const finish = (report: PushReport) => {
        clearInterval(timer)
        // Refs that receive-pack refused keep its reason; the others have what became of them.
        const refs = new Map([...received.refs, ...report.refs])
        controller.enqueue(writeReport({ ...report, refs }, capabilities))
        controller.close()
      }
      landed.then(finish, (error: unknown) => {
        clearInterval(timer)
        controller.error(error)
      })
    },
    cancel() {
      clearInterval(timer)
    },
  })
}

/** git hangs up on an answer that comes before it has sent everything, and shows that instead of the answer. */
async function drain(pack: AsyncIterable<Uint8Array>, bytesMax = 256 * 1024 * 1024): Promise<void> {
  let bytes = 0
  for await (const chunk of pack) {
    bytes += chunk.length
    if (bytes > bytesMax) return
  }
}

async function* bodyOf({ body, headers }: GitRequest): AsyncGenerator<Uint8Array> {
  if (!body) return
  const encoding = headers.get('content-encoding') ?? 'identity'
  if (encoding === 'identity') return yield* body as unknown as AsyncIterable<Uint8Array>
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new PktError(`The content encoding ${JSON.stringify(encoding.slice(0, 40))} is not supported.`)
  const source = Readable.from(body as unknown as AsyncIterable<Uint8Array>)
  const gunzip = createGunzip()
  source.on('error', (error) => gunzip.destroy(error))
  try {
    yield* source.pipe(gunzip) as AsyncIterable<Uint8Array>
  } catch (error) {
    if (String((error as NodeJS.ErrnoException).code).startsWith('Z_'))
      throw new PktError('The gzip body of the request is damaged.')
    throw error
  }
}

async function* limited(source: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new PktError(`The request is larger than ${bytesMax} bytes.`)
    yield chunk
  }
}

/** A proxy may know only the words of HTTP 1.0 for what must not be kept; git's own host says both. */
const neverKept = {
  expires: 'Fri, 01 Jan 1980 00:00:00 GMT',
  pragma: 'no-cache',
  'cache-control': 'no-cache, max-age=0, must-revalidate',
}

function answer(contentType: string, body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer>): Response {
  return new Response(body, { headers: { ...neverKept, 'content-type': contentType } })
}

/** git shows the lines of a plain text answer to its user. */
export function plain(status: number, sentence: string, headers: Record<string, string> = {}): Response {
  return new Response(`${sentence}\n`, { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers } })
}
