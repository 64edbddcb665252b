/** Shows the operator how the disk and the database are used. */
import { sizeText } from '@svc/contract/schemas/quotas'
import { command } from '../../arguments/command.ts'
import { dim } from '../../terminal/output.ts'

const folderNames = {
  ...{ database_log: 'database log', unused_database: 'unused database' },
  ...{ logs: 'logs', copies: 'copies', backups: 'backups' },
} as const

export const storage = command({
  summary: 'Show what uses the disk and the database, and how long it is kept',
  about: [
    "Needs an owner of the server's first account. With several servers, the disk is that of the one that answers.",
  ],
  scope: 'host',
  flags: {
    projects: {
      kind: 'number',
      summary: 'How many of the largest projects (default: 20)',
      value: 'n',
      min: 0,
      max: 100,
    },
  },
  examples: ['svc self-host storage', 'svc self-host storage --projects 5 --json'],
  async run({ api, out }, { flags }) {
    const found = await api.get('/v1/storage', {
      query: flags.projects === undefined ? {} : { projects: flags.projects },
    })
    if (out.json) return out.document(found)
    const { disk, database_bytes, kept, projects } = found
    // Servers of earlier versions do not say it.
    const { folders = [] }: Partial<typeof found> = found
    out.fields([
      // Servers of earlier versions do not say it.
      ...(found.server == null ? [] : [['server', found.server] as [string, string]]),
      ['disk', `${sizeText(disk.free_bytes)} of ${sizeText(disk.total_bytes)} free`],
      ['no new work below', sizeText(disk.min_free_bytes)],
      ['database', sizeText(database_bytes)],
      ...folders.map(({ kind, path, bytes }): [string, string] => [folderNames[kind], `${sizeText(bytes)} in ${path}`]),
    ])
    out.line()
    out.table(kept, [
      { title: 'KIND', of: ({ kind }) => kind },
      { title: 'KEPT', of: ({ keep_days: days }) => (days === null ? 'forever' : `${days} days`) },
      { title: 'ROWS', of: ({ rows }) => String(rows) },
      { title: 'SIZE', of: ({ bytes }) => sizeText(bytes) },
      { title: 'OLDEST', of: ({ oldest_at }) => (oldest_at === null ? '' : out.time(oldest_at)) },
      { title: 'SETTING', of: ({ setting }) => dim(setting), shrink: true },
    ])
    if (projects.length === 0) return
    out.line()
    out.table(projects, [
      { title: 'PROJECT', of: ({ slug, deleted }) => (deleted ? `${slug} (deleted)` : slug), shrink: true },
      {
        title: 'REPOSITORY',
        of: ({ repository_bytes: bytes, server }) => (bytes === null ? dim(`at ${server ?? '?'}`) : sizeText(bytes)),
      },
      { title: 'UNFINISHED WORK', of: ({ unfinished_work_bytes: bytes }) => sizeText(bytes) },
      { title: 'TRANSCRIPTS', of: ({ transcript_bytes: bytes }) => sizeText(bytes) },
      { title: 'CHECK LOGS', of: ({ check_log_bytes: bytes }) => sizeText(bytes) },
    ])
  },
})
