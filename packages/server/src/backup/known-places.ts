/**
 * The notes of a data folder about its backups: the newest one of each place, the key of each key file, and why the last
 * scheduled one failed. A place that had backups and has none is a disk that is not mounted, or a loss, and no place for a
 * first backup. A key file that is gone is to be restored, and no place for a new key.
 */
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseJson } from '@svc/contract/json'
import { z } from 'zod'
import { writeFileWhole } from './place/write-file.ts'

type DataFolder = { dataDir: string }

const knownPlaces = z.record(z.string(), z.string())
const knownKey = z.object({ recipient: z.string(), place: z.string() })
/** The key that backups were encrypted for, and the place of the last one. */
export type KnownKey = z.infer<typeof knownKey>
const knownKeys = z.record(z.string(), knownKey)
/** Earlier versions noted no place. */
const failure = z.object({ failed_at: z.string(), place: z.string().optional(), reason: z.string() })
export type BackupFailure = z.infer<typeof failure>

const placesOf = ({ dataDir }: DataFolder) => join(dataDir, 'backup-places.json')
const keysOf = ({ dataDir }: DataFolder) => join(dataDir, 'backup-keys.json')
const failureOf = ({ dataDir }: DataFolder) => join(dataDir, 'backup-failure.json')

/** The newest backup that this data folder knows in the place. Null: it knows none. */
export async function knownBackup(folder: DataFolder, address: string): Promise<string | null> {
  return (await readPlaces(folder))[address] ?? null
}

export async function rememberBackup(folder: DataFolder, address: string, backupId: string): Promise<void> {
  const places = await readPlaces(folder)
  if (places[address] === backupId) return
  const text = `${JSON.stringify({ ...places, [address]: backupId }, null, 1)}\n`
  await writeFileWhole(placesOf(folder), text).catch(isNoReasonToFail)
}

/** Null: it knows of no backup that was encrypted with the file. */
export async function keyOfFile(folder: DataFolder, keyFile: string): Promise<KnownKey | null> {
  return (await readKeys(folder))[keyFile] ?? null
}

/** The key file, still there, with which backups were encrypted for the recipient. Null: none is known. */
export async function fileOfKey(folder: DataFolder, recipient: string): Promise<string | null> {
  const files = Object.entries(await readKeys(folder)).filter(([, key]) => key.recipient === recipient)
  return files.map(([file]) => file).find((file) => existsSync(file)) ?? null
}

export async function rememberKey(folder: DataFolder, keyFile: string, key: KnownKey): Promise<void> {
  const keys = await readKeys(folder)
  const known = keys[keyFile]
  if (known?.recipient === key.recipient && known.place === key.place) return
  const text = `${JSON.stringify({ ...keys, [keyFile]: key }, null, 1)}\n`
  await writeFileWhole(keysOf(folder), text).catch(isNoReasonToFail)
}

/** Null: the last scheduled backup into the place did not fail. */
export async function readFailure(folder: DataFolder, place: string): Promise<BackupFailure | null> {
  const found = parsed(failure, await textOf(failureOf(folder)))
  return found === null || (found.place ?? place) !== place ? null : found
}

/** Since when it fails for this reason. */
export async function recordFailure(
  folder: DataFolder,
  found: BackupFailure & Required<Pick<BackupFailure, 'place'>>,
): Promise<void> {
  if ((await readFailure(folder, found.place))?.reason === found.reason) return
  await writeFileWhole(failureOf(folder), `${JSON.stringify(found)}\n`).catch(isNoReasonToFail)
}

export async function forgetFailure(folder: DataFolder): Promise<void> {
  await rm(failureOf(folder), { force: true }).catch(isNoReasonToFail)
}

async function readPlaces(folder: DataFolder): Promise<Record<string, string>> {
  return parsed(knownPlaces, await textOf(placesOf(folder))) ?? {}
}

async function readKeys(folder: DataFolder): Promise<Record<string, KnownKey>> {
  return parsed(knownKeys, await textOf(keysOf(folder))) ?? {}
}

async function textOf(path: string): Promise<string | null> {
  return existsSync(path) ? readFile(path, 'utf8') : null
}

/** A file that someone damaged says nothing. */
function parsed<T>(schema: z.ZodType<T>, text: string | null): T | null {
  return text === null ? null : (schema.safeParse(parseJson(text)).data ?? null)
}

/** A data disk that is full or read-only is the very reason for a backup. */
function isNoReasonToFail(): void {}
