import { type Role, ServiceError } from '@svc/contract'
import type { DbOrTransaction } from '../db/schema.ts'
import { nameOfUser } from './token-store.ts'

/** The refusal of a sandbox whose user may no longer do this. Its readers are other people than that user. */
export async function endedMembership(
  db: DbOrTransaction,
  of: { user_id: string; session_id: string; role?: Role | null },
): Promise<ServiceError> {
  const name = await nameOfUser(db, of.user_id)
  const why = of.role ? `whose role here is ${of.role}` : 'who is no longer a member of the account of this project'
  return new ServiceError('forbidden', `This session acts for ${name}, ${why}.`, {
    hint: `A member goes on with it in their own name: svc sessions restart ${of.session_id}`,
  })
}
