import { base62, ServiceError } from '@svc/contract'
import type { Caller, UserActor } from '../auth/actor.ts'
import { sha256 } from '../auth/credentials.ts'
import { requireFresh } from '../auth/fresh-sign-in.ts'
import { recordAudit } from '../audit/record.ts'
import type { Deps } from '../deps.ts'
import { onUser } from './on-user.ts'
import { accountsOfUser, findPassword, firstOwner } from './store.ts'

const linkHours = 24

type LinkDeps = Pick<Deps, 'db' | 'now' | 'config' | 'randomBytes'>
interface OwnerLink {
  url: string
  expires_at: string
}

/** A link that signs its first opener in as `userId`. The code is in the fragment, which no server and no proxy log sees. */
export async function makeOwnerLink(deps: LinkDeps, userId: string): Promise<OwnerLink> {
  const code = base62(32, deps.randomBytes)
  const expiresAt = new Date(deps.now().getTime() + linkHours * 3_600_000)
  await deps.db
    .insertInto('owner_links')
    .values({ sha256: sha256(code), user_id: userId, expires_at: expiresAt, used_at: null })
    .execute()
  return { url: signInUrl(deps, code), expires_at: expiresAt.toISOString() }
}

export function signInUrl({ config }: Pick<Deps, 'config'>, code: string): string {
  return `${config.publicUrl}/sign-in#${code}`
}

/** For an owner at a browser that proved who they are. An API token never gets one: the link would outlive it. */
export async function createOwnerLink(deps: LinkDeps, caller: Caller<UserActor>): Promise<OwnerLink> {
  requireFresh(deps, caller.actor, 'proof')
  const accounts = await accountsOfUser(deps.db, caller.actor.user_id)
  if (!accounts.some((account) => account.role === 'owner'))
    throw new ServiceError('forbidden', 'Only an owner of the account may make an owner link.')
  return recordedLink(deps, caller)
}

/** For the operator, by the socket in the data folder: the first owner, or the user of an address. */
export async function operatorsLink(
  deps: LinkDeps,
  input: { email: string | null; requestId: string },
): Promise<OwnerLink> {
  const { email } = input
  const user = email === null ? await firstOwner(deps.db) : await findPassword(deps.db, { email })
  if (user === null)
    throw new ServiceError('not_found', email === null ? 'There is no owner yet.' : 'No user has this e-mail address.')
  const actor = { kind: 'user', user_id: user.user_id, token_id: null, expires_at: null } as const
  return recordedLink(deps, { actor, requestId: input.requestId, address: "the server's machine" })
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

/** The user of an unused, unexpired code; the condition in the update makes it work once however many open it at the same time. */
export async function redeemOwnerLink(deps: Pick<Deps, 'db' | 'now'>, code: string): Promise<string | null> {
  const now = deps.now().toISOString()
  const row = await deps.db
    .updateTable('owner_links')
    .set({ used_at: now })
    .where('sha256', '=', sha256(code))
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('user_id')
    .executeTakeFirst()
  return row?.user_id ?? null
}
