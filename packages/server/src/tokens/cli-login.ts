/**
 * Signs in a terminal's client after a click on the page. The page gives the terminal a code, which is worthless
 * without the verifier that only this terminal has. The code is exchanged for a token of one minute, which mints the
 * client's own token with `POST /v1/accounts/tokens` once and is then revoked.
 */
import { sql } from 'kysely'
import { base62, type MintedToken, ServiceError } from '@svc/contract'
import { onUser } from '../accounts/on-user.ts'
import { recordAudit } from '../audit/record.ts'
import { type Caller, type UserActor, userActor } from '../auth/actor.ts'
import { isSameSecret, sha256 } from '../auth/credentials.ts'
import type { Deps } from '../deps.ts'
import type { RequestInfo } from '../http/request-info.ts'
import { mintToken } from './mint.ts'
import { deleteRows, insertRow, updateRow } from '../db/rows.ts'

const codeMs = 60_000
const tokenMs = 60_000

export async function approveCliLogin(
  deps: Pick<Deps, 'db' | 'now' | 'randomBytes'>,
  caller: Caller<UserActor>,
  input: { challenge: string; name: string },
): Promise<{ code: string; expires_at: string }> {
  const { user_id, dashboard_session: session } = caller.actor
  // A token must not create another one unseen; a token's holder needs no sign-in.
  if (session === undefined)
    throw new ServiceError(
      'forbidden',
      'A token cannot approve the sign-in of a terminal. Approve it in the dashboard.',
    )
  const code = base62(32, deps.randomBytes)
  const now = deps.now()
  const expires = new Date(now.getTime() + codeMs)
  await deps.db.transaction().execute(async (trx) => {
    await deleteRows(trx, 'cli_logins', { expires_at: sql`< ${now}` })
    const approved = { ...input, user_id, expires_at: expires, used_at: null }
    await insertRow(trx, 'cli_logins', { sha256: sha256(code), ...approved })
    await recordAudit(trx, caller, {
      ...(await onUser(trx, 'cli_login.approve', user_id)),
      after: { name: input.name },
    })
  })
  return { code, expires_at: expires.toISOString() }
}

export async function redeemCliLogin(
  deps: Pick<Deps, 'db' | 'now' | 'newId' | 'randomBytes'>,
  input: { code: string; verifier: string },
  request: RequestInfo,
): Promise<MintedToken> {
  const now = deps.now()
  const minted = await deps.db.transaction().execute(async (trx) => {
    // The first attempt uses up the code even if the verifier is wrong, so there is no second try.
    const unused = { sha256: sha256(input.code), used_at: null, expires_at: sql`> ${now}` }
    const row = await updateRow(trx, 'cli_logins', unused, { used_at: now })
    if (row === null || !isSameSecret(sha256(input.verifier).toString('base64url'), row.challenge)) return null
    const token = await mintToken(deps, trx, {
      name: `sign-in of ${row.name}`.slice(0, 100),
      user_id: row.user_id,
      expires_at: new Date(now.getTime() + tokenMs).toISOString(),
      mints_once: true,
    })
    const caller = { actor: userActor(row.user_id), requestId: request.id, address: request.address }
    await recordAudit(trx, caller, {
      ...(await onUser(trx, 'cli_login.redeem', row.user_id)),
      after: { name: row.name },
    })
    return token
  })
  if (minted !== null) return minted
  throw new ServiceError(
    'unauthenticated',
    'This sign-in was already used, has expired or belongs to another terminal.',
    {
      hint: 'Start again with `svc login`.',
    },
  )
}
