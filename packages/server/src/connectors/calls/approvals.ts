/** Approvals: a call that needs one waits for the decision of a user. */
import {
  approvalOpenSeconds,
  approvalsPendingMax,
  approvalWaitSeconds,
  type ConnectorApproval,
  ServiceError,
} from '@svc/contract'
import { createHash } from 'node:crypto'
import { auditEvent, recordAudit } from '../../audit/record.ts'
import { boundSession, type Caller } from '../../auth/actor.ts'
import { isUuid, notFound } from '../../auth/allow.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { canonical } from '../tools/changed-tools.ts'
import { refuseAgent } from '../tools/policy.ts'
import { type ApprovalRow, consumeApproval, getApproval, openApproval, recordDecision } from './approval-store.ts'
import { type ConnectorRow, getConnector, setPolicy } from '../store.ts'

/** `unanswered`: the question stays open after the call stops waiting. */
type Permission = 'given' | 'denied' | 'too-many' | 'unanswered'

const pollMs = 500
/** The part of the arguments that users see. */
const argumentsBytesMax = 32 * 1024

export function presentApproval(row: ApprovalRow, now: Date): ConnectorApproval {
  const isLate = Date.parse(row.expires_at) <= now.getTime()
  const isOpen = row.status === 'pending' || row.status === 'approved'
  const { approval_id, session_id, slug, tool, decided_by, decided_at, created_at, expires_at } = row
  const decision = { decided_by, decided_at, created_at, expires_at }
  const shown = row.arguments as ConnectorApproval['arguments']
  const status = isOpen && isLate ? 'expired' : row.status
  return { approval_id, session_id, slug, tool, arguments: shown, status, ...decision }
}

/** Waits up to two minutes for a decision. An approval is valid once, for this call with these arguments. */
export async function requestApproval(
  deps: Pick<Deps, 'db' | 'now' | 'newId'>,
  call: {
    project: ProjectRow
    caller: Caller
    connector: ConnectorRow
    tool: string
    arguments: Record<string, unknown>
    /** The arguments as users may see them. */
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
  if (await consumeApproval(deps.db, same, began)) return 'given'
  const opened = await openApproval(
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
  if (opened === null) return 'too-many'
  const until = after(began, approvalWaitSeconds).getTime()
  while (!signal.aborted && deps.now().getTime() < until) {
    const row = await getApproval(deps.db, project.project_id, opened.approval_id)
    if (row === null || row.status === 'denied') return 'denied'
    // When two equal calls wait for one approval, one consumes it and the other asks again.
    if (row.status === 'approved' && (await consumeApproval(deps.db, same, deps.now()))) return 'given'
    if (row.status === 'used') return 'unanswered'
    await Bun.sleep(pollMs)
  }
  return 'unanswered'
}

export async function decideApproval(
  deps: Pick<Deps, 'db' | 'now'>,
  input: { project: ProjectRow; caller: Caller; approvalId: string; decision: 'approve' | 'deny'; always: boolean },
): Promise<ApprovalRow> {
  const { project, caller, decision } = input
  refuseAgent(caller)
  const found = isUuid(input.approvalId) ? await getApproval(deps.db, project.project_id, input.approvalId) : null
  if (found === null) throw notFound('approval')
  const now = deps.now()
  return deps.db.transaction().execute(async (trx) => {
    const row = await recordDecision(trx, found.approval_id, {
      status: decision === 'approve' ? 'approved' : 'denied',
      always: input.always,
      by: caller.actor.user_id,
      at: now,
      // The agent may have continued in the meantime: it has this long to repeat the call.
      expiresAt: after(now, approvalOpenSeconds),
    })
    if (row === null)
      throw new ServiceError('conflict', `This call is already ${presentApproval(found, now).status}.`, {
        hint: 'If the agent still needs it, it asks again.',
      })
    const connector = await getConnector(trx, project.project_id, row.slug)
    const isSame = connector !== null && connector.definition.url === row.url
    if (input.always && isSame) {
      const of = { project_id: project.project_id, slug: row.slug, tool: row.tool, url: row.url }
      await setPolicy(trx, of, decision === 'approve' ? 'allow' : 'block', caller.actor.user_id)
    }
    await recordAudit(trx, caller, {
      ...auditEvent(project, `connector.${decision}`, 'connector_tool', `${row.slug}/${row.tool}`),
      after: { approval_id: row.approval_id, session_id: row.session_id, always: input.always && isSame },
    })
    return row
  })
}

function cut(shown: Record<string, unknown>): Record<string, unknown> {
  const text = JSON.stringify(shown)
  if (Buffer.byteLength(text) <= argumentsBytesMax) return shown
  return { 'truncated arguments': text.slice(0, 8_000) }
}

const after = (from: Date, seconds: number) => new Date(from.getTime() + seconds * 1000)
