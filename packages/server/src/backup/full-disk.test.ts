/** A backup of a server whose data disk has no byte left, to another disk. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { parseConfig } from '../config.ts'
import { runningDatabase } from '../db/embedded/running.ts'
import { fillWithServer } from '../startup/testing-move.ts'
import { bootServer } from '../startup/testing-server.ts'
import { SmallDisk } from '../testing-small-disk.ts'
import { backUp } from './back-up.ts'

setDefaultTimeout(120_000)

let dir: string
let data: string
let disk: SmallDisk | null = null
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-full-'))
  data = join(dir, 'data')
  disk = await SmallDisk.mount(data, '150m')
})
afterAll(async () => {
  disk?.unmount()
  await rm(dir, { recursive: true, force: true })
})

test('a backup of a server with a full disk is made, or says that the disk is full, and the doctor says what to do', async () => {
  if (disk === null) return
  const { token } = await fillWithServer('', dir)
  const { child, url: server } = await bootServer({ dir, databaseUrl: '', token }, () => {})
  const config = parseConfig({
    ...{ HOME: dir, SVC_DATA_DIR: data, SVC_MASTER_KEY_FILE: join(dir, 'master.key'), SVC_SANDBOX_DRIVER: 'none' },
  })
  const backUpTo = (name: string) => backUp(config, { place: join(dir, name), keyFile: null, keep: null }, () => {})
  try {
    const url = await runningDatabase(join(data, 'postgres'))
    const client = new pg.Client({ connectionString: url! })
    await client.connect()
    await disk.fill()
    const doctor = await fetch(`${server}/v1/doctor`, { headers: { authorization: `Bearer ${token}` } })
    expect(await doctor.text()).toContain('Deletions can fail on a disk this full. First free some space by hand')
    expect(await backUpTo('while-full')).toMatchObject({ repositories: 1, missing: [] })

    // A vacuum removes PostgreSQL's file of caches, and the next connection writes it.
    await client.end()
    await rm(join(data, 'postgres/base/5/pg_internal.init'), { force: true })
    await disk.fill()
    await expect(backUpTo('without-caches')).rejects.toThrow(
      /^The disk that holds .* is full, so the database of the running server takes no new/,
    )
  } finally {
    child.kill('SIGTERM')
    await child.exited
  }

  // Room for the start of a stopped database, and not for its caches.
  await rm(join(data, 'postgres/base/5/pg_internal.init'), { force: true })
  await disk.fill()
  const { size } = await stat(disk.filler)
  await truncate(disk.filler, size - 64 * 1024)
  await expect(backUpTo('while-stopped')).rejects.toThrow(
    `The disk that holds ${join(data, 'postgres')} is full: free some space and start again.`,
  )
})
