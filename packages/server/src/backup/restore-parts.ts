/**
 * Chooses which place gives what to a restore. Each of several servers backs up the repositories that it has, so the
 * first place gives the database and its repositories, and further places give the rest.
 */
import { existsSync } from 'node:fs'
import type { Config } from '../config.ts'
import { requireKnown } from '../db/migrate.ts'
import { StartupError } from '../startup/startup-error.ts'
import { listBackups, noBackupIn, readBackup, readHeader } from './catalog.ts'
import { readKeyFile } from './key-file.ts'
import type { Manifest } from './manifest.ts'
import { openPlace } from './place/open.ts'
import type { Place } from './place/place.ts'
import { isDatedAhead } from './retention.ts'

export interface RestoreInput {
  /** Folders, s3://bucket/prefix, or files whose names end in .tar. The first gives the database. */
  places: [string, ...string[]]
  /** A backup of the first place. Null: the newest. */
  backupId: string | null
  keyFiles: string[]
  /** Restore without the repositories that no place has. */
  acceptLoss: boolean
}

export interface Opened {
  place: Place
  manifest: Manifest
  identity: string | null
  /** Backups of a clock that was ahead, so none of them was taken as the newest. */
  leftOut: string[]
}

export interface Part extends Opened {
  /** Those that are taken from here. */
  repositories: Manifest['repositories']
}

export interface Parts {
  first: Part
  others: Part[]
  /** No place has these repositories. */
  lacking: Manifest['missing']
}

/** Changes nothing. */
export async function openParts(config: Pick<Config, 'objectStore' | 'backups'>, input: RestoreInput): Promise<Parts> {
  const [address, ...further] = input.places
  const first = await openBackup(config, { address, keyFiles: input.keyFiles }, (ids) =>
    input.backupId === null ? newestOf(ids) : { chosen: input.backupId, leftOut: [] },
  )
  const { backup_id, installation_id, missing } = first.manifest
  // Every backup that began later has everything that this database acknowledged.
  const choose = (ids: Dated) => {
    const later = ids.past.find((id) => id >= backup_id)
    return later === undefined ? newestOf(ids) : { chosen: later, leftOut: ids.ahead }
  }
  const others: Opened[] = []
  for (const other of further) others.push(await openBackup(config, { address: other, ...input }, choose))
  const foreign = others.find(({ manifest }) => manifest.installation_id !== installation_id)
  if (foreign !== undefined)
    throw new StartupError(
      `${foreign.place.address} has the backups of another installation than ${first.place.address}. Give the places of one installation. Nothing was changed.`,
    )
  const from = new Map(missing.map(({ project_id }) => [project_id, newestWith(others, project_id)]))
  return {
    first: { ...first, repositories: first.manifest.repositories },
    others: others.map((other) => ({
      ...other,
      repositories: other.manifest.repositories.filter(({ project_id }) => from.get(project_id) === other),
    })),
    lacking: missing.filter(({ project_id }) => from.get(project_id) === null).map((one) => ofHome(one, others)),
  }
}

function newestWith(others: Opened[], projectId: string): Opened | null {
  const having = others.filter(({ manifest }) => manifest.repositories.some((one) => one.project_id === projectId))
  return having.toSorted((a, b) => (a.manifest.backup_id < b.manifest.backup_id ? -1 : 1)).at(-1) ?? null
}

/** The home of a project knows best why the backup lacks its repository. */
function ofHome(one: Manifest['missing'][number], others: Opened[]): Manifest['missing'][number] {
  const all = others.flatMap(({ manifest }) => manifest.missing)
  return all.find(({ project_id, home }) => project_id === one.project_id && home === undefined) ?? one
}

interface Dated {
  /** Earliest first. */
  past: string[]
  /** A clock that was ahead dated them. */
  ahead: string[]
}

type Choice = { chosen: string | null; leftOut: string[] }

/** A lone backup is what someone means. */
function newestOf({ past, ahead }: Dated): Choice {
  if (past.length === 0 && ahead.length === 1) return { chosen: ahead[0]!, leftOut: [] }
  return { chosen: past.at(-1) ?? null, leftOut: ahead }
}

async function openBackup(
  config: Pick<Config, 'objectStore' | 'backups'>,
  { address, keyFiles }: { address: string; keyFiles: string[] },
  choose: (ids: Dated) => Choice,
): Promise<Opened> {
  const place = await openPlace(address, config)
  const ids = (await readHeader(place)) === null ? [] : await listBackups(place)
  if (ids.length === 0) throw new StartupError(`${await noBackupIn(place)} Nothing was changed.`)
  const now = Date.now()
  const { past = [], ahead = [] } = Object.groupBy(ids, (id) => (isDatedAhead(id, now) ? 'ahead' : 'past'))
  const { chosen, leftOut } = choose({ past, ahead })
  if (chosen === null)
    throw new StartupError(
      `All backups in ${place.address} are dated later than the clock of this machine (${new Date(now).toISOString()}). If it is behind, set it. Otherwise choose one with --backup: ${ids.join(', ')}. Nothing was changed.`,
    )
  if (!ids.includes(chosen))
    throw new StartupError(`${place.address} has no backup ${chosen}. It has: ${ids.join(', ')}. Nothing was changed.`)
  const manifest = await readBackup(place, chosen)
  requireKnown(manifest.migration, manifest.server_version)
  return { place, manifest, leftOut, identity: await identityFor(manifest, withSavedKey(keyFiles, config)) }
}

/** Without --key, that of SVC_BACKUP_KEY_FILE, which a new machine may not have yet. */
function withSavedKey(keyFiles: string[], { backups }: Pick<Config, 'backups'>): string[] {
  const saved = backups?.keyFile ?? null
  return keyFiles.length === 0 && saved !== null && existsSync(saved) ? [saved] : keyFiles
}

async function identityFor({ recipient }: Manifest, keyFiles: string[]): Promise<string | null> {
  if (recipient === null) return null
  if (keyFiles.length === 0)
    throw new StartupError(
      `The backup is encrypted for ${recipient}. Give its key file with --key. Nothing was changed.`,
    )
  const keys = await Promise.all(keyFiles.map(async (file) => ({ file, ...(await readKeyFile(file)) })))
  const mine = keys.find((key) => key.recipient === recipient)
  if (mine === undefined)
    throw new StartupError(
      `${keys.map((key) => `The key file ${key.file} is for ${key.recipient}`).join('. ')}, and the backup is encrypted for ${recipient}. Give its key file with --key. Nothing was changed.`,
    )
  if (mine.identity === null)
    throw new StartupError(
      `The key file ${mine.file} has only a recipient, which cannot open a backup. Give the one with the identity (AGE-SECRET-KEY-…) with --key. Nothing was changed.`,
    )
  return mine.identity
}
