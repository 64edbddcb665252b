import { sizeText } from '@svc/contract'
import { type Finding, good, missing, weak } from '@svc/sandbox'
import { type ConnectionLimit, connectionLimits, connectionsMost, limitSetting } from '../db/allowed-connections.ts'
import { NewerDatabaseError, requireKnown } from '../db/migrate.ts'
import type { Db } from '../db/schema.ts'
import { readFigures } from '../metrics/figure-queries.ts'
import { databaseState, type DatabaseState, readTablesVersion } from './store.ts'

const slowMs = 250
const statementSeconds = 10
const idleTransactionSeconds = 60
const clockMs = 5_000
/** Servers expire leases and sign-ins by the database's clock, and tolerate this much. */
const clockMsMost = 60_000
const connectionsPart = 0.9
const waitsSeconds = 300

export async function examineDatabase(db: Db): Promise<Finding[]> {
  const before = Date.now()
  const state = await databaseState(db)
  const after = Date.now()
  const { slowest, slowest_seconds: seconds } = state
  const limits = await connectionLimits(db)
  const ms = after - before
  const version = `PostgreSQL ${state.version.split(' ')[0]}, ${sizeText(state.bytes)}, answered in ${ms} ms`
  return [
    state.is_read_only
      ? missing('database', `${version}. It is read-only, so every change is refused`, readOnlyMend(state))
      : ms > slowMs
        ? weak('database', version, 'Look at its load, its disk and the network to it.')
        : good('database', version),
    connectionsFinding(limits[0]!),
    clockFinding(state.now - (before + after) / 2),
    ...(seconds < statementSeconds
      ? []
      : [
          weak(
            'slow statement',
            `runs for ${Math.round(seconds)} s: ${slowest}`,
            'See pg_stat_activity of the database.',
          ),
        ]),
    ...(state.idle_transaction_seconds < idleTransactionSeconds
      ? []
      : [
          weak(
            'open transaction',
            `waits for its client for ${Math.round(state.idle_transaction_seconds)} s and keeps its locks`,
            'See pg_stat_activity of the database; end it with pg_terminate_backend.',
          ),
        ]),
  ]
}

/** `fullest`: of all limits. */
function connectionsFinding(fullest: ConnectionLimit): Finding {
  const { owner, used, most } = fullest
  const whose = owner === null ? '' : ` of the ${owner.kind} ${owner.name}`
  const says = `${used} of ${most} connections${whose} are used`
  if (used <= most * connectionsPart) return good('connections', says)
  const mend = `Raise ${limitSetting(fullest)}: each server uses about 10 at rest, and up to ${connectionsMost}.`
  return weak('connections', says, mend)
}

function readOnlyMend({ is_standby: isStandby }: Pick<DatabaseState, 'is_standby'>): string {
  return isStandby
    ? 'It is a standby: promote it, or give DATABASE_URL the address of the primary and start the server again.'
    : 'default_transaction_read_only is on for it. A managed PostgreSQL sets this while its disk is full: free space there or enlarge it, and see that the setting is off again. The server then goes on by itself.'
}

/** A server starts on tables of its own version, or of an earlier one, which it migrates. */
export async function examineTables(db: Db): Promise<Finding | null> {
  const { version, writtenBy } = await readTablesVersion(db)
  try {
    requireKnown(version, writtenBy)
    return null
  } catch (error) {
    if (!(error instanceof NewerDatabaseError)) throw error
    return missing('tables', 'of a newer svc, so this program does not start on them', error.message)
  }
}

function clockFinding(aheadMs: number): Finding {
  const apart = Math.round(Math.abs(aheadMs))
  if (apart < clockMs) return good('clock', `within ${clockMs / 1000} s of the database's`)
  const says = `${(apart / 1000).toFixed(1)} s ${aheadMs > 0 ? 'behind' : 'ahead of'} the database's`
  const mend = 'Synchronize both: timedatectl set-ntp true'
  return apart < clockMsMost ? weak('clock', says, mend) : missing('clock', says, mend)
}

/** Work that waits for long is a sign that something does not get on. */
export async function examineQueues(db: Db): Promise<Finding[]> {
  const figures = await readFigures(db)
  const waits = figures['svc_pending_oldest_seconds']?.values ?? {}
  const counts = figures['svc_pending']?.values ?? {}
  const late = Object.entries(waits).filter(([, seconds]) => seconds > waitsSeconds)
  const failing = figures['svc_webhooks_failing']?.values ?? {}
  const webhooks = (failing['retrying'] ?? 0) + (failing['paused'] ?? 0)
  return [
    ...(late.length === 0
      ? [good('queues', `nothing waits for more than ${waitsSeconds / 60} minutes`)]
      : late.map(([queue, seconds]) =>
          weak(
            queue.replaceAll('_', ' '),
            `${counts[queue]} ${counts[queue] === 1 ? 'waits' : 'wait'}, the oldest for ${Math.round(seconds / 60)} minutes`,
            'Read the log for this queue. Prompts and checks wait for sandboxes: see the ones above.',
          ),
        )),
    ...(webhooks === 0
      ? []
      : [
          weak(
            'webhooks',
            webhooks === 1 ? '1 fails or is paused' : `${webhooks} fail or are paused`,
            '`svc webhooks ls` of a project shows why.',
          ),
        ]),
  ]
}
