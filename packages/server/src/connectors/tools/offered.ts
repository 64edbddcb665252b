/** The tools of a project's connectors that agents can call: of working connectors, without blocked ones. */
import type { ConnectorPolicy } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { policyOf } from './policy.ts'
import { ownToolNames } from '../read.ts'
import { reconcileConnectors } from '../reconcile.ts'
import { decisionsOf, type KnownTool, listConnectors, refreshOlderThan } from '../store.ts'
import { nameTools } from './tool-names.ts'

const refreshAfterSeconds = 10 * 60
/** How long a list waits for the first check of a connector. */
const firstListMs = 5_000
const pollMs = 50

export async function offeredTools(
  deps: Pick<Deps, 'config' | 'db'>,
  projectId: string,
): Promise<{ offeredAs: string; slug: string; tool: KnownTool; policy: ConnectorPolicy }[]> {
  if (deps.config.connectorProvider === 'none') return []
  const rows = await listConnectors(deps.db, projectId)
  if (rows.length === 0) return []
  const decisions = await decisionsOf(deps.db, projectId)
  return nameTools(rows, ownToolNames).flatMap((named) => {
    const row = rows.find(({ slug }) => slug === named.slug)!
    const policy = policyOf(decisions, row, named.tool)
    return policy === 'block' ? [] : [{ ...named, policy }]
  })
}

/** Waits briefly for pending checks, because a starting runtime lists its tools only once. */
export async function refreshTools(deps: Pick<Deps, 'config' | 'db'>, projectId: string): Promise<void> {
  if (deps.config.connectorProvider === 'none') return
  await reconcileConnectors(deps, projectId)
  await refreshOlderThan(deps.db, projectId, refreshAfterSeconds)
  const until = Date.now() + firstListMs
  while (Date.now() < until) {
    const rows = await listConnectors(deps.db, projectId)
    if (rows.every(({ status }) => status !== 'unchecked')) return
    await Bun.sleep(pollMs)
  }
}
