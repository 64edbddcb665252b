import { makeToken, type MintedToken, ServiceError } from '@svc/contract'
import type { ProjectActor, UserActor } from '../auth/actor.ts'
import { sha256, unauthenticated } from '../auth/credentials.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { lockMinter, insertToken, spendMint } from './store.ts'

export interface TokenGrant {
  name: string
  user_id: string
  project_id?: string | null
  session_id?: string | null
  generation?: number | null
  expires_at?: string | null
  minted_by?: string | null
  mints_once?: boolean
}

/** Mints a token. Only its hash is stored, so only this result contains the token. `secret` sets a token known beforehand. */
export async function mintToken(
  deps: Pick<Deps, 'newId' | 'randomBytes' | 'now'>,
  db: DbOrTransaction,
  grant: TokenGrant,
  secret = makeToken(deps.randomBytes),
): Promise<MintedToken> {
  const { last_used_at: _, ...row } = await insertToken(db, {
    token_id: deps.newId(),
    sha256: sha256(secret),
    ...{ project_id: null, session_id: null, generation: null, minted_by: null, ...grant },
    expires_at: grant.expires_at == null ? null : expiryOf(grant.expires_at, deps.now()),
    revoked_at: null,
    last_used_at: null,
  })
  return { ...row, secret_key: secret }
}

/**
 * Mints a token on request. It never outlives the minting token and never allows more: it ends with that token, and a
 * token of a project or session mints only for the same project and session. A browser has no such limit, because its
 * user sees the new token in the list.
 */
export async function mintFor(
  deps: Pick<Deps, 'newId' | 'randomBytes' | 'now'>,
  trx: DbOrTransaction,
  actor: UserActor | ProjectActor,
  input: { name: string; project_id: string | null; expires_at: string | null | undefined },
): Promise<MintedToken> {
  const bound = actor.kind === 'project' ? actor : { session_id: null, generation: null }
  const grant = {
    name: input.name,
    user_id: actor.user_id,
    project_id: input.project_id,
    session_id: bound.session_id,
    generation: bound.generation,
  }
  if (actor.token_id === null) return mintToken(deps, trx, { ...grant, expires_at: input.expires_at ?? null })
  const minter = await lockMinter(trx, { token_id: actor.token_id, session_id: bound.session_id })
  // Revoked since authentication: a token minted now would outlive the revocation.
  if (minter === null) throw unauthenticated('This token was revoked.')
  if (minter.mints_once && input.project_id === null) {
    // A terminal's sign-in token, which a user approved in a browser. The first token it mints replaces it.
    await spendMint(trx, actor.token_id)
    return mintToken(deps, trx, { ...grant, expires_at: input.expires_at ?? null })
  }
  const expires_at = boundedExpiry(actor.expires_at, input.expires_at)
  return mintToken(deps, trx, { ...grant, expires_at, minted_by: actor.token_id })
}

/** In UTC, because the database supports fewer offsets than ISO 8601 and only years of four digits. */
function expiryOf(text: string, now: Date): string {
  const at = new Date(text)
  if (at <= now) throw invalidExpiry('The expiry time is in the past.', 'is in the past')
  if (at.getUTCFullYear() > 9999)
    throw invalidExpiry('The expiry time is after the year 9999.', 'is beyond the year 9999')
  return at.toISOString()
}

/** The minting token's expiry unless an earlier one is requested. An explicit null requests a token without expiry. */
function boundedExpiry(minter: string | null, wanted: string | null | undefined): string | null {
  if (minter === null) return wanted ?? null
  if (wanted === undefined) return minter
  if (wanted !== null && Date.parse(wanted) <= Date.parse(minter)) return wanted
  throw invalidExpiry(
    `The minting token expires at ${minter}, and a token it mints cannot expire later.`,
    `is later than ${minter}`,
    { expires_at_max: minter },
  )
}

function invalidExpiry(message: string, issue: string, detail: Record<string, unknown> = {}): ServiceError {
  return new ServiceError('invalid', message, {
    detail: { issues: [{ path: 'expires_at', message: issue }], ...detail },
  })
}
