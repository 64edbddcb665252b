/** Branches that a git host does not let the service push to, found through the host's API or by its refusal. */
import { branchRules, type Remote } from '@svc/git'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import { deleteRows, findRow, upsertRow } from '../db/rows.ts'

export type Protection = Row<'protected_branches'>

export async function protectionOf(
  db: DbOrTransaction,
  { project_id, branch }: Pick<Protection, 'project_id' | 'branch'>,
): Promise<Protection | null> {
  return findRow(db, 'protected_branches', { project_id, branch })
}

export function recordProtection(db: DbOrTransaction, row: NewRow<'protected_branches'>): Promise<void> {
  return upsertRow(db, 'protected_branches', row, 'project_id', 'branch')
}

/** After a successful push, or with a new credential. */
export async function forgetProtection(
  db: DbOrTransaction,
  of: { project_id: string; branch?: string },
): Promise<void> {
  await deleteRows(db, 'protected_branches', of)
}

/** The protection that the host's API reports before the first push; null without such an API or an answer from it. */
export async function findProtection(remote: Remote, branch: string): Promise<string | null> {
  const { github } = remote
  return github === undefined ? null : branchRules({ ...remote, github }, branch)
}
