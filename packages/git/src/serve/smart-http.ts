import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { streamChild } from '../process/child-stream.ts'
import { isDiskFull } from '../process/disk-full.ts'
import { hiddenRefs, refuseAlways, type PushGate, type PushInspector, type PushWaiter } from '../receive/gate.ts'
import { GitError, startGit } from '../process/git.ts'
import { landPush, noSpace } from './land-push.ts'
import { objectFormat } from '../process/object-format.ts'
import { flushPkt, pkt, PktError } from '../formats/pkt-line.ts'
import { boundedPack, cheapPack } from '../objects/pack-cost.ts'
import { PushMeter, type PushQuota } from '../receive/push-quota.ts'
import { refuseAll, writeReport, type PushReport } from '../receive/push-report.ts'
import { PushReply } from './push-reply.ts'
import { readPushRequest, type PushRequest } from '../receive/push-request.ts'
import { receivePush } from '../receive/receive.ts'
import type { Person } from '../refs/refs.ts'
import { isZero, type RefUpdate, type Repository } from '../repository.ts'
import { makeScratch, removeScratch } from '../process/scratch.ts'

export interface GitRequest {
  method: string
  path: 'info/refs' | 'git-upload-pack' | 'git-receive-pack'
  query: URLSearchParams
  headers: Headers
  body: ReadableStream<Uint8Array> | null
  signal: AbortSignal
}

export interface ServeOptions {
  /** Inspects a push before any ref moves; a sentence refuses it. */
  inspect?: PushInspector
  /** Pushes that rewind a branch, move a tag, or delete either are refused unless these allow it. */
  allowForce?: boolean
  allowDelete?: boolean
  /** Only branches and tags are accepted unless this allows more; hidden refs never are. */
  allowAnyRef?: boolean
  /** The person in the reflog of a managed repository. */
  pusher?: Person
  /** Limits for a push. Without it a push is limited, but the store is not. */
  quota?: PushQuota
  /** Called when refs may have moved, before the pusher gets its result. It must not throw. */
  landed?: () => Promise<void>
  /** Called with the received objects before any ref moves; a sentence refuses the push. */
  prepare?: PushWaiter
  /**
   * Called after `landed` with what has moved. A sentence tells the pusher that nothing was accepted, although refs of
   * this store have moved: another one has taken its place.
   */
  acknowledge?: (updates: RefUpdate[], say: (line: string) => void) => Promise<string | null>
  /** Shows every ref, hidden ones too, and sends any object by its id: for another server of ours that copies all of it. */
  isWhole?: boolean
}

const requestBytesMax = 64 * 1024 * 1024

/** Serves git's smart HTTP protocol: versions 0, 1, and 2 for fetches, and a gate before every push. */
export async function serveGitRequest(
  repo: Repository,
  request: GitRequest,
  gate: PushGate,
  options: ServeOptions = {},
): Promise<Response> {
  try {
    if (request.path === 'info/refs') return await greet(repo, request, options)
    if (request.method !== 'POST')
      return plain(405, 'This URL accepts only POST requests of a git client.', { allow: 'POST' })
    const wanted = `application/x-${request.path}-request`
    if (request.headers.get('content-type') !== wanted) return plain(415, `The content type must be ${wanted}.`)
    return request.path === 'git-upload-pack'
      ? await serveFetch(repo, request, options)
      : await servePush(repo, request, gate, options)
  } catch (error) {
    if (error instanceof PktError) return plain(400, error.message)
    throw error
  }
}

async function greet(
  repo: Repository,
  { method, query, headers, signal }: GitRequest,
  options: ServeOptions,
): Promise<Response> {
  if (method !== 'GET') return plain(405, 'This URL accepts only GET requests of a git client.', { allow: 'GET' })
  const service = query.get('service')
  if (service !== 'git-upload-pack' && service !== 'git-receive-pack') {
    return plain(403, 'This repository is served by the smart HTTP protocol only. Use git 1.6.6 or newer.')
  }
  const version = protocolVersion(headers)
  const contentType = `application/x-${service}-advertisement`
  // Version 2 starts with the server's capabilities, which are the same for every repository of one object format.
  if (version === 2 && service === 'git-upload-pack') return answer(contentType, await greetingV2(repo))
  const args = [service.slice('git-'.length), '--stateless-rpc', '--http-backend-info-refs', repo.dir]
  const child = await startGit(repo.dir, args, { ...servingOptions(version, options), signal })
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

function servingOptions(version: 0 | 1 | 2, { isWhole = false }: ServeOptions) {
  const shown: [string, string][] = isWhole
    ? [['uploadpack.allowAnySHA1InWant', 'true'], ['uploadpack.keepAlive', '1'], ...cheapPack]
    : [...hiddenRefs.map((ref): [string, string] => ['transfer.hideRefs', ref]), ...boundedPack]
  const config: [string, string][] = [
    ...shown,
    ['uploadpack.allowFilter', 'true'],
    // The capabilities offered for a push must match those its reader accepts.
    ['receive.advertisePushOptions', 'false'],
    ['transfer.advertiseSID', 'false'],
  ]
  const env: Record<string, string> = version === 0 ? {} : { GIT_PROTOCOL: `version=${version}` }
  return { lane: 'serve' as const, config, env }
}

async function serveFetch(repo: Repository, request: GitRequest, options: ServeOptions): Promise<Response> {
  const args = ['upload-pack', '--stateless-rpc', repo.dir]
  const child = await startGit(repo.dir, args, {
    ...servingOptions(protocolVersion(request.headers), options),
    signal: request.signal,
  })
  const body = Readable.from(limited(bodyOf(request), requestBytesMax))
  // upload-pack answers as soon as it has read enough, so both directions run at the same time.
  body.on('error', () => child.kill('aborted'))
  body.pipe(child.stdin)
  // 128: the client ended a negotiation early; it already has what it needed.
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
  // git shows the refusal of a push to its user, but only the status of an error reply.
  const refuseAfterAll = async (reason: string) => {
    await drain(push.pack, options.quota?.pushBytes).catch(endedMeanwhile)
    return reply(refuseAll(push, reason))
  }
  if (refusal !== null) return refuseAfterAll(refusal)
  const room = await makeScratch(repo.dir).catch(whenFull)
  if (room === 'full') return refuseAfterAll(noSpace)
  const quota = quotaFor(push, options.quota)
  const meter = quota === undefined ? null : await PushMeter.open(repo, quota)
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
    const out = new PushReply(push.capabilities)
    const seen = { repo: { dir: room, remote: null, group: repo.group }, updates: good }
    const judged = objectionTo(seen, options, out.say).catch(whyRefused)
    const objection = await inMoment(judged)
    if (typeof objection === 'string') return reply(refuseAll(push, objection))
    landing = true
    const reported = land(repo, room, push, { good, judged, meter, options, say: out.say })
    return answer(contentType, out.stream(received, reported))
  } catch (error) {
    return refuseAfterAll(whyRefused(error))
  } finally {
    if (!landing) {
      meter?.close(false)
      await removeScratch(room)
    }
  }
}

type Received = Parameters<PushInspector>[0]

async function objectionTo(seen: Received, options: ServeOptions, say: (line: string) => void): Promise<string | null> {
  return (await options.inspect?.(seen)) ?? (await options.prepare?.(seen, say)) ?? null
}

/** Shorter than proxies wait for the head of a reply. Within it, an error still has its status. */
const momentMs = 2000

async function inMoment<T>(work: Promise<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => late.resolve(undefined), momentMs)
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}

interface Landing {
  good: RefUpdate[]
  /** Null: it may land. */
  judged: Promise<string | null>
  meter: PushMeter | null
  options: ServeOptions
  say: (line: string) => void
}

/** Moves the refs once nothing objects, and removes what was received. */
async function land(
  repo: Repository,
  room: string,
  push: PushRequest,
  { good, judged, meter, options, say }: Landing,
): Promise<PushReport> {
  const { pusher } = options
  let lands = false
  let report: PushReport
  try {
    const objection = await judged
    if (objection !== null) return refuseAll(push, objection)
    lands = true
    report = await landPush(repo, room, good, {
      atomic: push.capabilities.has('atomic'),
      ...(pusher ? { pusher } : {}),
    })
  } finally {
    meter?.close(lands)
    await Promise.all([lands ? options.landed?.() : null, removeScratch(room)])
  }
  const moved = good.filter(({ ref }) => report.refs.get(ref) === null)
  const objection = (await options.acknowledge?.(moved, say)) ?? null
  return objection === null ? report : refuseAll({ updates: good }, objection)
}

/** A push that only deletes branches makes room on a full disk. */
function quotaFor({ updates }: PushRequest, quota: PushQuota | undefined): PushQuota | undefined {
  const deletes = updates.every(({ newSha }) => isZero(newSha))
  return quota !== undefined && deletes ? { ...quota, hasRoom: () => true } : quota
}

/** A push over its quota is discarded. */
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

const tooManyPushes = 'Too many pushes to this repository are running. Nothing was changed; push again in a moment.'

function whenFull(error: unknown): 'full' {
  if (isDiskFull(error)) return 'full'
  throw error
}

function whyRefused(error: unknown): string {
  if (error instanceof GitError && error.failure === 'busy') return tooManyPushes
  whenFull(error)
  return noSpace
}

/** git reports a reply that arrives before it has sent everything as a broken connection. */
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

/** Some proxies know only HTTP 1.0's headers against caching; git's own server sends both. */
const neverKept = {
  expires: 'Fri, 01 Jan 1980 00:00:00 GMT',
  pragma: 'no-cache',
  'cache-control': 'no-cache, max-age=0, must-revalidate',
}

function answer(contentType: string, body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer>): Response {
  return new Response(body, { headers: { ...neverKept, 'content-type': contentType } })
}

/** git shows the lines of a plain text reply to its user. */
export function plain(status: number, sentence: string, headers: Record<string, string> = {}): Response {
  return new Response(`${sentence}\n`, { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers } })
}

/** A client that has disconnected needs no reply. */
function endedMeanwhile(): void {}
