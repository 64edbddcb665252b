/** Large fixtures: a long conversation, thousands of change requests, a rewritten file, a change of many files. */
import { join } from 'node:path'
import type pg from 'pg'
import { withClient } from '../../packages/server/src/db/testing-cluster.ts'
import { embeddedDatabaseUrl, git, run, type Server } from './harness.ts'

/** The server's own database, for what would take hours to come about. */
export async function withDatabase<T>(server: Server, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return withClient(await embeddedDatabaseUrl(server.env.SVC_DATA_DIR!), work)
}

/**
 * Rows as the service writes them, every other one merged unless all are open, each with a branch of its own in the repository. Number n is
 * called `Change <n>`.
 */
export async function insertChangeRequests(
  server: Server,
  project: { project_id: string },
  count: number,
  { areOpen = false } = {},
): Promise<void> {
  const bare = join(server.env.SVC_DATA_DIR!, 'repositories', `${project.project_id}.git`)
  const base = await git(bare, 'rev-parse', 'refs/heads/main')
  const head = await git(bare, 'commit-tree', '-p', base, '-m', 'Work', `${base}^{tree}`)
  const refs = Array.from({ length: count }, (_, n) => `create refs/heads/work-${n + 1} ${head}\n`)
  const made = await run(['git', 'update-ref', '--stdin'], { cwd: bare, input: refs.join('') })
  if (made.code !== 0) throw new Error(made.stderr)
  await git(bare, 'pack-refs', '--all')
  await withDatabase(server, async (client) => {
    await client.query(
      `insert into change_requests (cr_id, account_id, project_id, number, title, description, base_ref, head_ref, status,
         base_commit_sha, head_commit_sha, merge_commit_sha, merged_at, metadata, created_at, updated_at)
       select gen_random_uuid(), account_id, project_id, n, 'Change ' || n, '', 'main', 'work-' || n,
         (case when n % $5::int = 0 then 'merged' else 'open' end)::change_request_status, $2, $3,
         case when n % $5::int = 0 then $3 end, case when n % $5::int = 0 then now() end, '{}',
         now() - make_interval(mins => $4 - n), now() - make_interval(mins => $4 - n)
       from projects, generate_series(1, $4::int) as n where project_id = $1`,
      [project.project_id, base, head, count, areOpen ? count + 1 : 2],
    )
    await client.query('update projects set next_cr_number = $2 where project_id = $1', [project.project_id, count + 1])
  })
}

/** Older than all messages of the session; each contains `This was said <n>.` */
export async function insertMessages(server: Server, session: string, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => ({
    message_id: `msg_${String(n).padStart(6, '0')}`,
    role: n % 5 === 0 ? 'user' : 'assistant',
    at: new Date(1_700_000_000_000 + n * 1_000),
    parts: partsOf(n),
  }))
  await withDatabase(server, (client) =>
    client.query(
      `insert into session_messages (session_id, message_id, generation, role, created_at, completed_at, parts, updated_at)
       select $1, message_id, 1, role, at, at, parts, at
       from jsonb_to_recordset($2) as t(message_id text, role text, at timestamptz, parts jsonb)`,
      [session, JSON.stringify(rows)],
    ),
  )
}

/** As another server of the same database keeps it: readers see it within moments. */
export async function insertLiveMessage(server: Server, session: string, text: string): Promise<void> {
  await withDatabase(server, (client) =>
    client.query(
      `insert into session_messages (session_id, message_id, generation, role, created_at, completed_at, parts)
       values ($1, $2, 1, 'assistant', now(), now(), $3)`,
      [session, `msg_live${Date.now()}`, JSON.stringify([{ type: 'text', id: 'live', text }])],
    ),
  )
}

function partsOf(n: number): object[] {
  if (n % 5 === 0) return [{ type: 'text', id: `t${n}`, text: `This was said ${n}. Go on with the next part, please.` }]
  const text = [
    `This was said ${n}.`,
    '',
    `The module \`part-${n}\` has **${n % 7} callers**, so it is changed in two steps:`,
    '',
    ...Array.from({ length: 1 + (n % 4) }, (_, step) => `- step ${step}: rename \`run${step}\` and its tests`),
    '',
    ...(n % 3 === 0 ? ['```ts', `export function run${n}() {`, `  return step(${n})`, '}', '```'] : []),
  ].join('\n')
  const tools = Array.from({ length: n % 4 }, (_, call) => ({
    type: 'tool',
    id: `c${n}.${call}`,
    tool: 'bash',
    status: 'completed',
    title: `grep -rn run${n} src`,
    input: JSON.stringify({ command: `grep -rn run${n} src` }),
    output: `src/part-${n}.ts:${call}: run${n}()\n`.repeat(20),
  }))
  return [...tools, { type: 'text', id: `t${n}`, text }]
}

/** Blocks of forty changed lines with ten kept ones between, as a rewritten file has them; `word` is what changes. */
export function longFile(word: string, changedLines: number): string {
  return Array.from({ length: (changedLines / 40) * 50 }, (_, n) =>
    n % 50 < 40
      ? `export const value${n} = compute({ name: 'it ${word} ${n}', size: ${n} }) // ${word} ${n % 7}\n`
      : `function kept${n}(one: string, other: number) { return one.repeat(other) }\n`,
  ).join('')
}

/** In sixty folders, two lines of each changed by `word`. */
export function manyFiles(word: string, count: number): Record<string, string> {
  const entries = Array.from({ length: count }, (_, n) => {
    const lines = Array.from({ length: 30 }, (_, line) =>
      line === 5 || line === 20 ? `  const place = '${word} ${n}.${line}'` : `  step(${line}, 'of', ${n})`,
    )
    return [`src/part-${n % 60}/module-${n}.ts`, `export function run${n}() {\n${lines.join('\n')}\n}\n`] as const
  })
  return Object.fromEntries(entries)
}
