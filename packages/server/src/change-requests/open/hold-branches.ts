import type { DbOrTransaction } from '../../db/schema.ts'
import { branchIsLeaving } from '../../projects/branch-deletion.ts'
import { holdBranches } from '../../sessions/create/branch-store.ts'
import type { ChangeRequestRow } from '../store.ts'

/** Keeps the branches of a change request from being deleted as merged before it is open. */
export async function holdBranchesOf(
  trx: DbOrTransaction,
  { project_id, head_ref, base_ref }: Pick<ChangeRequestRow, 'project_id' | 'head_ref' | 'base_ref'>,
): Promise<void> {
  if (!(await holdBranches(trx, { projectId: project_id, branches: [head_ref, base_ref] }))) return
  throw branchIsLeaving('The server is deleting a branch of this change request, which was merged.')
}
