import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { isS3Address } from '@svc/contract/schemas/backup-address'
import { keepRule, parseDuration, parseKeep } from '../backup/duration.ts'
import { refuseAddress } from '../backup/place/s3/address.ts'
import { isArchiveName, isTarName } from '../backup/place/tar/tar-name.ts'
import type { Settings } from './settings.ts'

/** Backups that the server makes by itself. */
export interface BackupSettings {
  /** A folder, or s3://bucket/prefix. */
  place: string
  everyMs: number
  /** As text, for the command that makes them. Null: all are kept. */
  keep: string | null
  /** Null: they are not encrypted. */
  keyFile: string | null
}

export interface Credentials {
  accessKeyId: string
  secretAccessKey: string
  /** Null: the credentials do not expire. */
  sessionToken: string | null
}

/** How the buckets of backups are reached. */
export interface ObjectStoreSettings {
  /** Without a trailing slash. Null: Amazon's, of the region. */
  endpoint: string | null
  region: string
  /** Where a URL has the bucket. Null: as the host at Amazon, and in the path elsewhere. */
  addressing: 'path' | 'host' | null
  credentials: Credentials | null
  /** Counts more than `credentials`, which other programs use as well. */
  credentialsFile: string | null
}

export function readBackups(
  settings: Settings,
  dataDir: string,
): { backups: BackupSettings | null; objectStore: ObjectStoreSettings } {
  const objectStore = readObjectStore(settings)
  const dir = settings.text('SVC_BACKUP_DIR')
  const every = settings.text('SVC_BACKUP_EVERY')
  const keep = settings.text('SVC_BACKUP_KEEP')
  const keyFile = settings.text('SVC_BACKUP_KEY_FILE')
  const everyMs = parseDuration(every ?? '24h')
  if (everyMs === null) settings.refuse('SVC_BACKUP_EVERY', 'must be a duration of at least a minute, such as 6h or 1d')
  if (keep !== null && parseKeep(keep) === null) settings.refuse('SVC_BACKUP_KEEP', `must be ${keepRule}`)
  if (dir === null && (every ?? keep ?? keyFile) !== null)
    settings.problem(
      ['SVC_BACKUP_DIR', 'SVC_BACKUP_EVERY', 'SVC_BACKUP_KEEP', 'SVC_BACKUP_KEY_FILE'].filter(
        (name) => name === 'SVC_BACKUP_DIR' || settings.text(name) !== null,
      ),
      'SVC_BACKUP_EVERY, SVC_BACKUP_KEEP and SVC_BACKUP_KEY_FILE need SVC_BACKUP_DIR.',
    )
  if (dir === null || everyMs === null) return { backups: null, objectStore }
  if (isS3Address(dir)) requireStore(settings, dir, objectStore)
  // With the slash, only a folder exists.
  else if ((isTarName(dir) || isArchiveName(dir)) && !existsSync(`${dir}/`))
    settings.refuse('SVC_BACKUP_DIR', 'must be a folder or a bucket, since one file is one backup')
  const place = isS3Address(dir) ? dir : resolve(dir)
  // By name alone: a disk that hangs must not keep the server from its start. `env set` and each backup follow links.
  if (place === dataDir || place.startsWith(`${dataDir}/`))
    settings.problem(['SVC_BACKUP_DIR'], backupsInside(dataDir, place))
  return { backups: { place, everyMs, keep, keyFile: keyFile === null ? null : resolve(keyFile) }, objectStore }
}

export function backupsInside(dataDir: string, place: string): string {
  return `SVC_BACKUP_DIR must not be inside the data folder ${dataDir}, with which the backups would be lost, but is ${place}.`
}

function readObjectStore(settings: Settings): ObjectStoreSettings {
  const addressing = settings.text('SVC_BACKUP_S3_ADDRESSING')
  const file = settings.text('SVC_BACKUP_S3_CREDENTIALS_FILE')
  const [accessKeyId, secretAccessKey] = [settings.text('AWS_ACCESS_KEY_ID'), settings.text('AWS_SECRET_ACCESS_KEY')]
  return {
    endpoint: settings.url('SVC_BACKUP_S3_ENDPOINT'),
    region: settings.matching(
      'SVC_BACKUP_S3_REGION',
      'us-east-1',
      /^[a-z0-9-]{1,64}$/i,
      'must be a name like eu-central-1',
    ),
    addressing: addressing === null ? null : settings.choice('SVC_BACKUP_S3_ADDRESSING', ['path', 'host']),
    credentials:
      accessKeyId === null || secretAccessKey === null
        ? null
        : { accessKeyId, secretAccessKey, sessionToken: settings.text('AWS_SESSION_TOKEN') },
    credentialsFile: file === null ? null : resolve(file),
  }
}

function requireStore(settings: Settings, dir: string, { credentials, credentialsFile }: ObjectStoreSettings): void {
  const rule = refuseAddress(dir)
  if (rule !== null) settings.refuse('SVC_BACKUP_DIR', rule)
  if (credentials === null && credentialsFile === null)
    settings.problem(
      ['SVC_BACKUP_DIR', 'SVC_BACKUP_S3_CREDENTIALS_FILE'],
      'SVC_BACKUP_DIR is the address of a bucket, which needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or SVC_BACKUP_S3_CREDENTIALS_FILE.',
    )
}
