import { base62, ServiceError } from '@svc/contract'
import { type Caller, type UserActor, userActor } from '../../auth/actor.ts'
import { sha256 } from '../../auth/credentials.ts'
import { requireFresh } from '../../auth/fresh-sign-in.ts'
import { recordAudit } from '../../audit/record.ts'
import type { Deps } from '../../deps.ts'
import { onUser } from '../on-user.ts'
import { accountsOfUser, findPassword, firstOwner } from '../store.ts'
import { insertOwnerLink, useOwnerLink } from './store.ts'

const linkHours = 24

type LinkDeps = Pick<Deps, 'db' | 'now' | 'config' | 'randomBytes'>
interface OwnerLink {
  url: string
  expires_at: string
}

/** A link that signs its first visitor in as `userId`. The code is in the fragment, so no server or proxy logs it. */
export async function makeOwnerLink(deps: LinkDeps, userId: string): Promise<OwnerLink> {
  const code = base62(32, deps.randomBytes)
  const now = deps.now()
  const expiresAt = new Date(now.getTime() + linkHours * 3_600_000)
  await insertOwnerLink(deps.db, { sha256: sha256(code), user_id: userId, expires_at: expiresAt, now })
  return { url: signInUrl(deps, code), expires_at: expiresAt.toISOString() }
}

export function signInUrl({ config }: Pick<Deps, 'config'>, code: string): string {
  return `${config.publicUrl}/sign-in#${code}`
}

/** Requires an owner who recently proved their identity in a browser. API tokens get none, because the link would outlive them. */
export async function createOwnerLink(deps: LinkDeps, caller: Caller<UserActor>): Promise<OwnerLink> {
  requireFresh(deps, caller.actor, 'proof')
  const accounts = await accountsOfUser(deps.db, caller.actor.user_id)
  if (!accounts.some((account) => account.role === 'owner'))
    throw new ServiceError('forbidden', 'Only owners of an account can create an owner link.')
  return recordedLink(deps, caller)
}

/** For the operator, over the socket in the data folder: signs in the first owner, or the user with this address. */
export async function operatorsLink(deps: LinkDeps, input: { email: string | null; requestId: string }) {
  const { email } = input
  const user = email === null ? await firstOwner(deps.db) : await findPassword(deps.db, { email })
  if (user === null)
    throw new ServiceError(
      'not_found',
      email === null ? 'This server has no owner yet.' : 'No user has this email address.',
    )
  return recordedLink(deps, {
    actor: userActor(user.user_id),
    requestId: input.requestId,
    address: "the server's machine",
  })
}

function recordedLink(deps: LinkDeps, caller: Caller<UserActor>): Promise<OwnerLink> {
  return deps.db.transaction().execute(async (trx) => {
    const link = await makeOwnerLink({ ...deps, db: trx }, caller.actor.user_id)
    await recordAudit(trx, caller, {
      ...(await onUser(trx, 'owner_link.create', caller.actor.user_id)),
      after: { expires_at: link.expires_at },
    })
    return link
  })
}

export function redeemOwnerLink(deps: Pick<Deps, 'db' | 'now'>, code: string): Promise<string | null> {
  return useOwnerLink(deps.db, sha256(code), deps.now())
}
