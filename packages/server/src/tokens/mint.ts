import { makeToken, type MintedToken, ServiceError } from '@svc/contract'
import type { ProjectActor, UserActor } from '../auth/actor.ts'
import { sha256, unauthenticated } from '../auth/credentials.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { holdMinter, insertToken, spendMint } from './store.ts'

export interface TokenGrant {
  name: string
  user_id: string
  project_id: string | null
  session_id: string | null
  generation: number | null
  expires_at: string | null
  minted_by?: string | null
  mints_once?: boolean
}

/** A new token; only its SHA-256 stays, so this answer is the only one that holds it. `secret` is given where a token is known beforehand. */
export async function mintToken(
  deps: Pick<Deps, 'newId' | 'randomBytes' | 'now'>,
  db: DbOrTransaction,
  grant: TokenGrant,
  secret = makeToken(deps.randomBytes),
): Promise<MintedToken> {
  if (grant.expires_at !== null && Date.parse(grant.expires_at) <= deps.now().getTime())
    throw invalidExpiry('expires_at lies in the past.', 'lies in the past')
  const { last_used_at: _, ...row } = await insertToken(db, {
    token_id: deps.newId(),
    sha256: sha256(secret),
    ...grant,
    minted_by: grant.minted_by ?? null,
    revoked_at: null,
    last_used_at: null,
  })
  return { ...row, secret_key: secret }
}

/**
 * A token minted by a request. It never outlives the token that asks and never does more: it ends when that token ends or
 * is revoked, and a token of a project or session mints only tokens of the same project and session. A browser is bounded
 * by no token: a person sits at it, and sees the new token in the list.
 */
export async function mintFor(
  deps: Pick<Deps, 'newId' | 'randomBytes' | 'now'>,
  trx: DbOrTransaction,
  actor: UserActor | ProjectActor,
  input: { name: string; project_id: string | null; expires_at: string | null | undefined },
): Promise<MintedToken> {
  const bound = actor.kind === 'project' ? actor : { session_id: null, generation: null }
  const grant = { name: input.name, user_id: actor.user_id, project_id: input.project_id, ...boundTo(bound) }
  if (actor.token_id === null) return mintToken(deps, trx, { ...grant, expires_at: input.expires_at ?? null })
  const minter = await holdMinter(trx, { token_id: actor.token_id, session_id: bound.session_id })
  // Revoked since the request was let in: a token minted now would outlive the revocation.
  if (minter === null) throw unauthenticated('This token was revoked.')
  if (minter.mints_once && input.project_id === null) {
    // The sign-in of a terminal, which a person approved in a browser: what it mints first takes its place.
    await spendMint(trx, actor.token_id)
    return mintToken(deps, trx, { ...grant, expires_at: input.expires_at ?? null })
  }
  const expires_at = boundedExpiry(actor.expires_at, input.expires_at)
  return mintToken(deps, trx, { ...grant, expires_at, minted_by: actor.token_id })
}

function boundTo({ session_id, generation }: Pick<ProjectActor, 'session_id' | 'generation'>) {
  return { session_id, generation }
}

/** The minter's own end unless an earlier one is asked for. An explicit null asks for a token that never ends. */
function boundedExpiry(minter: string | null, wanted: string | null | undefined): string | null {
  if (minter === null) return wanted ?? null
  if (wanted === undefined) return minter
  if (wanted !== null && Date.parse(wanted) <= Date.parse(minter)) return wanted
  throw invalidExpiry(
    `The token that asks ends at ${minter}; a token it mints cannot end later.`,
    `is later than ${minter}`,
    { expires_at_max: minter },
  )
}

function invalidExpiry(message: string, issue: string, detail: Record<string, unknown> = {}): ServiceError {
  return new ServiceError('invalid', message, {
    detail: { issues: [{ path: 'expires_at', message: issue }], ...detail },
  })
}
