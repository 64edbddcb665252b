/** What is large: a conversation, change requests without number, a rewritten file, a change of many files. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import type { Server } from './harness.ts'

/** The server's own database, for what would take hours to come about. */
export async function withDatabase<T>(server: Server, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const lines = (await readFile(join(server.env.SVC_DATA_DIR!, 'postgres/postmaster.pid'), 'utf8')).split('\n')
  const client = new pg.Client({
    connectionString: `postgresql://svc@localhost/postgres?host=${encodeURIComponent(lines[4] ?? '')}`,
  })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Long before anything the session said itself; each says `This was said <n>.` */
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
