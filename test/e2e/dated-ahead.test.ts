/** Backups that a clock which was ahead dated, and the removal of backups by name. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Manifest, manifestText } from '../../packages/server/src/backup/manifest.ts'
import { document } from './document.ts'
import { makeFirstCommit, program, removeFolder, run, Server } from './harness.ts'

setDefaultTimeout(300_000)

let server: Server
let dir: string
let place: string
let good: string
const ahead = ['20380119T031407Z-00000004', '20380120T031407Z-00000005']

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-ahead-'))
  place = join(dir, 'of one day')
  server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
  const { project_id } = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'kept'])
  await makeFirstCommit(server, project_id, { 'file.txt': 'first' })
  for (const id of ahead) await redate((await backUp()).backup_id, id)
  good = (await backUp()).backup_id
})
afterAll(async () => {
  await server?.end()
  await removeFolder(dir)
})

const selfHost = (args: string[], env: Record<string, string> = server.env) =>
  run([program, 'self-host', ...args], { env, cwd: dir })

const backUp = (...flags: string[]) =>
  document<{ backup_id: string; removed: string[]; backups: number }>(selfHost(['backup', place, '--json', ...flags]))

/** As if the clock had been ahead when the backup was made. */
async function redate(from: string, to: string): Promise<void> {
  const manifest = join(place, 'backups', `${from}.json`)
  const text = (await readFile(manifest, 'utf8')).replaceAll(from, to)
  const { sha256: _, ...content } = JSON.parse(text) as Manifest & { sha256: string }
  await writeFile(join(place, 'backups', `${to}.json`), manifestText(content))
  await rm(manifest)
  await rename(join(place, 'data', from), join(place, 'data', to))
}

async function restoreTo(name: string, ...flags: string[]) {
  const home = join(dir, name)
  await cp(server.env.SVC_MASTER_KEY_FILE!, join(home, 'master.key'), { recursive: true })
  const env = {
    ...{ ...server.env, HOME: home, SVC_PORT: '0', SVC_DATA_DIR: join(home, 'data') },
    ...{ SVC_MASTER_KEY_FILE: join(home, 'master.key'), SVC_CONFIG_FILE: join(home, 'config.json') },
  }
  return selfHost(['restore', place, ...flags], env)
}

test('a restore takes the newest backup that is not dated ahead, and names those that it left out', async () => {
  const { code, stdout, stderr } = await restoreTo('newest')
  expect([code, stdout + stderr]).toEqual([0, expect.stringContaining(`Restored: ${good}`)])
  expect(stdout + stderr).toContain(`2 backups dated later than the clock of this machine`)
  expect(stdout + stderr).toContain(ahead.join(', '))
  const chosen = await restoreTo('chosen', '--backup', ahead[1]!, '--json')
  expect(JSON.parse(chosen.stdout)).toMatchObject({ backup_id: ahead[1], left_out: [] })
})

test('the list marks backups that are dated ahead', async () => {
  const { stdout } = await selfHost(['backups', place])
  const marked = stdout.split('\n').filter((line) => line.includes('dated ahead of this clock'))
  expect(marked.map((line) => line.split(' ')[0])).toEqual(ahead.toReversed())
})

test('--keep neither counts nor removes backups that are dated ahead', async () => {
  const next = await backUp('--keep', '3')
  expect([next.removed, next.backups]).toEqual([[], 4])
  expect((await backUp('--keep', '2')).removed).toEqual([good])
})

test('backups --remove removes the named backups with their files, and the last good one only with --yes', async () => {
  const remove = (...args: string[]) => selfHost(['backups', place, ...args])
  const unknown = await remove('--remove', good)
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining(`has no backup ${good}`)])
  const done = await document(remove('--remove', ahead[0]!, '--remove', ahead[1]!, '--json'))
  expect(done).toMatchObject({ removed: ahead, backups: 2 })
  const left = (await readdir(join(place, 'data'))).toSorted()
  expect(await readdir(join(place, 'backups'))).toHaveLength(2)
  expect(left).toHaveLength(2)

  await document(remove('--remove', left[0]!, '--json'))
  const refused = await remove('--remove', left[1]!)
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain(`This leaves no complete backup in ${place}. Remove ${left[1]}?`)
  const both = await remove('--remove', left[1]!, '--remove', 'unfinished')
  expect([both.code, both.stderr]).toEqual([
    2,
    expect.stringContaining(`Remove ${left[1]} and what unfinished backups left?`),
  ])
  expect(refused.stderr).toContain(`svc self-host backups '${place}' --remove ${left[1]} --yes`)
  expect(await readdir(join(place, 'data'))).toEqual([left[1]!])
  await document(remove('--remove', left[1]!, '--yes', '--json'))
  expect((await readdir(place, { recursive: true })).toSorted()).toEqual(['backup.lock', 'svc-backups.json'])
  expect((await backUp()).backups).toBe(1)
})

test('a backup to a full place names the command that removes one, which works there', async () => {
  const small = join(dir, 'small')
  await mkdir(small)
  if (Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=8m,mode=700', 'tmpfs', small]).exitCode !== 0)
    return console.log('not run: this user cannot mount a small file system')
  try {
    const backups = join(small, 'backups')
    const { backup_id } = await document<{ backup_id: string }>(selfHost(['backup', backups, '--json']))
    const fill = async () => writeFile(join(small, 'filler'), new Uint8Array(1024), { flag: 'a' }).then(() => true)
    while (await fill().catch(() => false));
    const full = await selfHost(['backup', backups])
    expect(full.stderr).toContain(`or remove backups (svc self-host backups ${backups} --remove <id>)`)
    await document(selfHost(['backups', backups, '--remove', backup_id, '--yes', '--json']))
    await document(selfHost(['backup', backups, '--json']))
  } finally {
    Bun.spawnSync(['umount', '--lazy', small])
  }
})
