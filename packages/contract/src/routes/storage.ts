import { z } from 'zod'
import { named, route, timestamp, uuid } from '../route.ts'

/** The server deletes old rows of these kinds. Operators see them in this order. */
export const retentionKinds = [
  'events',
  'deliveries',
  'checks',
  'deploys',
  'firings',
  'transcripts',
  'branches',
  'audit',
] as const
export type RetentionKind = (typeof retentionKinds)[number]

const bytes = z.number().int().nonnegative()

export const keptRows = named('KeptRows', {
  kind: z.enum(retentionKinds),
  setting: z.string().describe('The variable of the server that sets the period, such as SVC_KEEP_EVENTS.'),
  keep_days: z.number().int().nullable().describe('Older rows are deleted. Null: never.'),
  rows: z.number().int().describe('Above 10,000 as PostgreSQL last counted them, so approximately.'),
  bytes: bytes.describe('The size of the tables with their indexes. Their space is used again after rows are deleted.'),
  oldest_at: timestamp.nullable(),
})
export type KeptRows = z.infer<typeof keptRows>

export const projectBytes = named('ProjectBytes', {
  project_id: uuid,
  slug: z.string(),
  server: z.string().nullable().describe('The server that keeps the repository; null where a server runs alone.'),
  repository_bytes: bytes.nullable().describe('Null when another server keeps it.'),
  unfinished_work_bytes: bytes,
  transcript_bytes: bytes,
  check_log_bytes: bytes,
  deleted: z.boolean().describe('Deleted, and uses the space until it is purged.'),
})
export type ProjectBytes = z.infer<typeof projectBytes>

export const folderBytes = named('FolderBytes', {
  kind: z
    .enum(['database_log', 'unused_database', 'logs', 'copies', 'backups'])
    .describe(
      '`database_log`: the write-ahead log of the embedded database. `unused_database`: an embedded database in the data folder that the server does not use, as after a move; there may be several. `copies`: repositories of other servers.',
    ),
  path: z.string(),
  bytes,
})
export type FolderBytes = z.infer<typeof folderBytes>

export const getStorageRoute = route.get('user', '/v1/storage', {
  name: 'getStorage',
  summary: 'Get what uses the disk and the database, and how long it is kept',
  description:
    'Only for owners of the instance. The disk is that of the server that answers. Lists the projects that use the most.',
  query: z.object({ projects: z.coerce.number().int().min(0).max(100).default(20) }),
  reply: z.object({
    server: z
      .string()
      .nullable()
      .describe('The server that answers, whose disk it is; null where a server runs alone.'),
    disk: z.object({
      total_bytes: bytes,
      free_bytes: bytes,
      min_free_bytes: bytes.describe('With less free space, the server takes no new work.'),
    }),
    database_bytes: bytes,
    folders: z
      .array(folderBytes)
      .describe('What else uses the disk of the data, largest first: without repositories and rows of the database.'),
    kept: z.array(keptRows),
    projects: z.array(projectBytes).describe('Largest first.'),
  }),
})
