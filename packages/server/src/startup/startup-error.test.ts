import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { makeCertificate } from '@svc/git/testing'
import { migrate } from '../db/migrate.ts'
import { connect as connectTo } from '../db/move/connect.ts'
import { createTestDatabase, withClient } from '../db/testing-cluster.ts'
import { startupLine } from './startup-error.ts'

test('a database that does not answer during the start is one line for the operator', () => {
  const error = new Error('timeout exceeded when trying to connect')
  expect(startupLine(error, null)).toBe(
    'The database does not answer: timeout exceeded when trying to connect. Start again when it does.',
  )
  expect(startupLine(new Error('a bug'), null)).toBeNull()
})

test('a read-only database is named as such during the start', async () => {
  const database = await createTestDatabase({ name: 'empty', prepare: async () => {} })
  const url = new URL(database.url)
  url.searchParams.set('options', '-c default_transaction_read_only=on')
  try {
    const error = await migrate(url.href).catch((caught: unknown) => caught)
    expect(startupLine(error, null)).toMatch(
      /^The database is read-only, .* \(cannot execute CREATE .*\)\. Start again/,
    )
  } finally {
    await database.drop()
  }
})

test('a role that may not create tables is named, with the command that mends it', async () => {
  const database = await createTestDatabase({ name: 'empty', prepare: async () => {} })
  const role = `guest_${process.pid}`
  const url = new URL(database.url)
  try {
    await withClient(database.url, (client) => client.query(`create role ${role} login password 'guest'`))
    Object.assign(url, { username: role, password: 'guest' })
    const error = await migrate(url.href).catch((caught: unknown) => caught)
    const name = url.pathname.slice(1)
    expect(startupLine(error, { dataDir: '/srv/svc', databaseUrl: url.href })).toBe(
      `The role ${role} may not change the database ${name} (permission denied for schema public). Make it the owner there: ALTER DATABASE "${name}" OWNER TO "${role}"`,
    )
  } finally {
    await withClient(database.url, (client) => client.query(`drop role if exists ${role}`))
    await database.drop()
  }
})

test('a connection of a command that breaks is named as the database is', async () => {
  const database = await createTestDatabase({ name: 'empty', prepare: async () => {} })
  const url = new URL(database.url)
  const host = url.searchParams.get('host') ?? url.hostname
  const near: Socket[] = []
  const way = createServer((socket) => {
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.5432`) : connect(Number(url.port || 5432), host)
    near.push(socket.on('error', () => far.destroy()))
    socket
      .pipe(far)
      .on('error', () => socket.destroy())
      .pipe(socket)
  })
  await new Promise<void>((done) => way.listen(join(dir, '.s.PGSQL.5432'), done))
  url.searchParams.set('host', dir)
  try {
    const end = await connectTo(url.href)
    near[0]!.destroy()
    // It is written before the end of the connection is read.
    const error = await end.client.query('select 1').catch((caught: unknown) => caught)
    expect(startupLine(error, null)).toMatch(/^The connection to the database broke \(write E\w+\): PostgreSQL ended/)
    await end.close()
  } finally {
    way.close()
    await database.drop()
  }
})

test.if(process.getuid?.() === 0)(
  'a file of another user in a data folder of ours is named, with its remedy',
  async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'svc-foreign-'))
    const path = join(dataDir, 'backup-places.json')
    const error = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES', path })
    try {
      await writeFile(path, '{}')
      expect(startupLine(error, { dataDir })).toEndWith('Set SVC_DATA_DIR to a folder of your own.')
      await chown(path, 4242, 4242)
      expect(startupLine(error, { dataDir })).toBe(
        `${dataDir} cannot be written: EACCES: permission denied. ${path} belongs to another user (4242). Run: sudo chown -R 0 ${dataDir}`,
      )
    } finally {
      await rm(dataDir, { recursive: true })
    }
  },
)

let dir: string
const certified = makeCertificate('db.example')
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-database-tls-'))
  await writeFile(join(dir, 'cert'), certified.cert)
})
afterAll(() => rm(dir, { recursive: true }))

/** Answers the request for TLS as PostgreSQL does. */
async function lineOf(answer: 'S' | 'N', parameters: string): Promise<string | null> {
  const server: Server = createServer((socket) => {
    socket.once('data', () => {
      socket.write(answer)
      if (answer === 'S') new TLSSocket(socket, { isServer: true, ...certified }).on('error', () => socket.destroy())
    })
    socket.on('error', () => socket.destroy())
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  const databaseUrl = `postgresql://svc:secret@localhost:${port}/svc?${parameters}`
  try {
    const error = await migrate(databaseUrl).catch((caught: unknown) => caught)
    return startupLine(error, { dataDir: dir, databaseUrl })
  } finally {
    server.close()
  }
}

test('a certificate of PostgreSQL that is not trusted, or is for another host, is one line with the remedy', async () => {
  const remedy = 'sslmode=verify-full&sslrootcert=/etc/svc/ca.crt'
  for (const parameters of ['sslmode=require', 'sslmode=verify-full', `sslrootcert=${join(dir, 'cert')}`]) {
    const line = await lineOf('S', parameters)
    expect(line).toStartWith('The certificate of the database at DATABASE_URL is not accepted: ')
    expect(line).toEndWith(remedy)
  }
})

test('a PostgreSQL without TLS, and a missing file of its authority, are one line', async () => {
  expect(await lineOf('N', 'sslmode=verify-full')).toMatch(
    /^The database at DATABASE_URL \(svc@localhost:\d+\/svc\) cannot be used: The server does not support SSL connections\. Turn on TLS there, or remove sslmode from DATABASE_URL\.$/,
  )
  expect(await lineOf('S', `sslmode=verify-full&sslrootcert=${dir}/none`)).toBe(
    `The file ${dir}/none, which DATABASE_URL names, does not exist.`,
  )
})
