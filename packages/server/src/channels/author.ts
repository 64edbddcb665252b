/** As whom somebody in a chat acts here, if as anybody. A stranger can neither spend nor change anything. */
import type { Role } from '@svc/contract'
import { type Actor, type Caller, mayWrite, type UserActor } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { credentialsOf } from './credentials.ts'
import { linkedUser } from './link-store.ts'
import { platformOf } from './platforms.ts'
import type { ChannelRow } from './store.ts'

export interface ChatAuthor {
  workspaceId: string
  userId: string
}

export type ActsAs =
  | { kind: 'linked'; userId: string; name: string }
  /** Nobody in particular, in the name of who connected the channel. */
  | { kind: 'unlinked'; userId: string; name: string }
  | { kind: 'refused'; why: 'unlinked' | 'may-not-write'; reason: string }
  | { kind: 'away'; reason: string }

type AuthorDeps = Pick<Deps, 'db' | 'config' | 'keyring'>

export async function actsAs(deps: AuthorDeps, channel: ChannelRow, author: ChatAuthor): Promise<ActsAs> {
  const link = await linkOf(deps.db, channel, author)
  if (link !== null) {
    const role = await roleOf(deps.db, channel.account_id, link.user_id)
    if (role !== null && mayWrite(role)) return { kind: 'linked', userId: link.user_id, name: link.chat_user_name }
    const reason = role === null ? 'You are no member of the account of this project.' : `Your role here is ${role}.`
    return { kind: 'refused', why: 'may-not-write', reason: `${reason} Ask an owner for the member role.` }
  }
  if (!channel.allow_unlinked) return refuseUnlinked
  return inTheNameOfWhoConnected(deps, channel, author)
}

const refuseUnlinked: ActsAs = {
  kind: 'refused',
  why: 'unlinked',
  reason: 'I do not know you yet, so I cannot do that for you.',
}

export function linkOf(db: DbOrTransaction, channel: ChannelRow, author: ChatAuthor) {
  return linkedUser(db, {
    accountId: channel.account_id,
    platform: channel.platform,
    workspaceId: author.workspaceId,
    chatUserId: author.userId,
  })
}

async function roleOf(db: DbOrTransaction, accountId: string, userId: string): Promise<Role | null> {
  const row = await db
    .selectFrom('account_members')
    .select('role')
    .where('account_id', '=', accountId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row?.role ?? null
}

/** Only for full members of the workspace itself: guests and people of other workspaces were invited by others. */
async function inTheNameOfWhoConnected(deps: AuthorDeps, channel: ChannelRow, author: ChatAuthor): Promise<ActsAs> {
  const host = channel.connected_by
  const role = host === null ? null : await roleOf(deps.db, channel.account_id, host)
  const opened = await credentialsOf(deps, channel)
  if (host === null || role === null || !mayWrite(role) || opened === null) return refuseUnlinked
  const found = await platformOf(deps.config, channel.platform).person(opened.credentials, author.userId)
  switch (found.kind) {
    case 'away':
      return { kind: 'away', reason: found.reason }
    case 'unknown':
      return refuseUnlinked
    case 'person': {
      const isOurs =
        found.isFullMember && [found.workspaceId, author.workspaceId].every((id) => id === channel.workspace_id)
      return isOurs ? { kind: 'unlinked', userId: host, name: found.name } : refuseUnlinked
    }
    default:
      return found satisfies never
  }
}

/** What a linked person does is theirs, as if they had done it here; what an unlinked one does is the service's, for who connected it. */
export function callerFor(
  acting: { kind: 'linked' | 'unlinked'; userId: string },
  channel: ChannelRow,
  delivery: string,
): Caller<Exclude<Actor, { kind: 'project' | 'sandbox' }>> {
  const actor =
    acting.kind === 'linked'
      ? userActor(acting.userId)
      : { kind: 'service' as const, user_id: acting.userId, project_id: channel.project_id, session_id: null }
  return { actor, requestId: `${channel.platform} ${delivery}`, address: channel.platform }
}

export function userActor(userId: string): UserActor {
  return { kind: 'user', user_id: userId, token_id: null, expires_at: null }
}
