import type { Session } from '@svc/contract'
import type { Actor } from '../auth/actor.ts'
import { controls } from '../auth/session-control.ts'
import type { Config } from '../config.ts'
import { actsFor } from './lifecycle/acts-for.ts'
import { type ListedSession, liveStatuses, type SessionWithSandbox } from './store.ts'

/** A session in a list. A reader without control of it sees no task, URL, errors or metadata. */
export function presentInList(
  config: Pick<Config, 'publicUrl'>,
  actor: Actor,
  row: ListedSession,
  include?: 'activity',
): Session {
  const shown = { ...presentSession(config, row, include), task: row.task === null ? null : taskOf(row.task) }
  return controls(actor, row)
    ? shown
    : {
        ...{ ...shown, task: null, sandbox_url: null, error: null, sandbox_ended: null },
        ...{ last_turn_error: null, refresh: null, metadata: {} },
      }
}

const taskCharsMax = 200

/** The first line of a prompt that says something; null when none does. */
export function taskOf(prompt: string): string | null {
  const [line = ''] = prompt.trim().split(/\r?\n/)
  const text = line.trim()
  return text.length <= taskCharsMax ? text || null : `${text.slice(0, taskCharsMax - 1).toWellFormed()}…`
}

export function presentSession(
  config: Pick<Config, 'publicUrl'>,
  row: SessionWithSandbox,
  include?: 'activity',
): Session {
  return {
    session_id: row.session_id,
    account_id: row.account_id,
    project_id: row.project_id,
    name: row.name,
    branch_name: row.branch_name,
    base_ref: row.base_ref,
    agent_name: row.agent_name,
    model: row.model,
    status: row.status,
    error: errorOf(row),
    last_turn_error: row.last_turn_error,
    sandbox_url: sandboxUrl(config, row),
    sandbox: row.sandbox,
    created_by: row.created_by,
    acts_for: actsFor(row),
    parent_session_id: row.parent_session_id,
    continues:
      row.continues_session_id === null
        ? null
        : { session_id: row.continues_session_id, message_id: row.continues_message_id },
    metadata: row.metadata as Session['metadata'],
    created_at: row.created_at,
    updated_at: row.updated_at,
    last_active_at: row.last_active_at,
    ...(include === 'activity' ? { is_busy: row.is_busy } : {}),
    refresh: row.refresh,
    waiting_for: row.is_waiting ? 'person' : null,
    asleep_since: row.status === 'running' ? row.asleep_since : null,
    sandbox_ended: row.sandbox_ended,
    transcript_deleted_at: row.transcript_deleted_at,
    branch_deleted_at: row.branch_deleted_at,
  }
}

/** Why the session ended does not hide that its last changes are not saved. */
export function errorOf({ error, unkept_work }: Pick<SessionWithSandbox, 'error' | 'unkept_work'>): string | null {
  return [error, unkept_work].filter((reason) => reason !== null).join(' ') || null
}

/** Available from the beginning of a start, because the id of the next sandbox is reserved. */
function sandboxUrl({ publicUrl }: Pick<Config, 'publicUrl'>, row: SessionWithSandbox): string | null {
  const { sandbox, next_sandbox_id: nextId } = row
  const isAlive = sandbox === null || sandbox.status === 'active' || sandbox.status === 'provisioning'
  if (!isAlive || !liveStatuses.includes(row.status)) return null
  return `${publicUrl}/v1/sandboxes/${sandbox?.sandbox_id ?? nextId}`
}
