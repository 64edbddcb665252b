/** Idempotency-Key: the same key and body get the first answer again; a retry after a crash finds what the first try made. */
import { createHash } from 'node:crypto'
import { ServiceError } from '@svc/contract'
import { sql } from 'kysely'
import { isLiving } from '../db/living.ts'
import type { Deps } from '../deps.ts'

type IdempotencyDeps = Pick<Deps, 'db' | 'newId' | 'instanceId' | 'now'>

export interface Claim {
  resourceId: string
  /** The first answer, when there is one. Its body is null where it held a secret and was not kept. */
  replay: { status: number; body: unknown } | null
}

/** The claims whose requests run in this process. An unanswered row of this server that is not here has lost its request to an error. */
const running = new Set<string>()

/** How long an answer is kept: longer than any client retries. */
export const keptHours = 24

/** Of a server whose lock cannot be asked for: three of its heartbeats and some more. */
const deadAfterSeconds = 20

interface KeyedRequest {
  scope: string
  key: string
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
    const claim = await findOrMakeClaim(deps, input, isOnly)
    if (claim.replay !== null && isOnly) running.delete(name)
    return claim
  } catch (error) {
    if (isOnly) running.delete(name)
    throw error
  }
}

export function endClaim(deps: Pick<Deps, 'instanceId'>, input: { scope: string; key: string }): void {
  running.delete(claimName(deps, input))
}

function claimName(deps: Pick<Deps, 'instanceId'>, { scope, key }: { scope: string; key: string }): string {
  return JSON.stringify([deps.instanceId, scope, key])
}

async function findOrMakeClaim(deps: IdempotencyDeps, input: KeyedRequest, mayClaim: boolean): Promise<Claim> {
  if (!/^[\x21-\x7e]{1,255}$/.test(input.key))
    throw new ServiceError('invalid', 'The Idempotency-Key has to be 1 to 255 printable characters.', {
      detail: { issues: [{ path: 'Idempotency-Key', message: 'is not valid' }] },
    })
  const hash = createHash('sha256').update(`${input.method} ${input.path}\n`).update(input.body).digest()
  const { scope, key } = input
  if (!mayClaim) return claimAgain(deps, { scope, key, hash, mayClaim })
  const inserted = await deps.db
    .insertInto('idempotency_keys')
    .values({
      scope,
      key,
      request_sha256: hash,
      resource_id: deps.newId(),
      instance_id: deps.instanceId,
      status: null,
      body: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('resource_id')
    .executeTakeFirst()
  if (inserted !== undefined) return { resourceId: inserted.resource_id, replay: null }
  return claimAgain(deps, { scope, key, hash, mayClaim })
}

async function claimAgain(
  deps: IdempotencyDeps,
  input: { scope: string; key: string; hash: Buffer; mayClaim: boolean },
): Promise<Claim> {
  const row = await deps.db
    .selectFrom('idempotency_keys')
    .selectAll()
    .where('scope', '=', input.scope)
    .where('key', '=', input.key)
    .executeTakeFirst()
  if (row === undefined)
    throw new ServiceError(
      'idempotency_in_progress',
      // Between its first look and its row there is nothing to tell one from the other.
      'The first request with this Idempotency-Key is just beginning, or was just refused.',
      { hint: 'Send it again in a moment.', detail: { retry_after_seconds: 1 } },
    )
  if (!row.request_sha256.equals(input.hash))
    throw new ServiceError('idempotency_mismatch', 'This Idempotency-Key was used for another request.', {
      hint: 'Use a new key for a new request.',
    })
  if (row.status !== null) return { resourceId: row.resource_id, replay: { status: row.status, body: row.body } }
  // No answer yet: either the first request still runs, or what ran it is gone and this one takes over.
  const taken = input.mayClaim ? await takeOver(deps, input) : null
  if (taken !== null) return { resourceId: taken, replay: null }
  throw new ServiceError('idempotency_in_progress', 'The first request with this Idempotency-Key is still running.', {
    hint: 'Send it again in a moment; you will get its answer.',
    detail: { retry_after_seconds: 1 },
  })
}

/** The resource id of a claim whose request ended without an answer: in this server by an error, in another one with that server. */
async function takeOver(deps: IdempotencyDeps, input: { scope: string; key: string }): Promise<string | null> {
  const taken = await deps.db
    .updateTable('idempotency_keys')
    .set({ instance_id: deps.instanceId })
    .where('scope', '=', input.scope)
    .where('key', '=', input.key)
    .where('status', 'is', null)
    .where(({ eb, or, not }) =>
      or([
        eb('instance_id', '=', deps.instanceId),
        not(isLiving(sql.ref('idempotency_keys.instance_id'), deadAfterSeconds)),
      ]),
    )
    .returning('resource_id')
    .executeTakeFirst()
  return taken?.resource_id ?? null
}

export async function keepAnswer(
  deps: IdempotencyDeps,
  input: { scope: string; key: string; status: number; body: string | null },
): Promise<void> {
  await deps.db
    .updateTable('idempotency_keys')
    .set({ status: input.status, body: input.body })
    .where('scope', '=', input.scope)
    .where('key', '=', input.key)
    .execute()
}

/** A refused request made nothing, so its key is free again. */
export async function releaseKey(deps: IdempotencyDeps, input: { scope: string; key: string }): Promise<void> {
  await deps.db
    .deleteFrom('idempotency_keys')
    .where('scope', '=', input.scope)
    .where('key', '=', input.key)
    .where('status', 'is', null)
    .execute()
}
