/** Replacing the master key while servers run: no crash loses data, and the old key no longer opens anything. */
import type { RotationReport } from '@svc/contract/daemon/operator-reports'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import {
  chmod,
  chown,
  copyFile,
  lstat,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Project } from '@svc/contract'
import { keepServerName } from '../fleet/server-name.ts'
import { getProject } from '../projects/store.ts'
import { openSecrets } from '../secrets/change.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { pointsOf } from '../../../../test/torture/scenarios.ts'
import { keyId } from './cipher.ts'
import { type Keyring, makeKeyring, unwrapDataKey } from './keyring.ts'
import { createMasterKey, keptMasterKeys, MasterKeyError, readMasterKey } from './master-key.ts'
import { openKeyring } from './open-keyring.ts'
import { rotateMasterKey } from './rotate.ts'
import { addOldProjects, makeOldData, plunder } from './testing.ts'

const canary = 'canary-of-a-secret-1f0c'
const program = join(import.meta.dir, 'testing-rotate.ts')
const subkeys = (key: Buffer) => [createHmac('sha256', key).update('svc wrap v1').digest()]

let app: TestApp
let project: Project
let dir: string
const rootKey = randomBytes(32)
/** The initial master key, in a new file for each test. */
let masterKey: Buffer
let file: string
let deps: Parameters<typeof rotateMasterKey>[0] & Pick<TestApp['deps'], 'log' | 'redaction'>

beforeAll(async () => {
  app = await makeTestApp({ keyring: makeKeyring(rootKey) })
  project = (await app.managedProject()).project
  const path = `/v1/projects/${project.project_id}`
  await app.request('POST', `${path}/secrets`, { body: { name: 'CANARY', value: canary } })
  await app.request('POST', `${path}/host-webhook/rotate`)
  dir = await mkdtemp(join(tmpdir(), 'svc-rotate-'))
}, 120_000)
afterAll(async () => {
  await app.close()
  await rm(dir, { recursive: true, force: true })
})

/** The data key never changes, so sealed values stay valid. */
let dataKey: Buffer | null = null
beforeEach(async () => {
  file = join(dir, randomUUID(), 'master.key')
  masterKey = await createMasterKey(file)
  await app.deps.db.deleteFrom('projects').where('slug', 'like', 'old-%').execute()
  dataKey ??= unwrapDataKey(rootKey, project.project_id, (await row()).data_key)
  await makeOldData(app.deps.db, masterKey, () => dataKey!)
  const config = { ...app.deps.config, masterKeyFile: file }
  deps = { ...app.deps, config }
})

/** The ids in the names of the earlier keys; besides them, there is only the key. */
async function keptBeside(): Promise<string[]> {
  const names = await readdir(join(file, '..'))
  const kept = names.flatMap((name) => /^master\.key\.replaced-\d{4}-\d\d-\d\d-([0-9a-f]{16})$/.exec(name)?.[1] ?? [])
  expect(names.length).toBe(kept.length + 1)
  return kept
}
const row = async () => (await getProject(app.deps.db, project.project_id))!
const wraps = () => app.deps.db.selectFrom('root_keys').select('master_key_id').orderBy('position').execute()
const startedWith = (masterKeyFile: string) => openKeyring({ ...deps, config: { ...deps.config, masterKeyFile } })
const secretBy = async (keyring: Keyring) => (await openSecrets({ ...app.deps, keyring }, await row())).CANARY
const audit = () =>
  app.deps.db
    .selectFrom('audit_events')
    .selectAll()
    .where('action', '=', 'master_key.rotate')
    .orderBy('event_id', 'desc')
    .execute()
const refusal = async (act: Promise<unknown>) => {
  const error = await act.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(MasterKeyError)
  return (error as Error).message
}

describe('data from a version without a root key', () => {
  test('gets a root key at the first start, and sealed values open before and after the move', async () => {
    const keyring = await startedWith(file)
    expect(await secretBy(keyring)).toBe(canary)
    expect((await row()).data_key_wrapped_by).toBeNull()
    expect(await wraps()).toEqual([{ master_key_id: keyId(masterKey) }])
    const again = await startedWith(file)
    expect(again.derive('x')).toEqual(keyring.derive('x'))
    const made = await app.request<Project>('POST', '/v1/projects', { body: { name: 'new' } })
    expect(made.status).toBe(201)
    const found = await getProject(app.deps.db, made.body.project_id)
    expect(found!.data_key_wrapped_by).toBe(app.deps.keyring.rootKeyId)
    await app.request('DELETE', `/v1/projects/${made.body.project_id}?purge=true`)
  })

  test('five concurrent servers create one root key', async () => {
    const keyrings = await Promise.all(Array.from({ length: 5 }, () => startedWith(file)))
    expect(new Set(keyrings.map(({ rootKeyId }) => rootKeyId)).size).toBe(1)
  })
})

describe('rotating the master key', () => {
  test('the earlier key opens nothing in the database', async () => {
    const running = await startedWith(file)
    // The same search finds it where it exists; otherwise the end of this test would prove nothing.
    expect(await plunder(app.deps.db, masterKey, subkeys)).toContain(canary)
    const rotated = await rotateMasterKey(deps)
    const fresh = (await readMasterKey(file))!
    expect(fresh.equals(masterKey)).toBe(false)
    expect(rotated).toMatchObject({
      finished_earlier: false,
      master_key_id: keyId(fresh),
      previous_master_key_ids: [keyId(masterKey)],
      projects: 1,
      moved: 1,
    })
    expect(await plunder(app.deps.db, masterKey, subkeys)).toEqual([])
    expect(await plunder(app.deps.db, fresh, subkeys)).toContain(canary)
    // Running servers continue with their keys, and others can read what they write.
    const started = await startedWith(file)
    expect(await secretBy(running)).toBe(canary)
    expect(await secretBy(started)).toBe(canary)
    expect(started.derive('service key of sandbox 1')).toEqual(running.derive('service key of sandbox 1'))
    const [written] = await audit()
    expect(written).toMatchObject({
      actor_kind: 'operator',
      account_id: app.owner.account_id,
      object_id: keyId(fresh),
      before: { master_key_id: keyId(masterKey) },
      after: { master_key_id: keyId(fresh), projects: 1 },
    })
    // The output contains neither key nor a part of one.
    for (const key of [masterKey, fresh])
      expect(JSON.stringify([rotated, written])).not.toContain(key.toString('base64').slice(0, 12))
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await keptBeside()).toEqual([keyId(masterKey)])
  })

  test('a second rotation moves no data, and the key in between opens nothing', async () => {
    await startedWith(file)
    await rotateMasterKey(deps)
    const between = (await readMasterKey(file))!
    expect(await rotateMasterKey(deps)).toMatchObject({ moved: 0, previous_master_key_ids: [keyId(between)] })
    expect(await plunder(app.deps.db, between, subkeys)).toEqual([])
    expect(await secretBy(await startedWith(file))).toBe(canary)
  })

  test('concurrent rotations run one after the other, and the file has the current key', async () => {
    const both = await Promise.all([rotateMasterKey(deps), rotateMasterKey(deps)])
    expect(new Set(both.map(({ master_key_id }) => master_key_id)).size).toBe(2)
    expect(await wraps()).toEqual([{ master_key_id: keyId((await readMasterKey(file))!) }])
    expect(await secretBy(await startedWith(file))).toBe(canary)
  })

  test('replaces the file behind a link, and keeps its owner and readers', async () => {
    const linked = join(dir, randomUUID())
    await symlink(file, linked)
    const isRoot = process.getuid?.() === 0
    await chmod(file, 0o664)
    if (isRoot) await chown(file, 12_345, 12_346)
    await rotateMasterKey({ ...deps, config: { ...deps.config, masterKeyFile: linked } })
    expect((await lstat(linked)).isSymbolicLink()).toBeTrue()
    const { uid, gid, mode } = await stat(file)
    expect(mode & 0o777).toBe(0o640)
    if (isRoot) expect([uid, gid]).toEqual([12_345, 12_346])
    const [kept = ''] = await keptMasterKeys(linked, [keyId(masterKey)])
    expect([(await stat(kept)).mode & 0o777, await readMasterKey(kept)]).toEqual([0o640, masterKey])
    expect(await wraps()).toEqual([{ master_key_id: keyId((await readMasterKey(file))!) }])
  })

  test('moves the data keys in batches, and a later run finishes an interrupted one', async () => {
    await addOldProjects(app.deps.db, masterKey, { accountId: app.owner.account_id, count: 250 })
    expect(await rotate('rotate.after_batch=kill@2')).toBeNull()
    const left = await app.deps.db
      .selectFrom('projects')
      .select('project_id')
      .where('data_key_wrapped_by', 'is', null)
      .execute()
    expect(left.length).toBe(51)
    expect(await rotateMasterKey(deps)).toMatchObject({ projects: 251, moved: 51 })
  }, 120_000)
})

/** Runs the command in a process of its own; null when a failpoint killed it. */
async function rotate(failpoints?: string): Promise<RotationReport | null> {
  const child = Bun.spawn([process.execPath, program], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: dir,
      DATABASE_URL: app.deps.config.databaseUrl!,
      SVC_DATA_DIR: app.deps.config.dataDir,
      SVC_MASTER_KEY_FILE: file,
      ...(failpoints === undefined ? {} : { SVC_FAILPOINTS: failpoints }),
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [said, complained] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (child.signalCode === 'SIGKILL' && failpoints !== undefined) return null
  expect([child.exitCode, complained]).toEqual([0, ''])
  return JSON.parse(said) as RotationReport
}

test.each(pointsOf('keys'))(
  'a rotation killed at %s leaves data that a server starts with, and the next run finishes it',
  async (point) => {
    const running = await startedWith(file)
    const before = (await audit()).length
    expect(await rotate(`${point}=kill`)).toBeNull()
    expect(await secretBy(running)).toBe(canary)
    expect(await secretBy(await startedWith(file))).toBe(canary)
    const rotated = await rotateMasterKey(deps)
    const id = keyId((await readMasterKey(file))!)
    expect(rotated.master_key_id).toBe(id)
    expect(await wraps()).toEqual([{ master_key_id: id }])
    expect(await secretBy(await startedWith(file))).toBe(canary)
    expect(await plunder(app.deps.db, masterKey, subkeys)).toEqual([])
    // Each change is audited once.
    expect((await audit()).length - before).toBe(point === 'rotate.after_retire' ? 2 : 1)
    expect(await keptBeside()).toContain(keyId(masterKey))
  },
  120_000,
)

describe('rotating with several machines', () => {
  test('running servers continue, and their next start with the earlier file says what to do', async () => {
    const elsewhere = join(dir, randomUUID())
    await copyFile(file, elsewhere)
    const running = await startedWith(elsewhere)
    const { master_key_id: id } = await rotateMasterKey(deps)
    expect(await secretBy(running)).toBe(canary)
    const instance = (server_name: string, minutes: number) => ({
      ...{ instance_id: randomUUID(), lock_taken_at: null, server_name },
      started_at: new Date(Date.now() + minutes * 60_000).toISOString(),
    })
    const instances = [instance('with-earlier-file', -60), instance('since-then', 60)]
    for (const each of instances) await app.deps.db.insertInto('server_instances').values(each).execute()
    const said = await refusal(startedWith(elsewhere))
    const ids = instances.map(({ instance_id }) => instance_id)
    await app.deps.db.deleteFrom('server_instances').where('instance_id', 'in', ids).execute()
    expect(said).toContain(
      'on the machine where svc self-host rotate-key ran, or that of a server that started since then (running: since-then) to',
    )
    expect(said).toContain(`is an earlier one (${keyId(masterKey)}): svc self-host rotate-key replaced it at 20`)
    expect(said).toContain(`It needs key ${id}. If this machine has the key elsewhere, set SVC_MASTER_KEY_FILE`)
    await copyFile(file, elsewhere)
    expect(await secretBy(await startedWith(elsewhere))).toBe(canary)
  })

  test('another machine can start a new rotation after one died, and the latest key counts', async () => {
    const elsewhere = join(dir, randomUUID())
    await copyFile(file, elsewhere)
    expect(await rotate('rotate.after_file=kill')).toBeNull()
    await rotateMasterKey({ ...deps, config: { ...deps.config, masterKeyFile: elsewhere } })
    expect(await wraps()).toEqual([{ master_key_id: keyId((await readMasterKey(elsewhere))!) }])
    expect(await secretBy(await startedWith(elsewhere))).toBe(canary)
    expect(await refusal(startedWith(file))).toContain('is an earlier one')
  }, 120_000)

  test('counts the servers that run, not those that ended without a word', async () => {
    const instance_id = randomUUID()
    const ended = { instance_id, lock_taken_at: null, heartbeat_at: new Date(Date.now() - 60_000).toISOString() }
    await app.deps.db.insertInto('server_instances').values(ended).execute()
    expect((await rotateMasterKey(deps)).servers).toBe(1)
    await app.deps.db.deleteFrom('server_instances').where('instance_id', '=', instance_id).execute()
  })

  test('refuses to rotate while a server runs an earlier version', async () => {
    const instance_id = randomUUID()
    await app.deps.db.insertInto('server_instances').values({ instance_id, lock_taken_at: null }).execute()
    const before = await readFile(file, 'utf8')
    expect(await refusal(rotateMasterKey(deps))).toMatch(/^1 of 2 servers .* earlier svc.*Nothing was changed/)
    expect([await readFile(file, 'utf8'), (await row()).data_key_wrapped_by]).toEqual([before, null])
    await app.deps.db.deleteFrom('server_instances').where('instance_id', '=', instance_id).execute()
  })
})

describe('refusing a rotation without losing a key', () => {
  test('a second server without the key says on which machine it is, and where', async () => {
    await startedWith(file)
    keepServerName(app.deps.config, 'own')
    const gone = new Date(Date.now() - 60_000).toISOString()
    const servers = [{ server_name: 'own' }, { server_name: 'ada' }, { server_name: 'gone', heartbeat_at: gone }]
    const instances = servers.map((server) => ({ instance_id: randomUUID(), lock_taken_at: null, ...server }))
    for (const instance of instances) await app.deps.db.insertInto('server_instances').values(instance).execute()
    const foreign = join(dir, randomUUID())
    const key = await createMasterKey(foreign)
    for (const at of [foreign, join(dir, 'nowhere')]) {
      const said = await refusal(startedWith(at))
      expect(said).toContain('set SVC_MASTER_KEY_FILE to its file. Otherwise copy the file that this setting names on')
      expect(said).toContain(` (running: ada) to ${at} here`)
      expect(said).toContain(keyId(masterKey))
      for (const secret of [key, masterKey]) expect(said).not.toContain(secret.toString('base64'))
    }
    const ids = instances.map(({ instance_id }) => instance_id)
    await app.deps.db.deleteFrom('server_instances').where('instance_id', 'in', ids).execute()
    await rm(join(app.deps.config.dataDir, 'server-name'))
  })

  test('reports a foreign key, a missing key, and a damaged row', async () => {
    const foreign = join(dir, randomUUID())
    const key = await createMasterKey(foreign)
    // First data without a root key, then data with one.
    expect(await refusal(startedWith(foreign))).toContain('is not the key that sealed the data of this database')
    await startedWith(file)
    expect(await refusal(startedWith(foreign))).toContain(
      `(${keyId(key)}) is not the key that sealed the data of this database (${keyId(masterKey)}). If this machine has the key elsewhere, set SVC_MASTER_KEY_FILE to its file.`,
    )
    const embedded = { ...deps, config: { ...deps.config, masterKeyFile: foreign, databaseUrl: null } }
    expect(await refusal(openKeyring(embedded))).toContain(`the data in ${deps.config.dataDir} (${keyId(masterKey)})`)
    const absent = join(dir, 'nowhere')
    expect(await refusal(startedWith(absent))).toContain(
      `There is no master key at ${absent}, and the data of this database cannot be opened without key ${keyId(masterKey)}.`,
    )
    const nowhere = { ...deps, config: { ...deps.config, masterKeyFile: join(dir, 'nowhere') } }
    expect(await refusal(rotateMasterKey(nowhere))).toBe(await refusal(startedWith(absent)))
    const stopped = { ...nowhere, config: { ...nowhere.config, databaseUrl: null } }
    expect(await refusal(rotateMasterKey(stopped))).toBe(
      `There is no master key at ${absent}, and the data in ${deps.config.dataDir} cannot be opened without key ${keyId(masterKey)}. Restore the right key from the copy that you keep, or set SVC_MASTER_KEY_FILE to its file. No backup contains it.`,
    )
    await app.deps.db
      .updateTable('projects')
      .set({ data_key: randomBytes(60) })
      .where('slug', '=', project.slug)
      .execute()
    expect(await refusal(rotateMasterKey(deps))).toContain(`data key of project ${project.project_id} is damaged`)
    expect(await readMasterKey(file)).toEqual(masterKey)
  })

  test('a start with the key that a rotation of another server wrote names the file with the earlier one', async () => {
    await startedWith(file)
    const kept = `${file}.replaced-2026-11-28-${keyId(masterKey)}`
    await copyFile(file, kept)
    await rm(file)
    const missing = await refusal(startedWith(file))
    await createMasterKey(file)
    for (const said of [missing, await refusal(startedWith(file))])
      expect(said).toContain(`svc self-host rotate-key kept it as ${kept}: copy that to ${file}.`)
  })

  test('reports a folder that cannot be written', async () => {
    // Root can write everywhere, so a file name too long for a suffix makes the write fail.
    const long = join(dir, 'k'.repeat(245))
    await copyFile(file, long)
    const said = await refusal(rotateMasterKey({ ...deps, config: { ...deps.config, masterKeyFile: long } }))
    expect(said).toMatch(/^The new key cannot be written next to .*ENAMETOOLONG.* still opens everything/)
    expect(await secretBy(await startedWith(long))).toBe(canary)
  })

  test('removes the keys that a killed rotation had not named yet, and nothing else', async () => {
    const left = ['next', `replaced-2026-11-28-${'0a'.repeat(8)}`].map((of) => `${file}.${of}.${randomUUID()}.tmp`)
    const others = [`${file}.backup.tmp`, `${file}.next.tmp`]
    for (const each of [...left, ...others]) await copyFile(file, each)
    await rotateMasterKey(deps)
    const exists = await Promise.all([...left, ...others].map((each) => Bun.file(each).exists()))
    expect(exists).toEqual([false, false, true, true])
  })

  test('says what to do when the key of an unfinished change is damaged', async () => {
    const next = `${file}.next`
    await writeFile(next, '')
    const said = await refusal(rotateMasterKey(deps))
    expect(said).toContain(`${file} still opens everything. Remove ${next}, and run svc self-host rotate-key again.`)
    expect(await secretBy(await startedWith(file))).toBe(canary)
    await rm(next)
    expect(await rotateMasterKey(deps)).toMatchObject({ finished_earlier: false })
  })

  test('reports a file that changed during the rotation', async () => {
    const paused = join(dir, randomUUID())
    const running = rotate(`rotate.before_retire=pause:${paused}`)
    while (!(await stat(paused).catch(() => null))) await Bun.sleep(5)
    const fresh = await readFile(file, 'utf8')
    await writeFile(file, `${randomBytes(32).toString('base64')}\n`)
    await rm(paused)
    await expect(running).rejects.toThrow(/does not contain the new key/)
    await writeFile(file, fresh)
    expect(await secretBy(await startedWith(file))).toBe(canary)
    expect(await rotateMasterKey(deps)).toMatchObject({ finished_earlier: true })
  }, 120_000)
})
