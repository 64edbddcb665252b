/** Sixteen kinds of secrets in a real session that prints its environment: the stored data, the replies and the logs contain none of them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { canaries, encodingsOfACanary } from '../../packages/server/src/redaction/testing-canaries.ts'
import { makeFirstCommit, Server, until } from './harness.ts'

const minute = 60_000
let server: Server
let project: string

beforeAll(async () => {
  server = await Server.start()
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'canaries'])).project_id
  await makeFirstCommit(server, project)
  for (const [name, value] of Object.entries(canaries)) {
    const set = await server.svc(['secrets', 'set', `${name}=-`, '--project', project], { input: value })
    expect(set.code).toBe(0)
  }
}, 3 * minute)
afterAll(async () => {
  await server?.end()
}, minute)

/** The arguments of every process: secrets reach programs in their environment, never in their arguments. */
function allArguments(): string {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      } catch {
        return ''
      }
    })
    .join('\n')
}

function leaksIn(text: string): string[] {
  return Object.entries(canaries).flatMap(([name, value]) =>
    encodingsOfACanary(value)
      .filter(([, encoded]) => text.includes(encoded.slice(2, -2)))
      .map(([as]) => `${name} as ${as}`),
  )
}

const everyShape = () =>
  Object.entries(canaries).flatMap(([name, value]) =>
    encodingsOfACanary(value).map(([as, encoded]) => ({ what: `${name} as ${as}`, bytes: Buffer.from(encoded) })),
  )

/** Tables, indexes, the write-ahead log, mirrors, folders of sandboxes: whatever the server wrote. */
function filesWith(folder: string, shapes = everyShape()): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const path = join(entry.parentPath, entry.name)
      let content: Buffer
      try {
        content = readFileSync(path)
      } catch {
        // Gone meanwhile.
        return []
      }
      return shapes.filter(({ bytes }) => content.includes(bytes)).map(({ what }) => `${what} in ${path}`)
    })
}

/** Every row of every table and what each connection asked last, as pg_dump would write them; bytes also as they are. */
async function dumpDatabase(): Promise<string[]> {
  const [, , , , socket = ''] = readFileSync(join(server.dir, 'data/postgres/postmaster.pid'), 'utf8').split('\n')
  const connectionString = `postgresql://svc@localhost/postgres?host=${encodeURIComponent(socket)}`
  // A value as the database sends it, without parsing its type.
  const db = new pg.Client({ connectionString, types: { getTypeParser: () => (text: string) => text } as never })
  await db.connect()
  try {
    const { rows: tables } = await db.query<{ name: string }>(
      `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p', 'm') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`,
    )
    const dumps = [
      `\n${(await db.query<{ query: string }>('select query from pg_stat_activity')).rows.map(({ query }) => query).join('\n')}`,
    ]
    for (const { name } of tables) {
      const { rows } = await db.query<Record<string, string | null>>(`select * from ${name}`)
      const values = rows.flatMap((row) => Object.values(row)).filter((value) => value !== null)
      const bytes = values.filter((value) => value.startsWith('\\x')).map((value) => Buffer.from(value.slice(2), 'hex'))
      dumps.push(
        [name, ...values, ...bytes.flatMap((each) => [each.toString('utf8'), each.toString('latin1')])].join('\n'),
      )
    }
    return dumps
  } finally {
    await db.end()
  }
}

/** Errors for requests that send a secret in the wrong place. */
async function refusals(session: string): Promise<string[]> {
  const base = `/v1/projects/${project}`
  const post = (path: string, body: string) =>
    server.api(base + path, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  const said: string[] = []
  for (const value of Object.values(canaries)) {
    const uri = encodeURIComponent(value)
    const replies = await Promise.all([
      post('/secrets', JSON.stringify({ name: 'SVC_CANARY', value })),
      post('/secrets', JSON.stringify({ name: `-${value}`, value: 'short' })),
      post('/secrets', `{"name": "X", "value": ${JSON.stringify(value)}, broken`),
      post('/sessions', JSON.stringify({ agent_name: value })),
      post('/sessions', JSON.stringify({ base_ref: value })),
      post('/change-requests', JSON.stringify({ title: 'x', head_ref: value })),
      post(`/sessions/${session}/prompt`, JSON.stringify({ text: [value] })),
      post(`/apps/${uri}/deploy`, ''),
      post(`/triggers/${uri}/fire`, ''),
      server.api(`${base}/file?ref=${uri}&path=${uri}`),
      server.api(`${base}/tree?ref=main&path=${uri}`),
      server.api(`${base}/sessions/${session}/preview?port=${uri}`),
      server.api(`${base}/change-requests?status=${uri}`),
      server.api(`${base}/${uri}`),
      server.api(`${base}/branches`, { token: value.replace(/[^!-~]/g, '') }),
    ])
    for (const reply of replies) {
      const text = await reply.text()
      expect(`${reply.status} ${text}`).toMatch(/^4\d\d \{"error":/)
      said.push(text)
    }
  }
  return said
}

test(
  'secrets that an agent prints in plain text, base64 and hex appear in no transcript, answer, error, log, argument, database or file of the server',
  async () => {
    const prompt = [
      '```svc-script',
      'env',
      'env | base64',
      'env | od -An -v -tx1 | tr -d " "',
      'printenv PEM',
      'echo "$SVC_CLI_TOKEN"',
      '```',
    ].join('\n')
    let seen = ''
    const watching = setInterval(() => (seen += allArguments()), 100)
    const session = await server.json<{ session_id: string }>([
      ...['sessions', 'new', '--no-wait', '--model', 'svc-scripted-demo', '--prompt', 'Wait.', '--project', project],
    ])
    const chat = await server.svc(['sessions', 'chat', session.session_id, '--project', project, '--prompt', prompt])
    clearInterval(watching)
    expect(`${chat.code} ${chat.stderr.slice(-500)}`).toStartWith('0')
    const transcript = await until('the transcript tells of it', async () => {
      const reply = await server.api(`/v1/projects/${project}/sessions/${session.session_id}/transcript`)
      const text = await reply.text()
      return text.includes('[redacted PLAIN]') ? text : null
    })
    expect(leaksIn(transcript)).toEqual([])
    expect(leaksIn(chat.stdout)).toEqual([])
    const said = await refusals(session.session_id)
    expect(said.flatMap((text) => leaksIn(text).map((leak) => `${leak} in ${text}`))).toEqual([])
    expect(said.join()).toContain('[redacted ')
    expect(leaksIn(server.output)).toEqual([])
    expect(leaksIn(seen)).toEqual([])
    const dump = await dumpDatabase()
    expect(dump.flatMap((table) => leaksIn(table).map((leak) => `${leak} in ${table.split('\n', 1)[0]}`))).toEqual([])
    // It is the whole of it: what was no secret is there, and sealed values are, as bytes.
    expect(dump.length).toBeGreaterThan(40)
    expect(dump.some((table) => table.startsWith('public.session_prompts\n') && table.includes('printenv PEM'))).toBe(
      true,
    )
    expect(seen).toContain('opencode')
    expect(filesWith(join(server.dir, 'data'))).toEqual([])
    // The same search finds what was no secret.
    expect(filesWith(join(server.dir, 'data'), [{ what: 'it', bytes: Buffer.from('printenv PEM') }])).not.toEqual([])
    // With all that PostgreSQL had in memory.
    await server.kill('SIGTERM')
    expect(filesWith(join(server.dir, 'data'))).toEqual([])
    expect(transcript).not.toMatch(/svc_(pat|sbx|llm)_[0-9A-Za-z]{20}/)
  },
  5 * minute,
)
