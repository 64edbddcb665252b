/** Backups on the disk of the data leave the space below which the server takes no new work. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Config, parseConfig } from '../../config.ts'
import { migrate } from '../../db/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../../db/testing-cluster.ts'
import { fillWithServer } from '../../startup/testing-move.ts'
import { bootServer } from '../../startup/testing-server.ts'
import { measureFileSystem } from '../../storage/disk-watch.ts'
import { SmallDisk } from '../../testing-small-disk.ts'
import { backUp } from '../back-up.ts'
import { describeBackups } from '../list.ts'

setDefaultTimeout(120_000)

const mebibyte = 1024 ** 2

let dir: string
let disk: SmallDisk | null = null
let database: TestDatabase
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-room-'))
  disk = await SmallDisk.mount(join(dir, 'disk'), '150m')
  database = await createTestDatabase({ name: 'server', prepare: migrate })
})
afterAll(async () => {
  disk?.unmount()
  await database.drop()
  await rm(dir, { recursive: true, force: true })
})

function git(cwd: string, ...args: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(['git', '-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd })
  if (exitCode !== 0) throw new Error(stderr.toString())
}

async function push(clone: string, branch: string, content: string | Uint8Array): Promise<void> {
  await writeFile(join(clone, branch), content)
  git(clone, 'add', '.')
  git(clone, 'commit', '--quiet', '-m', branch)
  git(clone, 'push', '--quiet', 'origin', `HEAD:refs/heads/${branch}`)
}

test('a backup beside the data stops before it takes the space for work, and leaves nothing that no backup needs', async () => {
  if (disk === null) return
  const { path } = disk
  const env = { SVC_DATA_DIR: join(path, 'data'), SVC_DISK_FREE_MIN: '1MiB' }
  const { token, projectId } = await fillWithServer(database.url, dir, env)
  const { child, url } = await bootServer({ dir, databaseUrl: database.url, token, env }, () => {})
  try {
    const clone = async (project_id: string) => {
      const gateway = new URL(`${url}/v1/projects/${project_id}/git`)
      ;[gateway.username, gateway.password] = ['x-access-token', token]
      const into = join(dir, project_id)
      git(dir, 'init', '--quiet', into)
      git(into, 'remote', 'add', 'origin', gateway.href)
      await push(into, 'main', randomBytes(mebibyte))
      return into
    }
    const small = await clone(projectId)
    const reply = await fetch(`${url}/v1/projects`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'large' }),
    })
    const large = await clone(((await reply.json()) as { project_id: string }).project_id)
    const config = parseConfig({ ...env, HOME: dir, DATABASE_URL: database.url, SVC_SANDBOX_DRIVER: 'none' })
    const place = join(path, 'backups')
    const backUpWith = (more: Partial<Config>) =>
      backUp({ ...config, ...more }, { place, keyFile: null, keep: null }, () => {})
    const files = async () => (await readdir(place, { recursive: true })).toSorted()
    const free = async () => (await measureFileSystem(path)).freeBytes
    await backUpWith({})
    const before = await files()

    await push(small, 'more', 'more')
    await push(large, 'large', randomBytes(40 * mebibyte))
    const [had, least] = [await free(), (await free()) - 20 * mebibyte]
    const refused = backUpWith({ diskFreeBytesMin: least })
    await expect(refused).rejects.toThrow(`${place} is on the disk of the data, where a backup would leave less than`)
    expect([await files(), (await free()) > had - mebibyte]).toEqual([before, true])

    // The next one goes on from the last whole one.
    const { added_bytes } = await backUpWith({})
    expect(added_bytes).toBeLessThan(41 * mebibyte)
    const listed = await describeBackups(config, { place, verify: true }, () => {})
    expect(listed).toMatchObject({ backups: [{}, {}], damaged: [], unneeded_bytes: 0 })
  } finally {
    child.kill('SIGTERM')
    await child.exited
  }
})
