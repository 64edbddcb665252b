import { sql } from 'kysely'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'
import { deleteRows, findRow, firstRow, firstRows, insertRow, takeRow, updateRow } from '../../db/rows.ts'

export type LinkRow = Row<'channel_links'>

export function linkedUser(
  db: DbOrTransaction,
  who: Pick<LinkRow, 'account_id' | 'platform' | 'workspace_id' | 'chat_user_id'>,
): Promise<LinkRow | null> {
  return findRow(db, 'channel_links', who)
}

const linksShownMax = 500

export function linksOfUser(db: DbOrTransaction, userId: string): Promise<LinkRow[]> {
  return firstRows(db, 'channel_links', { user_id: userId }, linksShownMax, 'created_at desc')
}

export function linksOfWorkspace(
  db: DbOrTransaction,
  { account_id, platform, workspace_id }: Pick<LinkRow, 'account_id' | 'platform' | 'workspace_id'>,
): Promise<LinkRow[]> {
  const of = { account_id, platform, workspace_id }
  return firstRows(db, 'channel_links', of, linksShownMax, 'created_at desc')
}

/** Replaces the previous link of that chat user. */
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

export function deleteLink(db: DbOrTransaction, linkId: string, userId: string): Promise<LinkRow | null> {
  return takeRow(db, 'channel_links', { link_id: linkId, user_id: userId })
}

export function insertCode(db: DbOrTransaction, row: NewRow<'channel_link_codes'>): Promise<void> {
  return insertRow(db, 'channel_link_codes', row)
}

interface CodeUse {
  sha256: Buffer
  userId: string
  now: Date
}

/** Binds the code to the first user who opens it. Null when it is unknown, used, expired or bound to another user. */
export function claimCode(db: DbOrTransaction, use: CodeUse): Promise<Row<'channel_link_codes'> | null> {
  return updateRow(
    db,
    'channel_link_codes',
    { ...valid(use), user_id: sql`is null or user_id = ${use.userId}` },
    { user_id: use.userId },
  )
}

export function useCode(db: DbOrTransaction, use: CodeUse): Promise<Row<'channel_link_codes'> | null> {
  return updateRow(db, 'channel_link_codes', { ...valid(use), user_id: use.userId }, { used_at: use.now })
}

function valid({ sha256, now }: CodeUse) {
  return { sha256, used_at: null, expires_at: sql`> ${now}` }
}

/** The channel with the names of its project and account. Null unless the user is a member of the account. */
export async function channelOfMember(db: DbOrTransaction, channelId: string, userId: string) {
  return firstRow(
    db
      .selectFrom('channels')
      .innerJoin('projects', 'projects.project_id', 'channels.project_id')
      .innerJoin('accounts', 'accounts.account_id', 'channels.account_id')
      .innerJoin('account_members', 'account_members.account_id', 'channels.account_id')
      .select(['channels.platform', 'channels.workspace_name', 'channels.project_id', 'channels.account_id'])
      .select(['projects.name as project_name', 'accounts.name as account_name'])
      .where((eb) => eb.and({ 'channels.channel_id': channelId, 'account_members.user_id': userId })),
  )
}

export async function deleteOldCodes(db: DbOrTransaction, before: Date): Promise<void> {
  await deleteRows(db, 'channel_link_codes', { expires_at: sql`< ${before}` })
}
