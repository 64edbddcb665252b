/** All SQL on who in a workspace is who here. */
import type { ChannelLink } from '@svc/contract'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'

export type LinkRow = Row<'channel_links'>

export const presentLink = (row: LinkRow): ChannelLink => row

export async function linkedUser(
  db: DbOrTransaction,
  who: { accountId: string; platform: LinkRow['platform']; workspaceId: string; chatUserId: string },
): Promise<LinkRow | null> {
  return (
    (await db
      .selectFrom('channel_links')
      .selectAll()
      .where('account_id', '=', who.accountId)
      .where('platform', '=', who.platform)
      .where('workspace_id', '=', who.workspaceId)
      .where('chat_user_id', '=', who.chatUserId)
      .executeTakeFirst()) ?? null
  )
}

const linksShownMax = 500

export async function linksOfUser(db: DbOrTransaction, userId: string): Promise<LinkRow[]> {
  return db
    .selectFrom('channel_links')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at', 'desc')
    .limit(linksShownMax)
    .execute()
}

export async function linksOfWorkspace(
  db: DbOrTransaction,
  of: { accountId: string; platform: LinkRow['platform']; workspaceId: string },
): Promise<LinkRow[]> {
  return db
    .selectFrom('channel_links')
    .selectAll()
    .where('account_id', '=', of.accountId)
    .where('platform', '=', of.platform)
    .where('workspace_id', '=', of.workspaceId)
    .orderBy('created_at', 'desc')
    .limit(linksShownMax)
    .execute()
}

/** Whoever was linked to that chat user before is not any more. */
export async function upsertLink(db: DbOrTransaction, row: NewRow<'channel_links'>): Promise<LinkRow> {
  const { chat_user_name, workspace_name, user_id, link_id } = row
  return db
    .insertInto('channel_links')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'platform', 'workspace_id', 'chat_user_id'])
        .doUpdateSet({ chat_user_name, workspace_name, user_id, link_id, created_at: new Date() }),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function deleteLink(db: DbOrTransaction, linkId: string, userId: string): Promise<LinkRow | null> {
  return (
    (await db
      .deleteFrom('channel_links')
      .where('link_id', '=', linkId)
      .where('user_id', '=', userId)
      .returningAll()
      .executeTakeFirst()) ?? null
  )
}

export async function insertCode(db: DbOrTransaction, row: NewRow<'channel_link_codes'>): Promise<void> {
  await db.insertInto('channel_link_codes').values(row).execute()
}

/** Binds it to the first who opens it. Null: unknown, used, expired, or somebody else's. */
export async function claimCode(
  db: DbOrTransaction,
  input: { sha256: Buffer; userId: string; now: Date },
): Promise<Row<'channel_link_codes'> | null> {
  return (
    (await db
      .updateTable('channel_link_codes')
      .set({ user_id: input.userId })
      .where('sha256', '=', input.sha256)
      .where('used_at', 'is', null)
      .where('expires_at', '>', input.now.toISOString())
      .where(({ eb, or }) => or([eb('user_id', 'is', null), eb('user_id', '=', input.userId)]))
      .returningAll()
      .executeTakeFirst()) ?? null
  )
}

export async function useCode(
  db: DbOrTransaction,
  input: { sha256: Buffer; userId: string; now: Date },
): Promise<Row<'channel_link_codes'> | null> {
  return (
    (await db
      .updateTable('channel_link_codes')
      .set({ used_at: input.now })
      .where('sha256', '=', input.sha256)
      .where('user_id', '=', input.userId)
      .where('used_at', 'is', null)
      .where('expires_at', '>', input.now.toISOString())
      .returningAll()
      .executeTakeFirst()) ?? null
  )
}

export async function forgetOldCodes(db: DbOrTransaction, before: Date): Promise<void> {
  await db.deleteFrom('channel_link_codes').where('expires_at', '<', before.toISOString()).execute()
}
