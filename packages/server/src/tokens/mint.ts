import { makeToken, type MintedToken, ServiceError } from '@svc/contract'
import { sha256 } from '../auth/credentials.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { insertToken } from './store.ts'

export interface TokenGrant {
  name: string
  user_id: string
  project_id: string | null
  session_id: string | null
  generation: number | null
  expires_at: string | null
}

/** A new token; only its SHA-256 stays, so this answer is the only one that holds it. `secret` is given where a token is known beforehand. */
export async function mintToken(
  deps: Pick<Deps, 'newId' | 'randomBytes' | 'now'>,
  db: DbOrTransaction,
  grant: TokenGrant,
  secret = makeToken(deps.randomBytes),
): Promise<MintedToken> {
  if (grant.expires_at !== null && Date.parse(grant.expires_at) <= deps.now().getTime())
    throw new ServiceError('invalid', 'expires_at lies in the past.', {
      detail: { issues: [{ path: 'expires_at', message: 'lies in the past' }] },
    })
  const { last_used_at: _, ...row } = await insertToken(db, {
    token_id: deps.newId(),
    sha256: sha256(secret),
    ...grant,
    revoked_at: null,
    last_used_at: null,
  })
  return { ...row, secret_key: secret }
}
