/** The doctor's findings about a server without its sandboxes. Its page and its command share them. */
import { join } from 'node:path'
import type { ExaminedGroup } from '@svc/contract'
import { type Finding, good, missing, weak } from '@svc/sandbox'
import { lostFilesCure } from '../db/embedded/error.ts'
import { lacksSpace, lostParts } from '../db/embedded/why-down.ts'
import { lacksTables, lacksTablesMend, lacksTablesText } from '../db/lacks-tables.ts'
import { pingDatabase } from '../db/pool.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { hasRestoreMark } from '../backup/restore-mark.ts'
import { type RecordedFolder, whyOlder } from '../startup/folder-records.ts'
import { hasDataOfBefore, hasUsedDatabase, lackingDatabase } from '../startup/other-database.ts'
import { version } from '../version.ts'
import { examineAddresses } from './examine-addresses.ts'
import { examineBackups, examineDeletions, examineHold } from './examine-data.ts'
import { examineDatabase, examineQueues, examineTables } from './examine-database.ts'
import { examineDisk } from './examine-disk.ts'
import { examineGit } from './examine-git.ts'
import { examineBackupKey } from './examine-backup-place.ts'
import { examineKey } from './examine-key.ts'
import { examineCopies, examineFleet, examineRepositories } from './examine-servers.ts'
import { examineCertificate, examineHosts, examineModel } from './examine-reach.ts'

/** `db` is null where no database answers. */
export async function examineService({
  config,
  db: given,
}: Pick<Deps, 'config'> & { db: Deps['db'] | null }): Promise<ExaminedGroup[]> {
  const failure = given === null ? null : await whyUnreachable(given)
  const db = failure === null ? given : null
  const groups = await Promise.all([
    group('machine', [examineDisk(config), examineGit(), good('version', `svc ${version}`), examineSettings(config)]),
    group(
      'database',
      db === null ? [withoutDatabase(config, failure)] : [examineDatabase(db), examineTables(db), examineQueues(db)],
    ),
    group('reach', [
      examineCertificate(config),
      ...(db === null ? [] : [examineModel({ config, db }), examineHosts({ db }), examineAddresses({ config, db })]),
    ]),
    group(
      'servers',
      db === null ? [] : [examineFleet(config, db), examineCopies(config, db), examineRepositories(config, db)],
    ),
    group('data', [
      examineBackups(config, new Date(), db),
      examineKey(config, db),
      examineBackupKey(config),
      ...(db === null ? [] : [examineHold(db), examineDeletions(db, new Date())]),
    ]),
  ])
  return groups.filter(({ findings }) => findings.length > 0)
}

/** They do not stop a start, and its log is far from whoever made the mistake. */
function examineSettings({ warnings }: Config): Finding | null {
  return warnings.length === 0 ? null : weak('settings', warnings.join(' '))
}

/** Every part that needs the database would repeat it. Null: it answers. */
async function whyUnreachable(db: Deps['db']): Promise<Error | null> {
  try {
    await pingDatabase(db)
    return null
  } catch (error) {
    return error as Error
  }
}

async function withoutDatabase(config: RecordedFolder, failure: Error | null): Promise<Finding[]> {
  if (hasRestoreMark(config.dataDir))
    return [
      missing(
        'database',
        `the restore into ${config.dataDir} was interrupted`,
        'Run svc self-host restore again, which begins anew.',
      ),
    ]
  const lacking = lackingDatabase(config) ?? whyOlder(config) ?? (hasDataOfBefore(config) ? unnamed : null)
  const found =
    lacking === null ? await downFinding(config, failure) : missing('database', asClause(lacking.says), lacking.mend)
  if (found === null) return []
  return [
    found,
    weak(
      'not examined',
      'connections, clock, queues, the model, git hosts, other servers, repositories, and whether the master key fits',
      'They need the database: run this again once it answers.',
    ),
  ]
}

const unnamed = {
  says: 'The server of this data folder uses a PostgreSQL of yours, and DATABASE_URL is not set.',
  mend: 'Set it as for the server, and run this again.',
}

const asClause = (sentence: string) => sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '')

async function downFinding(config: RecordedFolder, failure: Error | null): Promise<Finding | null> {
  const { databaseUrl, dataDir } = config
  // Without a failure, a database of the operator has no tables, and the embedded one does not run.
  if (databaseUrl !== null && (failure === null ? hasUsedDatabase(dataDir) : lacksTables(failure)))
    return missing('database', asClause(lacksTablesText), `${lacksTablesMend}.`)
  if (failure === null) return databaseUrl === null ? stoppedFinding(dataDir) : null
  const says = `cannot be used: ${failure.message}`
  if (databaseUrl !== null)
    return missing(
      'database',
      says,
      'Start PostgreSQL, or correct DATABASE_URL. In this state no server starts, and a running one refuses requests.',
    )
  return (await lacksSpace(dataDir))
    ? missing(
        'database',
        `the embedded PostgreSQL cannot run, because its disk is full (${failure.message})`,
        'Free space: see disk above. The server starts it again by itself, and refuses requests until then.',
      )
    : missing(
        'database',
        `the embedded PostgreSQL ${says}`,
        'The server starts it again by itself, and refuses requests until then. If it stays so: svc self-host logs',
      )
}

/** The doctor does not start it, so it sees only whether its parts are there. */
async function stoppedFinding(dataDir: string): Promise<Finding | null> {
  const folder = join(dataDir, 'postgres')
  const lost = await lostParts(folder)
  return lost.length === 0 ? null : missing('database', `${folder} lacks ${lost.join(', ')}`, `${lostFilesCure}.`)
}

type Found = Finding | Finding[] | null

/** A part that cannot be examined becomes a finding. */
export async function group(name: string, parts: (Found | Promise<Found>)[]): Promise<ExaminedGroup> {
  const findings = await Promise.all(
    parts.map(async (part) => {
      try {
        return await part
      } catch (error) {
        return missing(name, 'could not be examined', error instanceof Error ? error.message : String(error))
      }
    }),
  )
  return { name, findings: findings.flat().filter((finding) => finding !== null) }
}
