/** The server for its operators: what works, what uses the disk, and the servers of the database. */
import { scarceFactor } from '@svc/contract/schemas/disk-space'
import { sizeText } from '@svc/contract/schemas/quotas'
import { Check, CircleAlert, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { Read } from '../../components/requests.tsx'
import { Card, Page } from '../../ui/layout.tsx'
import { Meter } from '../../ui/meter.tsx'
import { Time, withCode } from '../../ui/text.tsx'
import { type Examined, examined, type Server, servers, type Storage, storage } from './queries.ts'

export function ServerPage() {
  return (
    <Page title="Server">
      <Read query={examined} what="the findings">
        {(found) => <Findings of={found} />}
      </Read>
      <Read query={storage} what="what uses the disk">
        {(found) => <StorageCards of={found} />}
      </Read>
      <Read query={servers} what="the servers">
        {(found) => (found.length > 1 ? <Servers of={found} /> : null)}
      </Read>
    </Page>
  )
}

type Finding = Examined['groups'][number]['findings'][number]

const marks = {
  good: { Icon: Check, tone: 'text-good', word: 'Good' },
  weak: { Icon: TriangleAlert, tone: 'text-warn', word: 'Weak' },
  missing: { Icon: CircleAlert, tone: 'text-bad', word: 'Not working' },
} as const

function Findings({ of: { groups, examined_at: at, server } }: { of: Examined }) {
  const problems = groups.flatMap(({ findings }) => findings).filter(({ state }) => state !== 'good')
  return (
    <Card title={server === null ? 'Health' : `Health of ${server}`}>
      <p className="border-b border-line px-4 py-3 text-sm text-dim">
        {problems.length === 0
          ? 'Everything that was examined works.'
          : `${problems.length} ${problems.length === 1 ? 'finding needs' : 'findings need'} a look.`}{' '}
        Examined <Time at={at} />.
      </p>
      {groups.map(({ name, findings }) => (
        <section key={name} aria-label={name} className="border-b border-line px-4 py-3 last:border-b-0">
          <h3 className="pb-1 text-sm font-medium first-letter:uppercase">{name}</h3>
          <ul className="flex flex-col gap-1.5">
            {findings.map((finding) => (
              <FindingItem key={finding.name} of={finding} />
            ))}
          </ul>
        </section>
      ))}
    </Card>
  )
}

function FindingItem({ of: { name, state, says, mend } }: { of: Finding }) {
  const { Icon, tone, word } = marks[state]
  return (
    <li className="flex gap-2 text-sm">
      <Icon size={16} className={`mt-0.5 flex-none ${tone}`} aria-hidden />
      <div className="min-w-0 wrap-anywhere">
        <span className="sr-only">{word}: </span>
        <span className="font-medium">{name}</span> <span className="text-dim">{withCode(says)}</span>
        {mend !== null && <p className="text-dim">{withCode(mend)}</p>}
      </div>
    </li>
  )
}

const folderNames: Record<Storage['folders'][number]['kind'], string> = {
  ...{ database_log: 'Log of the database', unused_database: 'A database that is not in use' },
  ...{ logs: 'Logs', copies: 'Copies', backups: 'Backups' },
}

function StorageCards({ of: { disk, database_bytes: database, folders, kept, projects } }: { of: Storage }) {
  const used = disk.total_bytes - disk.free_bytes
  return (
    <>
      <Card title="Disk and database">
        <div className="flex flex-col gap-1.5 px-4 py-3 text-sm">
          <Meter
            of="Disk"
            label="Disk"
            words={{ reached: 'full', near: 'almost full' }}
            used={used}
            limit={Math.max(1, disk.total_bytes - disk.min_free_bytes)}
            nearAt={disk.total_bytes - disk.min_free_bytes * scarceFactor}
            text={`${sizeText(disk.free_bytes)} of ${sizeText(disk.total_bytes)} free`}
          />
          <p className="text-dim">
            Below {sizeText(disk.min_free_bytes)} the server starts no new work. The database has {sizeText(database)}.
          </p>
          {folders.map(({ kind, path, bytes }) => (
            <p key={path} className="wrap-anywhere text-dim">
              {folderNames[kind]}: {sizeText(bytes)} in <code>{path}</code>
            </p>
          ))}
        </div>
        <Table
          label="How long rows are kept"
          columns={['Kind', 'Kept', 'Rows', 'Size', 'Oldest', 'Setting']}
          rows={kept.map((row) => [
            row.kind,
            row.keep_days === null ? 'forever' : `${row.keep_days} days`,
            row.rows.toLocaleString('en'),
            sizeText(row.bytes),
            row.oldest_at === null ? '' : <Time key="oldest" at={row.oldest_at} />,
            <code key="setting">{row.setting}</code>,
          ])}
        />
      </Card>
      {projects.length > 0 && (
        <Card title="Largest projects">
          <Table
            label="Largest projects"
            columns={['Project', 'Repository', 'Unfinished work', 'Transcripts', 'Check logs']}
            rows={projects.map((row) => [
              row.deleted ? `${row.slug} (deleted)` : row.slug,
              row.repository_bytes === null ? `at ${row.server ?? 'another server'}` : sizeText(row.repository_bytes),
              sizeText(row.unfinished_work_bytes),
              sizeText(row.transcript_bytes),
              sizeText(row.check_log_bytes),
            ])}
          />
        </Card>
      )}
    </>
  )
}

function Servers({ of: list }: { of: Server[] }) {
  return (
    <Card title="Servers">
      <Table
        label="Servers"
        columns={['Server', 'State', 'Projects', 'Last seen']}
        rows={list.map((row) => [
          row.name,
          stateOf(row),
          String(row.projects),
          row.last_seen === null ? '' : <Time key="seen" at={row.last_seen} />,
        ])}
      />
    </Card>
  )
}

function stateOf({
  running,
  reachable,
  draining,
  keeps_projects: keeps,
  sandboxes,
  clock_ahead_seconds,
  disk_low,
}: Server): string {
  if (!running) return 'not running'
  if (reachable === false) return 'not reachable'
  if (draining) return 'draining'
  if (clock_ahead_seconds != null) return 'running, wrong clock'
  if (disk_low) return 'running, full disk'
  if (sandboxes === 'missing') return 'running, no sandboxes'
  return keeps ? 'running' : 'running, keeps no projects'
}

/** Scrolls sideways on a narrow screen, also by keyboard; a shadow marks a cut edge. The first cell names its row. */
function Table({ label, columns, rows }: { label: string; columns: string[]; rows: ReactNode[][] }) {
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div
      className="scroll-shadow overflow-x-auto border-t border-line first:border-t-0"
      role="region"
      aria-label={label}
      tabIndex={0}
    >
      <table className="w-full text-left text-sm whitespace-nowrap">
        <thead>
          <tr className="text-dim">
            {columns.map((column) => (
              <th key={column} scope="col" className="px-4 py-2 font-normal">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([first, ...cells], at) => (
            <tr key={at} className="border-t border-line">
              <th scope="row" className="px-4 py-2 font-medium">
                {first}
              </th>
              {cells.map((cell, column) => (
                <td key={columns[column + 1]} className="px-4 py-2 tabular-nums">
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
