/** The job that backs up to SVC_BACKUP_DIR. The backup runs in a process of its own. */
import { spawn } from 'node:child_process'
import { basename, resolve } from 'node:path'
import { type BackupReport, whileStdinIsOpen } from '@svc/contract/daemon/operator-reports'
import { parseJson } from '@svc/contract/json'
import { isS3Address } from '@svc/contract/schemas/backup-address'
import type { Config } from '../config.ts'
import type { BackupSettings } from '../config/backups.ts'
import type { Deps } from '../deps.ts'
import type { BackupProgress } from './back-up.ts'
import { handledElsewhere } from '../deadline.ts'
import { readFolderId } from '../startup/folder-lock.ts'
import { withShellSettings } from '../startup/shell-command.ts'
import { listBackups, readHeader } from './catalog.ts'
import { lackingIn, type Newest, newestAmong } from './complete.ts'
import { forgetFailure, recordFailure, rememberBackup } from './known-places.ts'
import { openPlace } from './place/open.ts'
import type { Place } from './place/place.ts'
import { readCredentials } from './place/s3/open-bucket.ts'
import { isDatedAhead, timeOf } from './retention.ts'

type ScheduleDeps = Pick<Deps, 'config' | 'log' | 'metrics' | 'now' | 'redaction'>

/** So that a place that cannot be written is not tried every minute. */
const retryMs = 600_000
/** A backup without progress for so long hangs. Git can be silent for long while it packs a large repository. */
const stallMs = 2 * 3_600_000
/** Someone else may add or remove backups. A store charges for each list. */
const lookMs = 600_000

export class ScheduledBackups {
  readonly #deps: ScheduleDeps
  readonly #stallMs: number
  #notBefore = 0
  #lookedAt = Number.NEGATIVE_INFINITY
  #ranAt = Number.NEGATIVE_INFINITY
  #newest: Newest | null = null
  #hasFailed = false

  constructor(deps: ScheduleDeps, stallAfterMs = stallMs) {
    this.#deps = deps
    this.#stallMs = stallAfterMs
    if (deps.config.backups === null) return
    deps.metrics.gauge(
      'svc_backup_last_timestamp_seconds',
      'When the newest complete backup in SVC_BACKUP_DIR began.',
      [],
      () => (this.#newest?.complete == null ? [] : [[{}, timeOf(this.#newest.complete) / 1000]]),
    )
    deps.metrics.gauge(
      'svc_backup_incomplete',
      'Whether the newest backup in SVC_BACKUP_DIR lacks repositories at home on this server.',
      [],
      () => (this.#newest === null ? [] : [[{}, this.#newest.lacking.length > 0 ? 1 : 0]]),
    )
    deps.metrics.gauge('svc_backup_failed', 'Whether the last try to back up to SVC_BACKUP_DIR failed.', [], () => [
      [{}, this.#hasFailed ? 1 : 0],
    ])
  }

  async run(signal: AbortSignal): Promise<void> {
    const { config, now } = this.#deps
    const { backups } = config
    if (backups === null) return
    const at = now().getTime()
    // The clock was ahead, and with it what was to wait for.
    if (at < this.#ranAt) {
      this.#notBefore = 0
      this.#lookedAt = Number.NEGATIVE_INFINITY
    }
    this.#ranAt = at
    if (at < this.#notBefore) return
    try {
      if (at >= this.#lookedAt + lookMs) await this.#look(at)
      // Another program may have made one since.
      else if (this.#isDue(backups, at)) await this.#look(at)
      if (this.#isDue(backups, at)) {
        // One of a database whose clock is ahead does not count as the newest.
        this.#notBefore = at + Math.min(retryMs, backups.everyMs)
        await this.#backUp(backups, signal)
      }
      this.#hasFailed = false
      await forgetFailure(config)
    } catch (error) {
      if (signal.aborted) throw error
      this.#notBefore = at + Math.min(retryMs, backups.everyMs)
      this.#hasFailed = true
      const { message } = error as Error
      await recordFailure(config, { failed_at: now().toISOString(), place: backups.place, reason: message })
      const inLog = withShellSettings(config, message)
      throw inLog === message ? error : new Error(inLog)
    }
  }

  /** Also after an incomplete one: what it lacks is rarely back before the next. */
  #isDue({ everyMs }: BackupSettings, at: number): boolean {
    return this.#newest === null || at >= timeOf(this.#newest.backup_id) + everyMs
  }

  async #backUp(backups: BackupSettings, signal: AbortSignal): Promise<void> {
    const { config, now, log, redaction } = this.#deps
    redaction.learnOperator(await secretsOf(config))
    const input = { place: backups.place, keyFile: backups.keyFile, keep: backups.keep }
    const made = await this.#runBackup(JSON.stringify(input), signal)
    const { backup_id, added_bytes, missing, damaged, made_key, master_key_problem: problem, retention_problem } = made
    await this.#look(now().getTime())
    const lacking = lackingIn(missing)
    log.info({ backup_id, added_bytes, elsewhere: missing.length - lacking.length }, 'backed up')
    if (made_key) log.warn({ file: backups.keyFile }, 'this key opens the backups: keep a copy of it apart from them')
    if (problem !== null) log.warn({ backup_id, problem }, 'this backup cannot be restored without its master key')
    if (retention_problem !== null)
      log.warn({ backup_id, problem: retention_problem }, 'no backup was removed for its age')
    if (damaged.length > 0)
      log.error({ damaged, place: backups.place }, 'earlier backups are damaged, so no unused packs were removed')
    if (lacking.length > 0)
      log.error({ missing: lacking }, 'repositories could not be read, so the backup is without them')
  }

  /**
   * The end of the server ends it, also by SIGKILL: left alone, it would start the database of the stopped server and hold
   * its data folder. The next backup goes on.
   */
  async #runBackup(input: string, signal: AbortSignal): Promise<BackupReport> {
    const [command, ...args] = program()
    const child = spawn(command, [...args, 'server', '--backup', whileStdinIsOpen], { stdio: ['pipe', 'pipe', 'pipe'] })
    const end = () => child.kill('SIGKILL')
    signal.addEventListener('abort', end, { once: true })
    let isStalled = false
    const stall = setTimeout(() => {
      isStalled = true
      end()
    }, this.#stallMs)
    // Each line is progress.
    child.stderr.on('data', () => stall.refresh())
    try {
      const ended = new Promise<number | null>((done, failed) => child.once('close', done).once('error', failed))
      // Its end says why.
      child.stdin.on('error', handledElsewhere)
      child.stdin.write(`${input}\n`)
      const [printed, said, code] = await Promise.all([textOf(child.stdout), textOf(child.stderr), ended])
      if (code === 0) return JSON.parse(printed) as BackupReport
      throw new Error(`The backup failed: ${isStalled ? stalledAt(said, this.#stallMs) : reasonIn(said, code)}`)
    } finally {
      clearTimeout(stall)
      signal.removeEventListener('abort', end)
    }
  }

  async #look(at: number): Promise<void> {
    const { config } = this.#deps
    this.#newest = await newestBackup(config, at)
    this.#lookedAt = at
    // An earlier program made it, and remembered nothing.
    if (config.backups !== null && this.#newest !== null)
      await rememberBackup(config, config.backups.place, this.#newest.backup_id)
  }
}

/** The newest backup of this data folder in SVC_BACKUP_DIR; null without any. One of a clock that was ahead does not count. */
export async function newestBackup(
  config: Pick<Config, 'backups' | 'objectStore' | 'dataDir'>,
  now: number,
): Promise<Newest | null> {
  if (config.backups === null) return null
  const place = await openPlace(config.backups.place, config, { isHasty: true })
  if ((await otherWriter(place, config)) !== null) return null
  const ids = await listBackups(place)
  return newestAmong(
    place,
    ids.filter((id) => !isDatedAhead(id, now)),
  )
}

/** The other server, by its data folder, whose backups the place has. Null: they are of this data folder, or there are none. */
export async function otherWriter(place: Place, { dataDir }: Pick<Config, 'dataDir'>) {
  const writer = (await readHeader(place))?.writer ?? null
  return writer === null || writer.folder_id === (readFolderId(dataDir) ?? writer.folder_id) ? null : writer
}

/** The file of the credentials may have others than at the start of the server. */
async function secretsOf({ backups, objectStore }: Config): Promise<Record<string, string | null>> {
  if (backups === null || !isS3Address(backups.place)) return {}
  const { secretAccessKey, sessionToken } = await readCredentials(backups.place, objectStore)
  return { 'secret key of the backups': secretAccessKey, 'session token of the backups': sessionToken }
}

/** This program; from source, Bun runs it. */
function program(): [string, ...string[]] {
  if (!basename(process.execPath).startsWith('bun')) return [process.execPath]
  return [process.execPath, resolve(import.meta.dirname, '../../../svc/src/main.ts')]
}

/** Of the line in which the program says why it failed. */
const errorStart = 'svc server: '

function reasonIn(said: string, code: number | null): string {
  const reason = said.split('\n').findLast((line) => line.startsWith(errorStart))
  return reason?.slice(errorStart.length) ?? `its process ended with ${code ?? 'a signal'}`
}

function stalledAt(said: string, afterMs: number): string {
  const last = said.trimEnd().split('\n').at(-1) ?? ''
  const { phase, name } = (parseJson(last) ?? {}) as Partial<BackupProgress>
  const where = phase === undefined ? 'at its start' : `at "${name}" (${phase})`
  return `it made no progress for ${Math.round(afterMs / 60_000)} minutes ${where}, and was ended. The next one goes on. Look whether the disk or the store of the backups answers.`
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}
