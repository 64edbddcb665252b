/** What the homes of projects send to the server that keeps their copies. Only servers of this database may. */
import { ServiceError } from '@svc/contract'
import { GitError, isDiskFull } from '@svc/git'
import { isUuid } from '../../auth/allow.ts'
import type { Deps } from '../../deps.ts'
import { clockText, logOtherClock, synchronizeBoth } from '../../fleet/other-clock.ts'
import { readOwn, serverHeader, serverKeyPurpose } from '../../fleet/peer-header.ts'
import type { App } from '../../http/mount.ts'
import { replyError } from '../../http/reply-error.ts'
import type { AppContext } from '../../http/request-info.ts'
import { fillFromHome, heldReplica, keepObjects } from './keep.ts'
import { replicaPath } from './peer.ts'

/** The name of the server that sent the request; throws for everybody else. */
export function requireServer(deps: Pick<Deps, 'keyring' | 'log' | 'now' | 'serverName'>, c: AppContext): string {
  const { pathname, search } = new URL(c.req.url)
  const own = readOwn(
    deps.keyring.derive(serverKeyPurpose),
    { method: c.req.method, path: `${pathname}${search}`, header: c.req.header(serverHeader) },
    { serverName: deps.serverName, now: deps.now().getTime() },
  )
  if (own === null) throw new ServiceError('not_found', 'There is no such route.')
  if (own.aheadMs !== null) throw otherClock(deps, own.from, Math.round(own.aheadMs / 1000))
  return own.from
}

function otherClock(deps: Pick<Deps, 'log' | 'serverName'>, of: string, seconds: number): ServiceError {
  const clock = { of, than: deps.serverName, seconds }
  logOtherClock(deps, clock)
  return new ServiceError('unavailable', clockText(clock), {
    hint: synchronizeBoth,
    detail: { clock_seconds: seconds },
  })
}

/** Answers a request of another server. */
export function answerServer<T>(
  deps: Deps,
  answer: (asked: { c: AppContext; from: string; projectId: string }) => Promise<T>,
) {
  return async (c: AppContext): Promise<Response> => {
    try {
      const from = requireServer(deps, c)
      const projectId = c.req.param('id') ?? ''
      if (!isUuid(projectId)) throw new ServiceError('not_found', 'There is no such project.')
      const body = await answer({ c, from, projectId })
      return new Response(body === undefined ? null : JSON.stringify(body), {
        headers: { 'content-type': 'application/json' },
      })
    } catch (error) {
      return replyError(error, { id: c.get('requestId'), method: c.req.method, path: c.req.path }, deps)
    }
  }
}

export function replicaIngress(app: App, deps: Deps): void {
  const path = `${replicaPath}/:id`
  app.get(
    path,
    answerServer(deps, ({ c, projectId }) => orUnusable(deps, c, heldReplica(deps, projectId))),
  )
  for (const [name, kind] of [
    ['objects', 'pack'],
    ['files', 'files'],
  ] as const)
    app.post(
      `${path}/${name}`,
      answerServer(deps, ({ c, from, projectId }) => {
        const sent = bodyOf(c)
        return orUnusable(deps, c, readRest(sent, keepObjects(deps, { projectId, from, ...sent }, kind)))
      }),
    )
  app.post(
    `${path}/fill`,
    answerServer(deps, ({ c, from, projectId }) => {
      const format = c.req.query('format') === 'sha256' ? 'sha256' : 'sha1'
      const seq = numberOf(c, 'seq')
      const sent = bodyOf(c)
      return orUnusable(deps, c, readRest(sent, fillFromHome(deps, { projectId, from, format, seq, ...sent })))
    }),
  )
}

/** The reason is for the operators of the home alone: it can name paths. */
async function orUnusable<T>(deps: Deps, c: AppContext, kept: Promise<T>): Promise<T> {
  try {
    return await kept
  } catch (error) {
    if (!(error instanceof Error) || error instanceof ServiceError || c.req.raw.signal.aborted) throw error
    const reason = error instanceof GitError && error.stderr !== '' ? error.stderr.trim() : error.message
    deps.log.error({ err: error, project_id: c.req.param('id') }, 'failed to read or write a copy')
    const message = isDiskFull(error)
      ? 'Its disk is full, so it could not write the copy.'
      : 'It could not read or write the copy.'
    throw new ServiceError('unavailable', message, { detail: { reason }, cause: error })
  }
}

/** Whoever stops reading it does not end it: see `readRest`. */
function bodyOf(c: AppContext) {
  const { body, signal } = c.req.raw
  if (body === null) throw new ServiceError('invalid', 'The request has no body.')
  const chunks = (body as unknown as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
  const kept = { [Symbol.asyncIterator]: () => ({ next: () => chunks.next() }) }
  return { epoch: numberOf(c, 'epoch'), body: kept as AsyncIterable<Uint8Array>, signal, chunks }
}

/** What a home sends within seconds. */
const restBytesMax = 256 * 1024 * 1024
const restMsMax = 4_000

/** A home that still sends its objects would not get the answer, and would take this server for one that is silent. */
async function readRest({ chunks }: Pick<ReturnType<typeof bodyOf>, 'chunks'>, kept: Promise<void>): Promise<void> {
  try {
    await kept
  } catch (error) {
    const until = performance.now() + restMsMax
    for (let bytes = 0; bytes < restBytesMax && performance.now() < until;) {
      const { done, value } = await chunks.next().catch(leftMeanwhile)
      if (done === true) break
      bytes += value.length
    }
    throw error
  }
}

/** The home is gone, and nobody gets the answer. */
function leftMeanwhile(): { done: true; value: undefined } {
  return { done: true, value: undefined }
}

export function numberOf(c: AppContext, name: string): number {
  const value = Number(c.req.query(name) ?? Number.NaN)
  if (!Number.isSafeInteger(value) || value < 0) throw new ServiceError('invalid', `The number ${name} is missing.`)
  return value
}
