/** Requests to the server that keeps a copy: what it has, more objects, all refs, and the end as a copy. */
import type { ErrorBody } from '@svc/contract/errors'
import type { RefValue, ReplicaMark } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { serverHeader, serverKeyPurpose, signOwn } from '../../fleet/peer-header.ts'
import { fetchTrust, isOtherCertificate } from '../../fleet/peer-tls.ts'
import { traceHeaders } from '../../fleet/peer-trace.ts'
import type { Keeper } from './store.ts'

export const replicaPath = '/v1/replicas'

/** What a server has of a project. */
export interface HeldReplica extends ReplicaMark {
  refs: RefValue[]
}

/**
 * `silent`: the server does not answer, or is busy; `refused`: it has no such copy, or takes none; `moved`: the project
 * has another home; `clock`: it takes no request of this server, whose clock differs.
 */
type Failure = 'silent' | 'refused' | 'moved' | 'clock'

interface FailureDetail {
  cause?: unknown
  reason?: string | undefined
  isAnswer?: boolean
  server?: string
}

/** Why an attempt failed. */
export class PeerFailure extends Error {
  readonly kind: Failure
  /** For operators. Empty: the message says everything. */
  readonly reason: string
  /** The server runs, and said why. */
  readonly isAnswer: boolean
  /** The server that refused the request. Null: none answered. */
  readonly server: string | null

  constructor(kind: Failure, message: string, detail: FailureDetail = {}) {
    const { cause, reason = '', isAnswer = false, server = null } = detail
    super(message, { cause })
    this.kind = kind
    this.reason = reason
    this.isAnswer = isAnswer
    this.server = server
  }
}

type PeerDeps = Pick<Deps, 'config' | 'keyring' | 'now' | 'peerTls' | 'serverName' | 'tracing'>

interface Asked {
  method: 'GET' | 'POST'
  path: string
  body?: Uint8Array | ReadableStream<Uint8Array>
  /** For an answer that takes no long work. */
  timeoutMs: number
  signal?: AbortSignal
}

/** Null for an answer without a body. Throws `PeerFailure`. */
export function askPeer<T>(deps: PeerDeps, peer: Keeper, asked: Asked): Promise<T> {
  const attributes = { 'http.request.method': asked.method, 'svc.peer': peer.server_name }
  return deps.tracing.span(`${asked.method} copy`, { kind: 'client', attributes }, () => send<T>(deps, peer, asked))
}

async function send<T>(deps: PeerDeps, peer: Keeper, { method, path, body, timeoutMs, signal }: Asked): Promise<T> {
  const key = deps.keyring.derive(serverKeyPurpose)
  const between = { from: deps.serverName, to: peer.server_name }
  const options = {
    method,
    headers: {
      host: new URL(deps.config.publicUrl).host,
      [serverHeader]: signOwn(key, { method, path }, between, deps.now().getTime()),
      ...traceHeaders(deps),
      ...(body === undefined ? {} : { 'content-type': 'application/octet-stream' }),
    },
    ...(body === undefined ? {} : { body, duplex: 'half' }),
    signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]),
    // Otherwise Bun ends it after five minutes without a byte, while a server checks a large copy.
    timeout: false,
    ...fetchTrust(deps.peerTls, peer),
  }
  const answer = await fetch(`${peer.peer_url}${path}`, options as RequestInit).catch((error: unknown) => {
    if (!isOtherCertificate(error))
      throw new PeerFailure('silent', `${peer.server_name} does not answer.`, { cause: error })
    const elsewhere = `${peer.peer_url}, the SVC_PEER_URL of ${peer.server_name}, leads to another server or program.`
    throw new PeerFailure('silent', elsewhere, { cause: new Error((error as NodeJS.ErrnoException).code) })
  })
  const text = await answer.text().catch((error: unknown) => {
    throw new PeerFailure('silent', `${peer.server_name} did not answer completely.`, { cause: error })
  })
  if (answer.ok) return (text === '' ? null : JSON.parse(text)) as T
  const refusal = refusalOf(text)
  const why = refusal?.error ?? `status ${answer.status}`
  throw new PeerFailure(failureOf(refusal), `${peer.server_name} answered: ${why}`, {
    reason: refusal?.reason,
    isAnswer: true,
    server: peer.server_name,
  })
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error instanceof PeerFailure && error.reason !== '' ? `${error.message} ${error.reason}` : error.message
}

type Refusal = Partial<ErrorBody> & { clock_seconds?: number; reason?: string }

function failureOf(refusal: Refusal | null): Failure {
  if (refusal?.clock_seconds !== undefined) return 'clock'
  if (refusal?.code === 'not_found') return 'refused'
  return refusal?.code === 'conflict' ? 'moved' : 'silent'
}

function refusalOf(text: string): Refusal | null {
  try {
    return JSON.parse(text) as Refusal | null
  } catch {
    return notOurs()
  }
}

/** A proxy in between, or a server of an earlier version. */
function notOurs(): null {
  return null
}
