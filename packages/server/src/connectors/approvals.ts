/** Calls that wait for a person: the question, the wait, and the answer. */
import {
  approvalOpenSeconds,
  approvalsPendingMax,
  approvalWaitSeconds,
  type ConnectorApproval,
  ServiceError,
} from '@svc/contract'
import { createHash } from 'node:crypto'
import { recordAudit } from '../audit/record.ts'
import { boundSession, type Caller } from '../auth/actor.ts'
import { isUuid, notFound } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { canonical } from './changed-tools.ts'
import { refuseAgent } from './policy.ts'
import {
  type ApprovalRow,
  type ConnectorRow,
  decideApproval,
  getApproval,
  getConnector,
  openApproval,
  setPolicy,
  useApproval,
} from './store.ts'

export type Permission =
  | { kind: 'given' }
  | { kind: 'denied' }
  | { kind: 'too-many' }
  /** Nobody answered while the call waited; the question stays open. */
  | { kind: 'unanswered' }

const lookEveryMs = 500
/** What a person is shown of a call. */
const argumentsBytesMax = 32 * 1024

export function presentApproval(row: ApprovalRow, now: Date): ConnectorApproval {
  const isLate = Date.parse(row.expires_at) <= now.getTime()
  const isOpen = row.status === 'pending' || row.status === 'approved'
  return {
    approval_id: row.approval_id,
    session_id: row.session_id,
    slug: row.slug,
    tool: row.tool,
    arguments: row.arguments as ConnectorApproval['arguments'],
    status: isOpen && isLate ? 'expired' : row.status,
    decided_by: row.decided_by,
    decided_at: row.decided_at,
    created_at: row.created_at,
    expires_at: row.expires_at,
  }
}

/** Waits for a person, for two minutes at most. What was approved is this call with these arguments, once. */
export async function askPermission(
  deps: Pick<Deps, 'db' | 'now' | 'newId'>,
  call: {
    project: ProjectRow
    caller: Caller
    connector: ConnectorRow
    tool: string
    arguments: Record<string, unknown>
    /** The same, as a person may see them. */
    shown: Record<string, unknown>
    signal: AbortSignal
  },
): Promise<Permission> {
  const { project, caller, connector, signal } = call
  const same = {
    project_id: project.project_id,
    session_id: boundSession(caller.actor),
    slug: connector.slug,
    tool: call.tool,
    url: connector.definition.url,
    arguments_sha256: createHash('sha256').update(canonical(call.arguments)).digest(),
  }
  const began = deps.now()
  if (await useApproval(deps.db, same, began)) return { kind: 'given' }
  const asked = await openApproval(
    deps.db,
    {
      ...same,
      approval_id: deps.newId(),
      arguments: JSON.stringify(cut(call.shown)),
      requested_by: caller.actor.user_id,
      decided_by: null,
      decided_at: null,
      created_at: began,
      expires_at: after(began, approvalOpenSeconds),
    },
    { now: began, max: approvalsPendingMax },
  )
  if (asked === null) return { kind: 'too-many' }
  const until = after(began, approvalWaitSeconds).getTime()
  while (!signal.aborted && deps.now().getTime() < until) {
    const row = await getApproval(deps.db, project.project_id, asked.approval_id)
    if (row === null || row.status === 'denied') return { kind: 'denied' }
    // Of two that wait for the same answer, one takes it, and the other asks anew.
    if (row.status === 'approved' && (await useApproval(deps.db, same, deps.now()))) return { kind: 'given' }
    if (row.status === 'used') return { kind: 'unanswered' }
    await Bun.sleep(lookEveryMs)
  }
  return { kind: 'unanswered' }
}

export async function decide(
  deps: Pick<Deps, 'db' | 'now'>,
  input: { project: ProjectRow; caller: Caller; approvalId: string; decision: 'approve' | 'deny'; always: boolean },
): Promise<ApprovalRow> {
  const { project, caller, decision } = input
  refuseAgent(caller)
  const found = isUuid(input.approvalId) ? await getApproval(deps.db, project.project_id, input.approvalId) : null
  if (found === null) throw notFound('approval')
  const now = deps.now()
  return deps.db.transaction().execute(async (trx) => {
    const row = await decideApproval(trx, found.approval_id, {
      status: decision === 'approve' ? 'approved' : 'denied',
      always: input.always,
      by: caller.actor.user_id,
      at: now,
      // The agent may have gone on meanwhile: it has this long to come back for it.
      expiresAt: after(now, approvalOpenSeconds),
    })
    if (row === null)
      throw new ServiceError('conflict', `This call is ${presentApproval(found, now).status} already.`, {
        hint: 'If the agent still wants it, it asks again.',
      })
    const connector = await getConnector(trx, project.project_id, row.slug)
    const isSame = connector !== null && connector.definition.url === row.url
    if (input.always && isSame) {
      const of = { project_id: project.project_id, slug: row.slug, tool: row.tool, url: row.url }
      await setPolicy(trx, of, decision === 'approve' ? 'allow' : 'block', caller.actor.user_id)
    }
    await recordAudit(trx, caller, {
      account_id: project.account_id,
      project_id: project.project_id,
      action: `connector.${decision}`,
      object_type: 'connector_tool',
      object_id: `${row.slug}/${row.tool}`,
      after: { approval_id: row.approval_id, session_id: row.session_id, always: input.always && isSame },
    })
    return row
  })
}

function cut(shown: Record<string, unknown>): Record<string, unknown> {
  const text = JSON.stringify(shown)
  if (Buffer.byteLength(text) <= argumentsBytesMax) return shown
  return { 'too long to be shown whole': text.slice(0, 8_000) }
}

const after = (from: Date, seconds: number) => new Date(from.getTime() + seconds * 1000)
