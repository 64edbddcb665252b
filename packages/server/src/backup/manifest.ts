/** What a backup consists of. A backup exists once its manifest has its name. */
import { createHash, randomBytes } from 'node:crypto'
import { parseJson } from '@svc/contract/json'
import { z } from 'zod'
import { StartupError } from '../startup/startup-error.ts'

/** Increases when an older program could not restore the folder. */
export const backupFormat = 1

export const backupIdPattern = /^\d{8}T\d{6}Z-[0-9a-f]{8}$/

/** Ids are in the order of the backups: after the second come its milliseconds, then five random digits. */
export function newBackupId(createdAt: Date): string {
  const second = createdAt.toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const milliseconds = createdAt.getUTCMilliseconds().toString(16).padStart(3, '0')
  return `${second}-${milliseconds}${randomBytes(3).toString('hex').slice(1)}`
}

const storedFile = z.object({ name: z.string(), bytes: z.number(), sha256: z.string() })
export type StoredFile = z.infer<typeof storedFile>

const table = z.object({
  name: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  rows: z.number(),
  file: storedFile,
})
export type StoredTable = z.infer<typeof table>

const manifest = z.object({
  format: z.number(),
  backup_id: z.string().regex(backupIdPattern),
  /** Of the snapshot of the database. What was acknowledged before is in the backup. */
  created_at: z.string(),
  finished_at: z.string(),
  installation_id: z.string(),
  server_version: z.string(),
  /** The version of the tables. */
  migration: z.number(),
  /** The root key, as each accepted master key wraps it. The master keys are not here. */
  wrapped_keys: z.array(z.object({ root_key_id: z.string(), master_key_id: z.string(), wrapped: z.string() })),
  /** The age recipient that can open the files. Null: they are not encrypted. */
  recipient: z.string().nullable(),
  tables: z.array(table),
  sequences: z.array(z.object({ name: z.string(), last: z.string(), isCalled: z.boolean() })),
  /** Lists the refs of each repository. */
  refs: storedFile,
  repositories: z.array(
    z.object({
      project_id: z.string(),
      kind: z.enum(['repositories', 'mirrors']),
      /** In the order in which they build on each other. */
      packs: z.array(storedFile),
    }),
  ),
  /** Repositories that could not be read. `home` names the server that has one; unset: the server that was backed up. */
  missing: z.array(
    z.object({
      project_id: z.string(),
      slug: z.string().optional(),
      home: z.string().optional(),
      reason: z.string(),
    }),
  ),
  /** Projects that were purged after the snapshot, before their repositories were read. A restore leaves them out. */
  purged: z.array(z.object({ project_id: z.string(), slug: z.string() })).optional(),
  /** What this backup added to the folder. */
  added_bytes: z.number(),
})
export type Manifest = z.infer<typeof manifest>

/** With the checksum of everything else in it, as the last field. */
export function manifestText(content: Manifest): string {
  return `${JSON.stringify({ ...content, sha256: checksumOf(content) }, null, 1)}\n`
}

const checksumOf = (content: object) => createHash('sha256').update(JSON.stringify(content)).digest('hex')

export function parseManifest(text: string, path: string): Manifest {
  const value = parseJson(text)
  // Manifests of earlier versions have no checksum.
  const { sha256, ...content } = (value ?? {}) as { format?: unknown; sha256?: unknown }
  if (sha256 !== undefined && sha256 !== checksumOf(content))
    throw new StartupError(`${path} is damaged: it differs from its checksum. Use another backup.`)
  const { format } = content
  if (typeof format === 'number' && format > backupFormat)
    throw new StartupError(
      `${path} was written by a newer svc (format ${format}, this program supports ${backupFormat}). Use that version.`,
    )
  const parsed = manifest.safeParse(value)
  if (parsed.success) return parsed.data
  throw new StartupError(`${path} is not the manifest of a backup, or it is damaged. Use another backup.`)
}
