import {
  checkConnectorRoute,
  decideConnectorApprovalRoute,
  getConnectorRoute,
  listConnectorApprovalsRoute,
  listConnectorsRoute,
  mcpGatewayPath,
  setConnectorPolicyRoute,
} from '@svc/contract'
import type { Actor } from '../auth/actor.ts'
import { isUuid, notFound } from '../auth/allow.ts'
import { controlledOf } from '../auth/session-control.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { Page } from '../http/page.ts'
import type { ProjectRow } from '../projects/store.ts'
import { decideApproval, presentApproval } from './calls/approvals.ts'
import { checkNow } from './check.ts'
import { setPolicies } from './tools/policy.ts'
import { callsOf, connectorIssues, connectorsOf } from './read.ts'
import { refreshConnectors } from './reconcile.ts'
import { listApprovals } from './calls/approval-store.ts'
import { getConnector } from './store.ts'

export function connectorRoutes(deps: Deps): Mounted[] {
  const shown = async (projectId: string, slug: string) => {
    const found = (await connectorsOf(deps, projectId)).find((one) => one.slug === slug)
    if (found === undefined) throw notFound('connector')
    return found
  }
  const find = async (project: ProjectRow, slug: string, signal: AbortSignal) => {
    await refreshConnectors(deps, project, signal)
    const row = await getConnector(deps.db, project.project_id, slug)
    if (row === null) throw notFound('connector')
    return row
  }
  /** Agents read only their own calls and approvals; users read all. */
  const controlledOnly = async <R extends { session_id: string | null }>(actor: Actor, rows: R[]): Promise<R[]> => {
    const isControlled = await controlledOf(
      deps.db,
      actor,
      rows.map((row) => row.session_id),
    )
    return rows.filter((row) => isControlled(row.session_id))
  }
  return [
    handle(listConnectorsRoute, async ({ project, request }) => {
      await refreshConnectors(deps, project, request.signal)
      const { project_id: projectId } = project
      const pending = await listApprovals(deps.db, { projectId, pendingAt: deps.now(), limit: 200 })
      return {
        connectors: await connectorsOf(deps, projectId),
        errors: await connectorIssues(deps, projectId),
        provider: deps.config.connectorProvider,
        gateway_url: `${deps.config.publicUrl}${mcpGatewayPath}`,
        approvals_pending: pending.rows.length,
      }
    }),
    handle(getConnectorRoute, async ({ project, params, caller, request }) => {
      const { slug } = await find(project, params.slug, request.signal)
      const calls = await controlledOnly(caller.actor, await callsOf(deps, project.project_id, slug))
      return { ...(await shown(project.project_id, slug)), calls }
    }),
    handle(checkConnectorRoute, async ({ project, params, caller, request }) => {
      const row = await find(project, params.slug, request.signal)
      await checkNow(deps, { project, row, caller, signal: request.signal })
      return shown(project.project_id, row.slug)
    }),
    handle(setConnectorPolicyRoute, async ({ project, params, caller, body, request }) => {
      const connector = await find(project, params.slug, request.signal)
      await setPolicies(deps, { ...body, project, caller, connector })
      return shown(project.project_id, connector.slug)
    }),
    handle(listConnectorApprovalsRoute, async ({ project, query, caller }) => {
      const { session_id: sessionId, limit } = query
      if (sessionId !== undefined && !isUuid(sessionId)) return { approvals: [] }
      const now = deps.now()
      const pendingAt = query.status === 'pending' ? now : null
      const of = { projectId: project.project_id, sessionId, pendingAt, limit, cursor: query.cursor }
      const { rows, next } = await listApprovals(deps.db, of)
      const controlled = await controlledOnly(caller.actor, rows)
      return new Page({ approvals: controlled.map((row) => presentApproval(row, now)) }, next)
    }),
    handle(decideConnectorApprovalRoute, async ({ project, params, caller, body }) => {
      const { decision, always = false } = body
      const row = await decideApproval(deps, { project, caller, approvalId: params.approvalId, decision, always })
      return presentApproval(row, deps.now())
    }),
  ]
}
