/** Commands beside a server whose embedded database cannot run, because the disk is full. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeToken } from '@svc/contract'
import { SmallDisk } from '../testing-small-disk.ts'
import { until } from '../testing-until.ts'
import { programOf } from './testing-program.ts'
import { type BootedServer, bootServer } from './testing-server.ts'

setDefaultTimeout(300_000)

let dir: string
let data: string
let disk: SmallDisk | null = null
let server: BootedServer | null = null
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-down-'))
  data = join(dir, 'data')
  disk = await SmallDisk.mount(data, '200m', 755)
})
afterAll(async () => {
  server?.child.kill('SIGKILL')
  await server?.child.exited
  disk?.unmount()
  await rm(dir, { recursive: true, force: true })
})

async function selfHost(...args: string[]) {
  const child = Bun.spawn([...(await programOf('svc')), 'self-host', ...args], {
    stdout: 'pipe',
    stderr: 'pipe',
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: dir,
      SVC_DATA_DIR: data,
      SVC_MASTER_KEY_FILE: join(dir, 'master.key'),
      SVC_SANDBOX_DRIVER: 'none',
    },
    timeout: 120_000,
  })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, text: stdout + stderr }
}

test('names the embedded database that cannot run and its full disk, and no DATABASE_URL', async () => {
  if (disk === null) return
  const token = makeToken((count) => crypto.getRandomValues(new Uint8Array(count)))
  server = await bootServer({ dir, databaseUrl: '', token }, () => {})
  expect(server.url, server.url === null ? await server.errors() : '').not.toBeNull()
  await disk.fill()
  process.kill(Number((await readFile(join(data, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0]), 'SIGKILL')
  const status = await until('its end is seen', async () => {
    const { text } = await selfHost('status')
    return text.includes('its disk is full, so it cannot run') && text
  })
  expect(status).toContain('running, but its database does not answer')
  expect(status).toContain('The server starts it again by itself.')
  for (const args of [['check'], ['backup', join(dir, 'backups')], ['rotate-key']]) {
    const { code, text } = await selfHost(...args)
    expect([args, code, text]).toEqual([
      args,
      1,
      expect.stringContaining('embedded database does not: its disk is full'),
    ])
    expect(text).not.toContain('DATABASE_URL')
  }
  const { text: doctor } = await selfHost('doctor')
  expect(doctor).toContain('the embedded PostgreSQL cannot run, because its disk is full')
  expect(doctor).not.toContain('DATABASE_URL')
  await rm(disk.filler)
  await until('the database is back', async () => (await selfHost('check')).code === 0)
})
