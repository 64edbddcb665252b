import { createHash, timingSafeEqual } from 'node:crypto'
import {
  cloneCredentialPrefix,
  isWellFormedToken,
  modelKeyPrefix,
  sandboxKeyPrefix,
  ServiceError,
  tokenPrefix,
} from '@svc/contract'
import { sql } from 'kysely'
import { ofLiveProject } from '../db/live-project.ts'
import { readTogether } from '../db/read-together.ts'
import type { Deps } from '../deps.ts'
import { recordTokenUse } from '../tokens/store.ts'
import type { Actor, ProjectActor, SandboxActor, UserActor } from './actor.ts'
import { type Found, type TokenRow, tokenOfHash, tokenWithProject } from './token-store.ts'
import { findRow } from '../db/rows.ts'

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Takes as long for any two texts, so that timing does not reveal how much of a guess is right. */
export function isSameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(sha256(given), sha256(expected))
}

export function unauthenticated(
  message: string,
  hint = 'Sign in with `svc login`, or send `Authorization: Bearer <token>`.',
): ServiceError {
  return new ServiceError('unauthenticated', message, { hint })
}

/** An actor with the project of the request. */
export interface Known extends Found {
  actor: UserActor | ProjectActor
}

/** The actor of a `svc_pat_` token. Throws `unauthenticated` when it is malformed, unknown, expired or revoked. */
export async function actorOfToken(
  deps: Pick<Deps, 'db' | 'now' | 'log'>,
  token: string,
): Promise<UserActor | ProjectActor> {
  const hash = hashOfToken(token)
  const row = await readTogether(deps.db, `token ${hash.toString('hex')}`, () => tokenOfHash(deps.db, hash))
  return actorOfRow(deps, row)
}

/** Also reads the project of the request, in the same query. `projectId` must be a UUID. */
export async function actorOfTokenOn(
  deps: Pick<Deps, 'db' | 'now' | 'log'>,
  token: string,
  projectId: string,
): Promise<Known> {
  const hash = hashOfToken(token)
  const row = await readTogether(deps.db, `token ${hash.toString('hex')} on ${projectId}`, () =>
    tokenWithProject(deps.db, hash, projectId),
  )
  return { actor: actorOfRow(deps, row?.token), project: row?.project }
}

function hashOfToken(token: string): Buffer {
  if (!token.startsWith(tokenPrefix)) throw unauthenticated('This is not a token of the service.')
  if (!isWellFormedToken(token)) throw unauthenticated('This token is malformed: it is incomplete or mistyped.')
  return sha256(token)
}

function actorOfRow(deps: Pick<Deps, 'db' | 'now' | 'log'>, row: TokenRow | undefined): UserActor | ProjectActor {
  if (row === undefined) throw unauthenticated('This token is unknown.')
  if (row.revoked_at !== null) throw unauthenticated('This token was revoked.')
  const now = deps.now()
  if (row.expires_at !== null && Date.parse(row.expires_at) <= now.getTime())
    throw unauthenticated('This token has expired.')
  if (row.last_used_at === null || Date.parse(row.last_used_at) < now.getTime() - 60_000) recordUse(deps, row.token_id)
  const { token_id, user_id, project_id, session_id, generation, expires_at } = row
  if (project_id === null) return { kind: 'user', user_id, token_id, expires_at }
  return { kind: 'project', user_id, token_id, project_id, session_id, generation, expires_at }
}

/** The owner only reads when a token was last used, so recording it must not slow or fail the request. */
function recordUse(deps: Pick<Deps, 'db' | 'now' | 'log'>, tokenId: string): void {
  recordTokenUse(deps.db, tokenId, deps.now()).catch((error: unknown) =>
    deps.log.debug({ err: error }, 'failed to record the last use of a token'),
  )
}

/** The project of a read credential. Throws `unauthenticated` when the credential is unknown or expired. */
export async function projectOfReadCredential(deps: Pick<Deps, 'db' | 'now'>, credential: string): Promise<string> {
  const row = await findRow(deps.db, 'warm_sandboxes', { read_sha256: sha256(credential) })
  if (row === null) throw unauthenticated('This credential is unknown.')
  if (row.read_expires_at === null || Date.parse(row.read_expires_at) <= deps.now().getTime())
    throw unauthenticated('This credential has expired.')
  return row.project_id
}

/** Whether the key belongs to a sandbox that waits for a session, so that no session pays. */
export async function isModelKeyOfWarmSandbox(deps: Pick<Deps, 'db'>, key: string): Promise<boolean> {
  if (!key.startsWith(modelKeyPrefix)) return false
  return (await findRow(deps.db, 'warm_sandboxes', { model_sha256: sha256(key) })) !== null
}

/** The project of a token reserved for a sandbox that waits for a session, otherwise null. */
export async function projectOfWarmToken(deps: Pick<Deps, 'db'>, token: string): Promise<string | null> {
  if (!isWellFormedToken(token)) return null
  return (await findRow(deps.db, 'warm_sandboxes', { token_sha256: sha256(token) }))?.project_id ?? null
}

const kindOfPrefix = {
  [sandboxKeyPrefix]: 'service',
  [cloneCredentialPrefix]: 'clone',
  [modelKeyPrefix]: 'model',
} as const

/** The sandbox generation of a service key, clone credential or model key. Throws `unauthenticated` unless it is of this `kind` and valid. */
export async function actorOfSandboxCredential(
  deps: Pick<Deps, 'db' | 'now'>,
  kind: 'service' | 'clone' | 'model',
  credential: string,
): Promise<SandboxActor> {
  const prefix = Object.keys(kindOfPrefix).find((known) => credential.startsWith(known)) as
    | keyof typeof kindOfPrefix
    | undefined
  if (prefix === undefined || kindOfPrefix[prefix] !== kind) throw unauthenticated('This credential is not valid here.')
  const row = await deps.db
    .selectFrom('sandbox_credentials')
    .select(['user_id', 'project_id', 'session_id', 'sandbox_id', 'generation', 'expires_at', 'revoked_at'])
    .where((eb) => eb.and({ sha256: sha256(credential), kind }))
    .where(ofLiveProject(sql.ref('sandbox_credentials.project_id')))
    .executeTakeFirst()
  if (row === undefined) throw unauthenticated('This credential is unknown.')
  if (row.revoked_at !== null) throw unauthenticated('The sandbox of this credential was stopped.')
  if (row.expires_at !== null && Date.parse(row.expires_at) <= deps.now().getTime())
    throw unauthenticated('This credential has expired; fetch a new one.')
  const { user_id, project_id, session_id, sandbox_id, generation } = row
  return { kind: 'sandbox', user_id, project_id, session_id, sandbox_id, generation }
}

export function describeActor(actor: Actor) {
  return {
    actor_kind: actor.kind === 'project' && actor.session_id !== null ? 'agent' : actor.kind,
    actor_user_id: actor.user_id,
    token_id: actor.kind === 'sandbox' || actor.kind === 'service' ? null : actor.token_id,
    session_id: actor.kind === 'user' ? null : actor.session_id,
  }
}
