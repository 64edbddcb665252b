/** The user in whose name the sandboxes of a session act. Its creator, until a member goes on with it (docs/decisions/0072). */
import { ServiceError } from '@svc/contract'
import { getMember } from '../../accounts/store.ts'
import { recordAudit } from '../../audit/record.ts'
import { type Caller, mayWrite } from '../../auth/actor.ts'
import { endedMembership } from '../../auth/ended-membership.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import { auditOf } from '../audit.ts'
import { type SessionRow, updateSession } from '../store.ts'

type Acting = Pick<SessionRow, 'session_id' | 'project_id' | 'account_id' | 'created_by' | 'acts_for'>

export function actsFor(session: Pick<Acting, 'created_by' | 'acts_for'>): string | null {
  return session.acts_for ?? session.created_by
}

/** Throws for a user who is no member any more, whom the repository would refuse. */
export async function requireActing(db: DbOrTransaction, session: Acting): Promise<string> {
  const userId = actsFor(session)
  if (userId === null)
    throw new ServiceError('forbidden', 'The user who started this session no longer exists.', {
      hint: `A member goes on with it in their own name: svc sessions restart ${session.session_id}`,
    })
  if ((await getMember(db, session.account_id, userId)) === null)
    throw await endedMembership(db, { user_id: userId, session_id: session.session_id })
  return userId
}

/**
 * A caller with write access who starts a session again goes on with it, if the user it acted for has none any more. The
 * sandbox never gets more than that: its token has the rights of its user at every request. Needs a transaction that holds
 * the lock of the session.
 */
export async function goOnFor(trx: DbOrTransaction, session: Acting, caller: Caller): Promise<void> {
  const before = actsFor(session)
  const after = caller.actor.user_id
  if (before === after || (await canWrite(trx, session, before)) || !(await canWrite(trx, session, after))) return
  await updateSession(trx, session.session_id, { acts_for: after })
  await recordAudit(
    trx,
    caller,
    auditOf(session, 'take_over', { before: { acts_for: before }, after: { acts_for: after } }),
  )
}

async function canWrite(db: DbOrTransaction, { account_id }: Acting, userId: string | null): Promise<boolean> {
  const member = userId === null ? null : await getMember(db, account_id, userId)
  return member !== null && mayWrite(member.role)
}
