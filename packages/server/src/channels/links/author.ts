/** Decides as which user a chat author acts. An unknown author can neither spend nor change anything. */
import type { Role } from '@svc/contract'
import { getMember } from '../../accounts/store.ts'
import { type Actor, type Caller, mayWrite, type UserActor, userActor } from '../../auth/actor.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { credentialsOf } from '../credentials.ts'
import { linkedUser } from './link-store.ts'
import { platformOf } from '../platforms.ts'
import type { ChannelRow } from '../store.ts'

export interface ChatAuthor {
  workspaceId: string
  userId: string
}

export type ResolvedAuthor =
  | { kind: 'linked'; userId: string; name: string }
  /** Acts on behalf of the user who connected the channel. */
  | { kind: 'unlinked'; userId: string; name: string }
  | { kind: 'refused'; why: 'unlinked' | 'may-not-write'; reason: string }
  | { kind: 'unavailable'; reason: string }

type AuthorDeps = Pick<Deps, 'db' | 'config' | 'keyring'>

export async function resolveAuthor(
  deps: AuthorDeps,
  channel: ChannelRow,
  author: ChatAuthor,
): Promise<ResolvedAuthor> {
  const link = await linkOf(deps.db, channel, author)
  if (link !== null) {
    const role = await roleOf(deps.db, channel.account_id, link.user_id)
    if (role !== null && mayWrite(role)) return { kind: 'linked', userId: link.user_id, name: link.chat_user_name }
    const reason = role === null ? 'You are not a member of the account of this project.' : `Your role here is ${role}.`
    return { kind: 'refused', why: 'may-not-write', reason: `${reason} Ask an owner for the member role.` }
  }
  if (!channel.allow_unlinked) return unlinkedRefusal
  return asConnectingUser(deps, channel, author)
}

const unlinkedRefusal: ResolvedAuthor = {
  kind: 'refused',
  why: 'unlinked',
  reason: 'Your chat user is not linked to an account yet.',
}

export function linkOf(db: DbOrTransaction, channel: ChannelRow, author: ChatAuthor) {
  return linkedUser(db, {
    account_id: channel.account_id,
    platform: channel.platform,
    workspace_id: author.workspaceId,
    chat_user_id: author.userId,
  })
}

async function roleOf(db: DbOrTransaction, accountId: string, userId: string): Promise<Role | null> {
  return (await getMember(db, accountId, userId))?.role ?? null
}

/** Only full members of the workspace qualify: guests and members of other workspaces were invited by someone else. */
async function asConnectingUser(deps: AuthorDeps, channel: ChannelRow, author: ChatAuthor): Promise<ResolvedAuthor> {
  const host = channel.connected_by
  const role = host === null ? null : await roleOf(deps.db, channel.account_id, host)
  const opened = await credentialsOf(deps, channel)
  if (host === null || role === null || !mayWrite(role) || opened === null) return unlinkedRefusal
  const found = await platformOf(deps.config, channel.platform).person(opened.credentials, author.userId)
  switch (found.kind) {
    case 'unavailable':
      return { kind: 'unavailable', reason: found.reason }
    case 'unknown':
      return unlinkedRefusal
    case 'person': {
      const isOurs =
        found.isFullMember && [found.workspaceId, author.workspaceId].every((id) => id === channel.workspace_id)
      return isOurs ? { kind: 'unlinked', userId: host, name: found.name } : unlinkedRefusal
    }
    default:
      return found satisfies never
  }
}

/** A linked author acts as themselves. An unlinked one acts as a service on behalf of the user who connected the channel. */
export function callerFor(
  acting: { kind: 'linked' | 'unlinked'; userId: string },
  channel: ChannelRow,
  delivery: string,
): Caller<Exclude<Actor, { kind: 'project' | 'sandbox' }>> {
  const linked = linkedCaller(acting.userId, channel, delivery)
  if (acting.kind === 'linked') return linked
  return {
    ...linked,
    actor: { kind: 'service', user_id: acting.userId, project_id: channel.project_id, session_id: null },
  }
}

export function linkedCaller(userId: string, channel: ChannelRow, delivery: string): Caller<UserActor> {
  return {
    actor: userActor(userId),
    requestId: `${channel.platform} ${delivery}`,
    address: channel.platform,
  }
}
