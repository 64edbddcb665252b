import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type AddressInfo, createServer } from 'node:net'
import type { ErrorBody, ExaminedGroup } from '@svc/contract'
import { sql } from 'kysely'
import pino from 'pino'
import { buildApp } from '../app.ts'
import { type Database, openDatabase } from '../db/pool.ts'
import { withClient } from '../db/testing-cluster.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { until } from '../testing-until.ts'

const metricsToken = 'a-token-of-the-operator'
let app: TestApp
let away: Database
let served: ReturnType<typeof buildApp>
const logged: string[] = []
beforeAll(async () => {
  app = await makeTestApp({ configure: { metricsToken } })
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) })
  // Nothing listens on port 1, as with a stopped database.
  away = openDatabase('postgres://user:hunter2@127.0.0.1:1/svc', log)
  served = buildApp({ ...app.deps, db: away.db, locks: away.locks, log })
}, 120_000)
afterAll(async () => {
  await away.close()
  await app.close()
})

async function ask(method: string, path: string, body?: object) {
  const { publicUrl } = app.deps.config
  const response = await served.request(publicUrl + path, {
    method,
    headers: { host: new URL(publicUrl).host, authorization: `Bearer ${app.ownerToken}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, headers: response.headers, body: (await response.json()) as ErrorBody }
}

describe('while the database is unavailable', () => {
  test.each([
    ['GET', '/v1/accounts/me'],
    ['GET', '/v1/projects'],
    ['POST', '/v1/projects'],
    ['GET', '/v1/ready'],
    ['GET', '/v1/projects/00000000-0000-4000-8000-000000000000'],
    ['GET', '/v1/sandboxes/00000000-0000-4000-8000-000000000000/svc/health'],
  ])('%s %s answers 503 with Retry-After and no detail of the database', async (method, path) => {
    const { status, headers, body } = await ask(method, path, method === 'POST' ? { name: 'x' } : undefined)
    expect([status, body.code]).toEqual([503, 'unavailable'])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(headers.get('x-request-id')).toBeString()
    expect([method, body.hint?.includes('Idempotency-Key')]).toEqual([method, method === 'POST'])
    expect(JSON.stringify(body)).not.toMatch(/postgres|hunter2|127\.0\.0\.1|ECONN/)
  })

  test('answers routes that need no database', async () => {
    expect((await ask('GET', '/v1/health')).status).toBe(200)
    expect((await ask('GET', '/v1/openapi.json')).status).toBe(200)
  })

  test('logs the reason without the password', () => {
    expect(logged.join('')).toContain('ECONNREFUSED')
    expect(logged.join('')).not.toContain('hunter2')
  })
})

test('answers 503 when a new connection breaks before the database greets', async () => {
  // As a proxy does whose database is away.
  const proxy = createServer((socket) => void socket.once('data', () => socket.resetAndDestroy()))
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const { port } = proxy.address() as AddressInfo
  const broken = openDatabase(`postgres://user@127.0.0.1:${port}/svc`, app.deps.log)
  served = buildApp({ ...app.deps, db: broken.db, locks: broken.locks })
  try {
    const { status, body } = await ask('GET', '/v1/projects')
    expect([status, body.code]).toEqual([503, 'unavailable'])
  } finally {
    await broken.close()
    proxy.close()
  }
})

test('answers changes with 503 while the database is read-only, and goes on reading', async () => {
  const url = new URL(app.deps.config.databaseUrl!)
  const name = url.pathname.slice(1)
  const set = (value: 'on' | 'off') =>
    withClient(url.href, async (client) => {
      await client.query('set default_transaction_read_only = off')
      await client.query(`alter database "${name}" set default_transaction_read_only = ${value}`)
    })
  const writable = async () => {
    const { publicUrl } = app.deps.config
    const headers = { host: new URL(publicUrl).host, authorization: `Bearer ${metricsToken}` }
    const text = await (await served.request(`${publicUrl}/metrics`, { headers })).text()
    return /^svc_database_writable (\d)$/m.exec(text)?.[1]
  }
  await set('on')
  const standby = openDatabase(url.href, app.deps.log)
  served = buildApp({ ...app.deps, db: standby.db, locks: standby.locks })
  try {
    const refused = await ask('POST', '/v1/projects', { name: 'x' })
    expect([refused.status, refused.body.code]).toEqual([503, 'unavailable'])
    expect(refused.body.error).toBe('The database is read-only, as during a failover.')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await ask('GET', '/v1/projects')).status).toBe(200)
    const ready = await ask('GET', '/v1/ready')
    expect([ready.status, ready.body.database]).toEqual([
      200,
      { ready: false, problem: 'The database is read-only, so every change is refused.' },
    ])
    const { groups } = (await ask('GET', '/v1/doctor')).body as unknown as { groups: ExaminedGroup[] }
    expect(groups.flatMap(({ findings }) => findings).find(({ name }) => name === 'database')).toMatchObject({
      ...{ state: 'missing', says: expect.stringContaining('It is read-only, so every change is refused') },
      mend: expect.stringContaining('default_transaction_read_only is on'),
    })
    expect(await writable()).toBe('0')
    await set('off')
    // Connections from before would stay read-only.
    await until('changes are accepted', async () => (await ask('POST', '/v1/projects', { name: 'x' })).status === 201)
    expect(await writable()).toBe('1')
  } finally {
    await standby.close()
    await set('off')
  }
})

test('goes on with its connections while PostgreSQL accepts no more, and says so without any', async () => {
  const url = new URL(app.deps.config.databaseUrl!)
  const role = `limited_${url.pathname.slice(1)}`
  const run = (text: string) => withClient(app.deps.config.databaseUrl!, (client) => client.query(text))
  // A superuser has no limit.
  await run(`create role ${role} login password 'x' connection limit 0;
    grant all on all tables in schema public to ${role}; grant all on all sequences in schema public to ${role}`)
  Object.assign(url, { username: role, password: 'x' })
  const limited = openDatabase(url.href, app.deps.log)
  served = buildApp({ ...app.deps, db: limited.db, locks: limited.locks })
  try {
    const { status, headers, body } = await ask('GET', '/v1/projects')
    expect([status, body.code, body.error]).toEqual([503, 'unavailable', 'The database accepts no more connections.'])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    await run(`alter role ${role} connection limit 1`)
    expect((await ask('GET', '/v1/projects')).status).toBe(200)
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask('GET', '/v1/projects')))
    expect(answers.map((each) => each.status)).toEqual(answers.map(() => 200))
    await run(`alter role ${role} connection limit 8`)
    await until('the pool grows again', async () => {
      await Promise.all(Array.from({ length: 10 }, () => ask('GET', '/v1/projects')))
      return limited.pools.queries.totalCount > 1
    })
  } finally {
    await limited.close()
    await run(`drop owned by ${role}; drop role ${role}`)
  }
})

test.each([
  ['postgres://db.example.com/svc', 'The disk of the database is full', 'free space there'],
  [null, 'The disk of this server is full', 'free space in the data folder'],
])(
  'with DATABASE_URL %p, a full disk of PostgreSQL is answered with whose it is',
  async (databaseUrl, message, hint) => {
    const { db, config } = app.deps
    // As PostgreSQL answers an insert that finds no space.
    await sql`create function full_disk() returns trigger language plpgsql
    as $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`.execute(db)
    await sql`create trigger full_disk before insert on projects execute function full_disk()`.execute(db)
    served = buildApp({ ...app.deps, config: { ...config, databaseUrl } })
    try {
      const { status, body } = await ask('POST', '/v1/projects', { name: 'x' })
      expect([status, body]).toEqual([
        503,
        expect.objectContaining({
          error: expect.stringContaining(message),
          hint: expect.stringContaining(hint),
          waiting_for: 'operator',
        }),
      ])
    } finally {
      await sql`drop function full_disk cascade`.execute(db)
    }
  },
)

test('answers 503 when PostgreSQL ends the request, which waits for another transaction that waits for it', async () => {
  const { db, config } = app.deps
  await sql`create function meet() returns trigger language plpgsql as $$ begin
    perform pg_advisory_xact_lock(7, 1);
    while not exists (select from pg_locks where locktype = 'advisory' and classid = 7 and objid = 1 and not granted) loop
      perform pg_sleep(0.01);
    end loop;
    perform pg_advisory_xact_lock(7, 2);
    return new;
  end $$`.execute(db)
  await sql`create trigger meet before insert on projects execute function meet()`.execute(db)
  served = buildApp(app.deps)
  try {
    await withClient(config.databaseUrl!, async (other) => {
      // PostgreSQL ends the transaction that looks for a deadlock first.
      await other.query(`set deadlock_timeout = '60s'`)
      await other.query('begin')
      await other.query('select pg_advisory_xact_lock(7, 2)')
      const answer = ask('POST', '/v1/projects', { name: 'deadlocked' })
      await until('the lock of the request', async () => {
        const { rows } = await other.query(
          `select from pg_locks where locktype = 'advisory' and classid = 7 and objid = 1`,
        )
        return rows.length > 0
      })
      await other.query('select pg_advisory_xact_lock(7, 1)')
      await other.query('rollback')
      const { status, headers, body } = await answer
      expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'unavailable', '2'])
      expect(body.hint).toContain('Idempotency-Key')
    })
  } finally {
    await sql`drop function meet cascade`.execute(db)
  }
})

test('answers 503 when a statement waits too long for a lock', async () => {
  const url = app.deps.config.databaseUrl!
  const hasty = openDatabase(url, app.deps.log, { statementMsMax: 300, answerMsMax: 35_000 })
  served = buildApp({ ...app.deps, db: hasty.db, locks: hasty.locks })
  try {
    await withClient(url, async (other) => {
      await other.query('begin')
      await other.query('lock table projects in exclusive mode')
      const { status, body } = await ask('POST', '/v1/projects', { name: 'locked' })
      expect([status, body.code, body.error]).toEqual([
        503,
        'unavailable',
        'The database was too busy to finish this request.',
      ])
    })
  } finally {
    await hasty.close()
  }
})

test('answers 503 when a connection breaks during a request, and serves the next request', async () => {
  const dying = openDatabase(app.deps.config.databaseUrl!, app.deps.log)
  const one = buildApp({ ...app.deps, db: dying.db, locks: dying.locks })
  const { publicUrl } = app.deps.config
  const projects = () =>
    one.request(`${publicUrl}/v1/projects`, {
      headers: { host: new URL(publicUrl).host, authorization: `Bearer ${app.ownerToken}` },
    })
  try {
    expect((await projects()).status).toBe(200)
    const { sql } = await import('kysely')
    // Every connection but this query's own, as a restart of the database does.
    await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`.execute(app.deps.db)
    const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await projects()).status))
    for (const status of statuses) expect([200, 503]).toContain(status)
    expect((await projects()).status).toBe(200)
  } finally {
    await dying.close()
  }
})
