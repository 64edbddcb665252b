/** SQL on the viewed files, drafts, visits and order of files of one person, and on the versions of a change request. */
import { type FileOrder, type ReviewState, reviewCommentsMax, ServiceError, viewedFilesMax } from '@svc/contract'
import { sql } from 'kysely'
import { deleteRows, findRow, firstRows, listRows, upsertRow } from '../../db/rows.ts'
import type { DbOrTransaction } from '../../db/schema.ts'

export interface Person {
  crId: string
  userId: string
}

const ofPerson = ({ crId, userId }: Person) => ({ cr_id: crId, user_id: userId })

export async function reviewState(db: DbOrTransaction, person: Person): Promise<ReviewState> {
  const [viewed, drafts, visit, settings] = await Promise.all([
    listRows(db, 'review_viewed_files', ofPerson(person)),
    listRows(db, 'review_drafts', ofPerson(person), 'created_at', 'draft_id'),
    findRow(db, 'review_visits', ofPerson(person)),
    findRow(db, 'review_settings', { user_id: person.userId }),
  ])
  return {
    viewed: Object.fromEntries(viewed.map(({ path, version }) => [path, version])),
    drafts: drafts.map(({ draft_id, comment }) => ({ draft_id, ...comment })),
    visit: visit && { head_sha: visit.head_sha, visited_at: visit.visited_at },
    earlier_visit:
      visit === null || visit.earlier_head_sha === null || visit.earlier_visited_at === null
        ? null
        : { head_sha: visit.earlier_head_sha, visited_at: visit.earlier_visited_at },
    file_order: settings?.file_order ?? null,
  }
}

/** Locks what one person has in one change request until the transaction ends, so that its limits hold. */
export async function lockState(trx: DbOrTransaction, { crId, userId }: Person): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`review state ${crId} ${userId}`}, 0))`.execute(trx)
}

/** Null takes the mark away. */
export async function markViewed(trx: DbOrTransaction, person: Person, viewed: Record<string, string | null>) {
  const all = Object.entries(viewed)
  const gone = all.flatMap(([path, version]) => (version === null ? [path] : []))
  if (gone.length > 0) await deleteRows(trx, 'review_viewed_files', { ...ofPerson(person), path: gone })
  for (const [path, version] of all)
    if (version !== null)
      await upsertRow(trx, 'review_viewed_files', { ...ofPerson(person), path, version }, 'cr_id', 'user_id', 'path')
  await requireAtMost(viewedFilesMax, 'viewed files', () =>
    firstRows(trx, 'review_viewed_files', ofPerson(person), viewedFilesMax + 1),
  )
}

/** Null deletes the draft. */
export async function putDrafts(
  trx: DbOrTransaction,
  person: Person,
  drafts: Record<string, object | null>,
): Promise<void> {
  const all = Object.entries(drafts)
  const gone = all.flatMap(([id, comment]) => (comment === null ? [id] : []))
  await deleteDrafts(trx, person, gone)
  for (const [draft_id, comment] of all)
    if (comment !== null) {
      const row = { ...ofPerson(person), draft_id, comment: JSON.stringify(comment) }
      await upsertRow(trx, 'review_drafts', row, 'cr_id', 'user_id', 'draft_id')
    }
  await requireAtMost(reviewCommentsMax, 'drafts', () =>
    firstRows(trx, 'review_drafts', ofPerson(person), reviewCommentsMax + 1),
  )
}

export async function deleteDrafts(trx: DbOrTransaction, person: Person, draftIds: string[]): Promise<void> {
  if (draftIds.length > 0) await deleteRows(trx, 'review_drafts', { ...ofPerson(person), draft_id: draftIds })
}

async function requireAtMost(max: number, what: string, read: () => Promise<unknown[]>): Promise<void> {
  if ((await read()).length > max)
    throw new ServiceError('limit_reached', `You have more than ${max} ${what} in this change request.`, {
      hint: 'Take some away first.',
    })
}

/** The head before becomes the earlier one. The same head again changes nothing. */
export async function recordVisit(trx: DbOrTransaction, person: Person, visit: { headSha: string; at: Date }) {
  const before = await findRow(trx, 'review_visits', ofPerson(person))
  if (before?.head_sha === visit.headSha) return
  const row = {
    ...{ head_sha: visit.headSha, visited_at: visit.at },
    ...{ earlier_head_sha: before?.head_sha ?? null, earlier_visited_at: before?.visited_at ?? null },
  }
  await upsertRow(trx, 'review_visits', { ...ofPerson(person), ...row }, 'cr_id', 'user_id')
}

/** Applies to every change request. */
export async function chooseFileOrder(trx: DbOrTransaction, { userId }: Person, fileOrder: FileOrder): Promise<void> {
  await upsertRow(trx, 'review_settings', { user_id: userId, file_order: fileOrder }, 'user_id')
}

/** Oldest first. */
export function versionsOf(db: DbOrTransaction, crId: string) {
  return listRows(db, 'change_request_versions', { cr_id: crId }, 'number')
}
