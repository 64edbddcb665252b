/** One attempt of a refresh: reads the default branch, applies its changes and returns the outcome. */
import { defaultEgress, type ManifestIssue, ServiceError, type SessionRefresh } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { getDefaultBranch, detectDefaultBranch } from '../../projects/default-branch.ts'
import { openRepository } from '../../projects/repository.ts'
import { getProject, type ProjectRow } from '../../projects/store.ts'
import { secretsForSandbox } from '../../secrets/for-sandbox.ts'
import { baseTip } from '../create/branch.ts'
import { type DaemonAddress, refreshSandbox, sendEnv } from '../../sandboxes/daemon-client.ts'
import type { SessionWithSandbox } from '../store.ts'
import { changesBetween, type InForce } from './in-force.ts'
import { inForceAt } from './runtime-files.ts'
import { inForceOf } from '../../sandboxes/store.ts'

type AttemptDeps = Pick<Deps, 'config' | 'db' | 'egress' | 'sessions' | 'keyring' | 'log' | 'now' | 'redaction'>

export interface Outcome {
  status: SessionRefresh['status']
  /** The repository cannot be read, so the refresh is retried after a pause. */
  isUnavailable?: boolean
  applied: string[]
  needsRestart?: string[]
  /** Null keeps the stored value. */
  inForce: InForce | null
  error: string | null
}

interface Input {
  session: SessionWithSandbox
  requested: SessionRefresh
  daemon: DaemonAddress
  /** The agent is busy, so its runtime must not restart. */
  isBusy: boolean
  unread: ServiceError | null
}

/** Updates the default branch before an attempt. Returns the error when it cannot be read. */
export async function readDefaultBranch(deps: AttemptDeps, project: ProjectRow): Promise<ServiceError | null> {
  try {
    const { sha, branch } = await detectDefaultBranch(deps, project)
    // Throws the error for a missing branch, which has a hint.
    if (sha === null) await baseTip(await openRepository(deps, project), branch)
    return null
  } catch (error) {
    if (error instanceof ServiceError) return error
    throw error
  }
}

export async function attempt(
  deps: AttemptDeps,
  { session, requested, daemon, isBusy, unread }: Input,
): Promise<Outcome | null> {
  const project = await getProject(deps.db, session.project_id)
  const before = await inForceOf(deps.db, session)
  if (project === null || session.sandbox === null) return null
  const isRequested = requested.cause === 'request'
  const branch = await getDefaultBranch(deps.db, project.project_id)
  if (unread !== null) return unreadable(requested, unread)
  if (branch?.sha == null) return null
  // Records the commit, so that only a request or another move retries.
  const seen = before === null ? null : { ...before, commit: branch.sha }
  const broken = manifestError(branch.issues)
  if (broken !== null) return { status: 'failed', applied: requested.applied, inForce: seen, error: broken }

  let now: InForce
  try {
    now = await inForceAt(await openRepository(deps, project), branch.sha, branch.manifest)
  } catch (error) {
    if (error instanceof ServiceError) return unreadable(requested, error)
    throw error
  }
  const changes = before === null ? null : changesBetween(before, now)
  // Keeps the settings that the sandbox was made with, so that later refreshes also report the difference.
  const inForce = { ...now, made_with: before?.made_with ?? now.made_with }
  const needsRestart = changes?.needsRestart ?? []
  deps.egress.allow(session.sandbox.sandbox_id, branch.manifest.sandbox.egress ?? defaultEgress)
  const inPlace = { ...(seen ?? inForce), egress: now.egress, idle_minutes: now.idle_minutes }
  const appliedInPlace = [...new Set([...requested.applied, ...(changes?.inPlace ?? [])])]
  const needsRuntime = isRequested || changes === null || changes.forRuntime.length > 0
  if (isBusy && needsRuntime) return { status: 'waiting', applied: appliedInPlace, inForce: inPlace, error: null }

  const failed = (reason: string): Outcome => ({
    status: 'failed',
    applied: appliedInPlace,
    inForce: inPlace,
    error: `The refresh failed: ${reason} Try again, or restart the session.`,
  })
  const { env, names } = await secretsForSandbox(deps, project, branch.manifest, session.session_id)
  const sent = await sendEnv(daemon, { revision: String(project.secrets_revision), env, names })
  if (sent.kind === 'unavailable') return failed(sent.reason)
  const applied = [...(changes?.forRuntime ?? []), ...appliedInPlace]
  const done: Outcome = { status: 'done', applied, needsRestart, inForce, error: null }
  if (!needsRuntime) return done

  const outcome = await refreshSandbox(daemon, { config_dir: now.config_dir })
  await deps.sessions.followerOf(session.session_id)?.runtimeRestarted()
  if (outcome.kind === 'unavailable') return failed(outcome.reason)
  if (outcome.kind === 'ok') {
    const { before: from, after: to } = outcome.value
    return from === to ? done : { ...done, applied: [...applied, 'branch'] }
  }
  // The runtime is restarting, so the refresh waits for it.
  if (outcome.code === 'runtime_booting') return null
  if (outcome.code === 'not_fast_forward') return { ...done, error: outcome.reason }
  return failed(outcome.reason)
}

function unreadable({ cause, applied }: SessionRefresh, error: ServiceError): Outcome {
  const isUnavailable = error.code !== 'ref_not_found'
  // A request needs a result now. A refresh for a moved branch waits until the host is available.
  const status = isUnavailable && cause === 'default_branch' ? 'waiting' : 'failed'
  return { status, isUnavailable, applied, inForce: null, error: error.message }
}

/** The error that keeps the manifest from being applied, or null. Defaults would replace its invalid parts. */
export function manifestError(issues: ManifestIssue[]): string | null {
  const issue = issues.find(({ severity }) => severity === 'error')
  if (issue === undefined) return null
  const line = issue.line === null ? '' : `, line ${issue.line}`
  const what = issue.path === '' ? 'the file' : issue.path
  return `svc.toml of the default branch has an error${line}: ${what} ${issue.message}. The session keeps its current settings until the error is fixed.`
}
