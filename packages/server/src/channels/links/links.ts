/** Links a chat user to a user: the app sends a code to the chat user, who opens it while signed in and confirms. */
import { linkCodeMinutes, ServiceError } from '@svc/contract'
import { getUser } from '../../accounts/store.ts'
import { auditEvent, recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import { isUuid, notFound } from '../../auth/allow.ts'
import { sha256 } from '../../auth/credentials.ts'
import { refuseExpiringToken } from '../../auth/fresh-sign-in.ts'
import type { Deps } from '../../deps.ts'
import type { DbOrTransaction, Row } from '../../db/schema.ts'
import { channelOfMember, claimCode, deleteLink, insertCode, type LinkRow, upsertLink, useCode } from './link-store.ts'
import type { ChannelRow } from '../store.ts'

/** Stores only a hash of the code. */
export async function makeLinkCode(
  deps: Pick<Deps, 'db' | 'now' | 'randomBytes'>,
  channel: ChannelRow,
  who: { workspaceId: string; chatUserId: string; name: string; email: string | null },
): Promise<string> {
  const code = Buffer.from(deps.randomBytes(18)).toString('base64url')
  await insertCode(deps.db, {
    sha256: sha256(code),
    channel_id: channel.channel_id,
    workspace_id: who.workspaceId,
    chat_user_id: who.chatUserId,
    chat_user_name: who.name,
    chat_user_email: who.email,
    user_id: null,
    expires_at: new Date(deps.now().getTime() + linkCodeMinutes * 60_000),
    used_at: null,
  })
  return code
}

type LinkDeps = Pick<Deps, 'db' | 'now' | 'newId'>

/** Returns the link that the code would make, and binds the code to this caller: a leaked code is then useless to anyone else. */
export async function claimLinkCode(deps: LinkDeps, input: { code: string; caller: Caller }) {
  const userId = input.caller.actor.user_id
  return deps.db.transaction().execute(async (trx) => {
    const code = await claimCode(trx, { sha256: sha256(input.code), userId, now: deps.now() })
    if (code === null) throw unknownCode()
    const place = await placeOf(trx, code, userId)
    const user = await getUser(trx, userId)
    await recordAudit(trx, input.caller, {
      ...auditEvent(place, 'channel_link.claim', 'channel_link', code.chat_user_id),
      after: { workspace_name: place.workspace_name, chat_user_name: code.chat_user_name },
    })
    return {
      platform: place.platform,
      workspace_name: place.workspace_name,
      chat_user_id: code.chat_user_id,
      chat_user_name: code.chat_user_name,
      chat_user_email: code.chat_user_email,
      project_id: place.project_id,
      project_name: place.project_name,
      account_name: place.account_name,
      user_name: user.name,
      user_email: user.email,
      expires_at: code.expires_at,
    }
  })
}

export async function linkChatUser(deps: LinkDeps, input: { code: string; caller: Caller }): Promise<LinkRow> {
  const userId = input.caller.actor.user_id
  refuseExpiringToken(input.caller.actor, 'the link to a chat user')
  return deps.db.transaction().execute(async (trx) => {
    const code = await useCode(trx, { sha256: sha256(input.code), userId, now: deps.now() })
    if (code === null) throw unknownCode()
    const place = await placeOf(trx, code, userId)
    const link = await upsertLink(trx, {
      link_id: deps.newId(),
      account_id: place.account_id,
      platform: place.platform,
      workspace_id: code.workspace_id,
      workspace_name: place.workspace_name,
      chat_user_id: code.chat_user_id,
      chat_user_name: code.chat_user_name,
      user_id: userId,
    })
    await recordAudit(trx, input.caller, {
      ...auditEvent(place, 'channel_link.create', 'channel_link', link.link_id),
      after: {
        workspace_name: link.workspace_name,
        chat_user_id: link.chat_user_id,
        chat_user_name: link.chat_user_name,
      },
    })
    return link
  })
}

export async function unlinkChatUser(deps: Pick<Deps, 'db'>, input: { linkId: string; caller: Caller }): Promise<void> {
  await deps.db.transaction().execute(async (trx) => {
    const gone = isUuid(input.linkId) ? await deleteLink(trx, input.linkId, input.caller.actor.user_id) : null
    if (gone === null) throw notFound('link')
    await recordAudit(trx, input.caller, {
      ...auditEvent({ account_id: gone.account_id }, 'channel_link.delete', 'channel_link', gone.link_id),
      before: { workspace_name: gone.workspace_name, chat_user_id: gone.chat_user_id },
    })
  })
}

/** Only members of the account benefit from a link, so others get none. */
async function placeOf(db: DbOrTransaction, code: Row<'channel_link_codes'>, userId: string) {
  const place = await channelOfMember(db, code.channel_id, userId)
  if (place === null)
    throw new ServiceError('forbidden', 'You are not a member of the account this chat belongs to.', {
      hint: 'Sign in as a member, or ask an owner of the account to invite you.',
    })
  return place
}

function unknownCode(): ServiceError {
  return new ServiceError('not_found', 'This code is unknown, used, expired or opened by another user.', {
    hint: `Codes expire after ${linkCodeMinutes} minutes. Mention the app in the channel and write "link" to get another.`,
  })
}
