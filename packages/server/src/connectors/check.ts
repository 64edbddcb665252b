/** Lists the tools of connectors. A job does this, so that readers never wait. */
import { auditEvent, recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import { refuseUrl } from '../egress/web-address.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import { reasonOf } from './calls/call.ts'
import { credentialOf } from './remote/credential.ts'
import { httpTool } from './remote/http-tool.ts'
import { listRemoteTools } from './remote/mcp.ts'
import {
  claimDueConnector,
  type ConnectorRow,
  type KnownTool,
  nextCheckInMs,
  recordCheck,
  scheduleChangedSecrets,
} from './store.ts'
import { workOff } from '../work-off.ts'

type CheckDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'redaction' | 'log'>

type Found =
  | { kind: 'ready'; tools: KnownTool[] }
  | { kind: 'failed'; error: string; hint: string | null; isFinal: boolean }

const atOnce = 4
/** Doubles after each failure, up to an hour. */
const retrySeconds = 15
const retrySecondsMax = 3_600

/** The job. Returns in how many milliseconds a connector is due next. */
export async function checkDueConnectors(
  deps: CheckDeps,
  signal: AbortSignal,
  changed: ReadonlySet<string> | 'all' = 'all',
): Promise<number | null> {
  if (deps.config.connectorProvider === 'none') return null
  await scheduleChangedSecrets(deps.db, changed)
  await workOff({
    atOnce,
    signal,
    take: () => claimDueConnector(deps.db),
    async work(row) {
      const project = await getProject(deps.db, row.project_id)
      if (project !== null) await checkConnector(deps, project, row, signal)
    },
  })
  return nextCheckInMs(deps.db)
}

/** A check on request. */
export async function checkNow(
  deps: CheckDeps,
  input: { project: ProjectRow; row: ConnectorRow; caller: Caller; signal: AbortSignal },
): Promise<void> {
  const { project, row } = input
  if (deps.config.connectorProvider === 'mcp') await checkConnector(deps, project, row, input.signal)
  await recordAudit(deps.db, input.caller, auditEvent(project, 'connector.check', 'connector', row.slug))
}

/** A failing connector records its error and affects no other. */
export async function checkConnector(
  deps: CheckDeps,
  project: ProjectRow,
  row: ConnectorRow,
  signal: AbortSignal,
): Promise<void> {
  const found = await fetchTools(deps, project, row, signal)
  if (signal.aborted) return
  if (found.kind === 'ready')
    return recordCheck(deps.db, row, {
      status: 'ready',
      error: null,
      hint: null,
      tools: found.tools,
      nextSeconds: null,
    })
  const { error, hint } = found
  deps.log.info({ project_id: row.project_id, connector: row.slug, reason: error }, 'connector check failed')
  // A failure that only a user can fix is not retried. A changed secret or manifest schedules the next check.
  const nextSeconds = found.isFinal ? null : Math.min(retrySeconds * 2 ** Math.min(row.failures, 16), retrySecondsMax)
  await recordCheck(deps.db, row, { status: 'failed', error, hint, tools: null, nextSeconds })
}

async function fetchTools(
  deps: CheckDeps,
  project: ProjectRow,
  row: ConnectorRow,
  signal: AbortSignal,
): Promise<Found> {
  const { definition } = row
  const allowPrivate = deps.config.allowPrivateGitHosts
  const refusal = refuseUrl(new URL(definition.url), allowPrivate)
  if (refusal !== null)
    return { kind: 'failed', error: refusal, hint: 'Change its url in svc.toml with a change request.', isFinal: true }
  const credential = await credentialOf(deps, project, definition)
  if (credential.kind === 'missing') return { ...credential, kind: 'failed', isFinal: true }
  if (definition.type === 'http') return { kind: 'ready', tools: [httpTool(definition.url)] }
  const { headers, redact } = credential
  try {
    return {
      kind: 'ready',
      tools: await listRemoteTools({ url: definition.url, headers, allowPrivate, redact }, signal),
    }
  } catch (error) {
    return {
      kind: 'failed',
      error: capital(reasonOf(error, redact)),
      hint: `svc connectors check ${row.slug}`,
      isFinal: false,
    }
  }
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
