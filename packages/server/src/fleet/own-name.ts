/**
 * A process that has lost its name does nothing any more: another one has it, or the server that ran alone was taken over.
 * A process that takes a name ends the connections of the earlier one, and each new connection is checked before its
 * first use. A process that was paused meanwhile gets no further than that.
 */
import { writeSync } from 'node:fs'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Database } from '../db/pool.ts'
import { staleSeconds } from '../db/live-instance.ts'
import { StartupError } from '../startup/startup-error.ts'

export class LostNameError extends StartupError {}

interface Own {
  serverName: string
  instanceId: string
  config: Pick<Config, 'peerUrl'>
  /** Called once, before the connection is refused. */
  onLost: (error: LostNameError) => void
}

const ownText = `select s.instance_id = $2 as is_own, s.taken_over_at,
  exists (select from projects p join servers h on h.server_name = p.home
      where p.home <> $1 and h.peer_url is not null)
    or exists (select from server_instances i where i.server_name <> $1 and i.peer_url is not null
      and i.heartbeat_at > now() - make_interval(secs => $3)) as has_others
  from servers s where s.server_name = $1`

interface OwnRow {
  is_own: boolean | null
  taken_over_at: string | null
  has_others: boolean
}

export function guardName(database: Pick<Database, 'guard'>, { serverName, instanceId, config, onLost }: Own): void {
  let lost: LostNameError | null = null
  database.guard(async (connection) => {
    if (lost !== null) throw lost
    const reply: pg.QueryResult<OwnRow> = await connection.query(ownText, [serverName, instanceId, staleSeconds])
    const why = whyLost(reply.rows[0], config)
    if (why === null || lost !== null) return
    lost = new LostNameError(`${why} This process (server ${serverName}) ends without doing anything more.`)
    onLost(lost)
    throw lost
  })
}

function whyLost(row: OwnRow | undefined, { peerUrl }: Pick<Config, 'peerUrl'>): string | null {
  if (row?.is_own !== true) return 'Another process has taken the name of this server.'
  if (peerUrl !== null) return null
  if (row.taken_over_at !== null) return `Its projects were taken over at ${row.taken_over_at}.`
  return row.has_others
    ? 'Other servers run on this database by now, and this one runs alone: start it with SVC_PEER_URL.'
    : null
}

/** Kills this process, whose sandboxes go on: another server may run under its name already. */
export function endProcess(log: Logger): (error: LostNameError) => void {
  return ({ message }) => {
    log.fatal(message)
    writeSync(process.stderr.fd, `svc server: ${message}\n`)
    process.kill(process.pid, 'SIGKILL')
  }
}
