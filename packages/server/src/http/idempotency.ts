/** Idempotency-Key: the same key and body get the first answer again; a retry after a crash finds what the first request made. */
import { createHash } from 'node:crypto'
import { ServiceError } from '@svc/contract'
import { staleSeconds } from '../db/live-instance.ts'
import type { Deps } from '../deps.ts'
import { getKey, insertKey, type KeyOfScope, takeOverKey } from './idempotency-store.ts'

type IdempotencyDeps = Pick<Deps, 'db' | 'newId' | 'instanceId' | 'now'>

export interface Claim {
  resourceId: string
  /** The first answer, when there is one. Its body is null where it held a secret and was not stored. */
  replay: { status: number; body: unknown } | null
}

/** Claims whose requests run in this process. An unanswered row of this server that is not among them lost its request to an error. */
const running = new Set<string>()

interface KeyedRequest extends KeyOfScope {
  method: string
  path: string
  body: Buffer
}

/** A claim without a replay is the caller's until `endClaim`. */
export async function claimKey(deps: IdempotencyDeps, input: KeyedRequest): Promise<Claim> {
  const name = claimName(deps, input)
  const isOnly = !running.has(name)
  if (isOnly) running.add(name)
  try {
    const claim = await findOrInsertClaim(deps, input, isOnly)
    if (claim.replay !== null && isOnly) running.delete(name)
    return claim
  } catch (error) {
    if (isOnly) running.delete(name)
    throw error
  }
}

export function endClaim(deps: Pick<Deps, 'instanceId'>, input: KeyOfScope): void {
  running.delete(claimName(deps, input))
}

function claimName(deps: Pick<Deps, 'instanceId'>, { scope, key }: KeyOfScope): string {
  return JSON.stringify([deps.instanceId, scope, key])
}

async function findOrInsertClaim(deps: IdempotencyDeps, input: KeyedRequest, mayClaim: boolean): Promise<Claim> {
  if (!/^[\x21-\x7e]{1,255}$/.test(input.key))
    throw new ServiceError('invalid', 'The Idempotency-Key must be 1 to 255 printable characters.', {
      detail: { issues: [{ path: 'Idempotency-Key', message: 'is not valid' }] },
    })
  const hash = createHash('sha256').update(`${input.method} ${input.path}\n`).update(input.body).digest()
  const { scope, key } = input
  if (mayClaim) {
    const row = { scope, key, request_sha256: hash, resource_id: deps.newId(), instance_id: deps.instanceId }
    const resourceId = await insertKey(deps.db, row)
    if (resourceId !== null) return { resourceId, replay: null }
  }
  return findClaim(deps, { scope, key, hash, mayClaim })
}

async function findClaim(deps: IdempotencyDeps, input: KeyOfScope & { hash: Buffer; mayClaim: boolean }) {
  const row = await getKey(deps.db, input)
  // No row: another request claimed the key in this process and has not inserted it, or was refused and released it.
  if (row === null)
    throw new ServiceError(
      'idempotency_in_progress',
      'The first request with this Idempotency-Key is just starting, or was just refused.',
      { hint: 'Send it again in a moment.', detail: { retry_after_seconds: 1 } },
    )
  if (!row.request_sha256.equals(input.hash))
    throw new ServiceError('idempotency_mismatch', 'This Idempotency-Key was used for another request.', {
      hint: 'Use a new key for a new request.',
    })
  if (row.status !== null) return { resourceId: row.resource_id, replay: { status: row.status, body: row.body } }
  // No answer yet: either the first request still runs, or its process is dead and this request takes over.
  const by = { instanceId: deps.instanceId, deadAfterSeconds: staleSeconds }
  const taken = input.mayClaim ? await takeOverKey(deps.db, input, by) : null
  if (taken !== null) return { resourceId: taken, replay: null }
  throw new ServiceError('idempotency_in_progress', 'The first request with this Idempotency-Key is still running.', {
    hint: 'Send it again in a moment to get its answer.',
    detail: { retry_after_seconds: 1 },
  })
}
