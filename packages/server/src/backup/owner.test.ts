/** Backups that root makes of the data of another user, whose server goes on with the same files. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chown, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeTestApp, type TestApp } from '../test-app.ts'
import { backUp } from './back-up.ts'

setDefaultTimeout(120_000)

const asRoot = test.if(process.getuid?.() === 0)
const client = join(import.meta.dir, '../../../svc/src/main.ts')
const [user, other] = [4242, 4343]
let app: TestApp
let dir: string
beforeAll(async () => {
  app = await makeTestApp()
  dir = await mkdtemp(join(tmpdir(), 'svc-owner-'))
})
afterAll(async () => {
  await app.close()
  await rm(dir, { recursive: true, force: true })
})

async function ownersIn(folder: string): Promise<number[]> {
  const paths = (await readdir(folder, { recursive: true })).map((name) => join(folder, name))
  return [...new Set(await Promise.all([folder, ...paths].map(async (path) => (await stat(path)).uid)))]
}

asRoot('a backup by root belongs to the owner of the data folder, or of a place that was there', async () => {
  const { dataDir } = app.deps.config
  await chown(dataDir, user, user)
  const keys = join(dir, 'keys')
  await mkdir(keys)
  await chown(keys, user, user)
  const back = (place: string) => backUp(app.deps.config, { place, keyFile: join(keys, 'key'), keep: null }, () => {})
  const made = join(dir, 'made/place')
  await back(made)
  expect(await ownersIn(join(dir, 'made'))).toEqual([user])
  await back(join(keys, 'one.tar'))
  expect(await ownersIn(keys)).toEqual([user])
  expect((await stat(join(dataDir, 'backup-places.json'))).uid).toBe(user)

  const there = join(dir, 'there')
  await mkdir(there)
  await chown(there, other, other)
  await back(there)
  expect(await ownersIn(there)).toEqual([other])
})

asRoot('root does not start the database of another user, whose files it would take over', async () => {
  const dataDir = join(dir, 'stopped')
  await mkdir(join(dataDir, 'postgres'), { recursive: true })
  await writeFile(join(dataDir, 'postgres/PG_VERSION'), '17\n')
  await chown(dataDir, user, user)
  const config = { ...app.deps.config, databaseUrl: null, dataDir }
  await expect(backUp(config, { place: join(dir, 'other'), keyFile: null, keep: null }, () => {})).rejects.toThrow(
    `The data folder ${dataDir} belongs to another user (${user}), and its database is stopped. Root would have to take its files over to start it. Run this command as that user, with the same settings: sudo -Hu '#${user}' ${process.execPath} ${client} …`,
  )
})

const nobody = 65_534

asRoot.each([['start --yes'], ['move-database postgresql://svc@127.0.0.1:1/svc']])(
  'root who runs %s on the folder of another user is told to run it as that user, and leaves no file there',
  async (command) => {
    const dataDir = await mkdtemp(join(dir, 'theirs-'))
    await chown(dataDir, nobody, nobody)
    const child = Bun.spawn([process.execPath, client, 'self-host', ...command.split(' ')], {
      ...{ stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' },
      env: { PATH: process.env.PATH, HOME: dir, SVC_DATA_DIR: dataDir, SVC_SANDBOX_DRIVER: 'none', SVC_PORT: '0' },
    })
    const said = await new Response(child.stderr).text()
    expect(await child.exited).toBe(1)
    expect(said).toContain(`The data folder ${dataDir} belongs to another user (nobody, ${nobody}). Root would`)
    expect(said).toContain(`with the same settings: sudo -Hu nobody ${process.execPath} ${client} …`)
    expect(said).not.toContain('chown')
    expect(await readdir(dataDir)).toEqual([])
  },
)
