/** The policy of a tool: users set it; by default, read-only tools are allowed and others ask. */
import { type ConnectorPolicy, ServiceError } from '@svc/contract'
import { auditEvent, recordAudit } from '../../audit/record.ts'
import { boundSession, type Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { type ConnectorRow, type Decisions, everyTool, setPolicy } from '../store.ts'

export function policyOf(
  decisions: Decisions,
  { slug, definition }: Pick<ConnectorRow, 'slug' | 'definition'>,
  tool: { name: string; read_only: boolean },
): ConnectorPolicy {
  return (
    decisions.of(slug, definition.url, tool.name) ??
    decisions.of(slug, definition.url, everyTool) ??
    (tool.read_only ? 'allow' : 'ask')
  )
}

export function refuseAgent(caller: Caller): void {
  if (boundSession(caller.actor) !== null)
    throw new ServiceError('forbidden', 'Agents cannot change what agents may do.', {
      hint: 'Ask a user to run `svc connectors approvals`.',
    })
}

export async function setPolicies(
  deps: Pick<Deps, 'db'>,
  input: {
    project: ProjectRow
    caller: Caller
    connector: ConnectorRow
    policy?: ConnectorPolicy | null | undefined
    tools?: Record<string, ConnectorPolicy | null> | undefined
  },
): Promise<void> {
  const { project, caller, connector } = input
  refuseAgent(caller)
  const known = new Set(connector.tools.map(({ name }) => name))
  const unknown = Object.keys(input.tools ?? {}).filter((name) => !known.has(name) && input.tools?.[name] !== null)
  if (unknown.length > 0)
    throw new ServiceError('invalid', `The connector ${connector.slug} has no tool ${JSON.stringify(unknown[0])}.`, {
      hint: `svc connectors show ${connector.slug}`,
      detail: {
        issues: unknown.map((name) => ({ path: `tools.${name}`, message: 'is not a tool of this connector' })),
      },
    })
  const changes = { ...(input.policy === undefined ? {} : { [everyTool]: input.policy }), ...input.tools }
  const of = { project_id: project.project_id, slug: connector.slug, url: connector.definition.url }
  await deps.db.transaction().execute(async (trx) => {
    for (const [tool, policy] of Object.entries(changes))
      await setPolicy(trx, { ...of, tool }, policy, caller.actor.user_id)
    await recordAudit(trx, caller, {
      ...auditEvent(project, 'connector.policy', 'connector', connector.slug),
      after: { policy: input.policy, tools: input.tools },
    })
  })
}
