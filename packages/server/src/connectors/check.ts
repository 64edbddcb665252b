/** Asking connectors for their tools: by a job, so that whoever lists them waits for nobody. */
import { recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import { refuseUrl } from '../egress/web-address.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import { reasonOf } from './call.ts'
import { credentialOf } from './credential.ts'
import { httpTool } from './http-tool.ts'
import { listRemoteTools } from './remote.ts'
import { type ConnectorRow, dueAfterSecrets, type KnownTool, recordCheck, takeDueConnector } from './store.ts'

type CheckDeps = Pick<Deps, 'config' | 'db' | 'keyring' | 'redaction' | 'log'>

type Found =
  | { kind: 'ready'; tools: KnownTool[] }
  | { kind: 'failed'; error: string; hint: string | null; isFinal: boolean }

const atOnce = 4
/** After each failure twice as long, up to an hour. */
const againSeconds = 15
const againSecondsMax = 3_600

export async function checkDueConnectors(deps: CheckDeps, signal: AbortSignal): Promise<void> {
  if (deps.config.connectorProvider === 'none') return
  await dueAfterSecrets(deps.db)
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let row = await takeDueConnector(deps.db); row !== null; row = await takeDueConnector(deps.db)) {
        const project = await getProject(deps.db, row.project_id)
        if (project !== null) await checkConnector(deps, project, row, signal)
        if (signal.aborted) return
      }
    }),
  )
}

/** Because somebody asked. */
export async function checkNow(
  deps: CheckDeps,
  input: { project: ProjectRow; row: ConnectorRow; caller: Caller; signal: AbortSignal },
): Promise<void> {
  const { project, row } = input
  if (deps.config.connectorProvider === 'mcp') await checkConnector(deps, project, row, input.signal)
  await recordAudit(deps.db, input.caller, {
    account_id: project.account_id,
    project_id: project.project_id,
    action: 'connector.check',
    object_type: 'connector',
    object_id: row.slug,
  })
}

/** A connector that fails says why, and is in nobody's way. */
export async function checkConnector(
  deps: CheckDeps,
  project: ProjectRow,
  row: ConnectorRow,
  signal: AbortSignal,
): Promise<void> {
  const found = await ask(deps, project, row, signal)
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
  deps.log.info({ project_id: row.project_id, connector: row.slug, reason: error }, 'a connector has no tools')
  // What only a person can change is not tried again by itself: a changed secret or manifest makes it due.
  const nextSeconds = found.isFinal ? null : Math.min(againSeconds * 2 ** Math.min(row.failures, 16), againSecondsMax)
  await recordCheck(deps.db, row, { status: 'failed', error, hint, tools: null, nextSeconds })
}

async function ask(deps: CheckDeps, project: ProjectRow, row: ConnectorRow, signal: AbortSignal): Promise<Found> {
  const { definition } = row
  const allowPrivate = deps.config.allowPrivateGitHosts
  const refusal = refuseUrl(new URL(definition.url), allowPrivate)
  if (refusal !== null)
    return { kind: 'failed', error: refusal, hint: 'Change its url in svc.toml, by a change request.', isFinal: true }
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
