import type { Connector, ConnectorCall, ManifestIssue } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { getDefaultBranch } from '../projects/default-branch.ts'
import { policyOf } from './tools/policy.ts'
import { type ConnectorRow, type Decisions, decisionsOf, everyTool, listConnectors, newestCalls } from './store.ts'
import { nameTools } from './tools/tool-names.ts'

/** Reserved for the gateway's own tools. */
export const ownToolNames = [
  'open_change_request',
  'show_change_request',
  'list_change_requests',
  'show_checks',
  'list_secret_names',
  'list_sessions',
  'show_session',
  'list_triggers',
  'fire_trigger',
  'list_connectors',
  'call_connector',
]

export async function connectorsOf(deps: Pick<Deps, 'config' | 'db'>, projectId: string): Promise<Connector[]> {
  const rows = await listConnectors(deps.db, projectId)
  const decisions = await decisionsOf(deps.db, projectId)
  const names = nameTools(rows, ownToolNames)
  return rows.map((row) =>
    present(
      deps,
      row,
      decisions,
      (tool) => names.find((one) => one.slug === row.slug && one.tool.name === tool)!.offeredAs,
    ),
  )
}

function present(
  deps: Pick<Deps, 'config'>,
  row: ConnectorRow,
  decisions: Decisions,
  offeredAs: (tool: string) => string,
): Connector {
  const { definition } = row
  const isOff = deps.config.connectorProvider === 'none'
  return {
    slug: row.slug,
    type: definition.type,
    url: definition.url,
    auth: definition.auth,
    status: isOff ? 'off' : row.status,
    error: isOff ? 'The operator of this server turned connectors off.' : row.error,
    hint: isOff ? 'svc self-host configure, or SVC_CONNECTOR_PROVIDER=mcp' : row.hint,
    checked_at: row.checked_at,
    policy: decisions.of(row.slug, definition.url, everyTool),
    tools: isOff
      ? []
      : row.tools.map((tool) => ({
          name: tool.name,
          offered_as: offeredAs(tool.name),
          description: tool.description,
          read_only: tool.read_only,
          policy: policyOf(decisions, row, tool),
          decided: decisions.of(row.slug, definition.url, tool.name),
        })),
  }
}

export async function connectorIssues(deps: Pick<Deps, 'db'>, projectId: string): Promise<ManifestIssue[]> {
  const seen = await getDefaultBranch(deps.db, projectId)
  return (seen?.issues ?? []).filter(({ path }) => path === '' || /^connectors(\.|$)/.test(path))
}

const callsShown = 50

export async function callsOf(deps: Pick<Deps, 'db'>, projectId: string, slug: string): Promise<ConnectorCall[]> {
  const rows = await newestCalls(deps.db, projectId, slug, callsShown)
  return rows.map(({ at, session_id, object_id, after }) => {
    const facts = after as Pick<ConnectorCall, 'outcome' | 'ms' | 'arguments'>
    return { at, session_id, tool: object_id.slice(slug.length + 1), ...facts }
  })
}
