/** A server is backed up to a bucket of a real S3-compatible store, a backup is killed in an upload, and it is restored elsewhere. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasObjectStore, ObjectStore } from '../../packages/server/src/backup/place/testing-object-store.ts'
import { programOf } from '../../packages/server/src/startup/testing-program.ts'
import { document } from './document.ts'
import { gatewayOf, git, makeFirstCommit, program, removeFolder, run, Server, until } from './harness.ts'

setDefaultTimeout(300_000)

const address = 's3://backups/team/svc'

interface BackedUp {
  backup_id: string
  place: string
  added_bytes: number
  missing: object[]
  backups: number
  removed: string[]
}

describe.skipIf(!hasObjectStore)('backups in a bucket', () => {
  let store: ObjectStore
  let server: Server
  let dir: string
  let project: string
  let clone: string

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'svc-bucket-'))
    store = await ObjectStore.start('backups', 'scheduled')
    server = await Server.start({ ...store.env, SVC_SANDBOX_DRIVER: 'none' })
    project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'kept'])).project_id
    await makeFirstCommit(server, project)
    clone = join(dir, 'clone')
    await git(dir, 'clone', '--quiet', gatewayOf(server, { project_id: project }), clone)
  })
  afterAll(async () => {
    await server?.end()
    await store?.end()
    await removeFolder(dir)
  })

  const selfHost = (args: string[], env: Record<string, string> = server.env) =>
    run([program, 'self-host', ...args], { env, cwd: dir })

  const backUp = (...flags: string[]) => document<BackedUp>(selfHost(['backup', address, '--json', ...flags]))

  async function push(name: string, bytes: number): Promise<void> {
    await writeFile(join(clone, name), randomBytes(bytes))
    await git(clone, 'add', '.')
    await git(clone, 'commit', '--quiet', '-m', name)
    await git(clone, 'push', '--quiet', 'origin', 'HEAD:work')
  }

  /** What the store has, as names below the prefix. */
  async function objects(bucketFolder = 'backups/team/svc'): Promise<string[]> {
    const folder = join(store.folder, bucketFolder)
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    return entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name).slice(folder.length + 1))
  }

  async function placeFor(name: string): Promise<Record<string, string>> {
    const place = join(dir, name)
    await cp(server.env.SVC_MASTER_KEY_FILE!, join(place, 'master.key'), { recursive: true })
    return {
      ...server.env,
      HOME: place,
      SVC_DATA_DIR: join(place, 'data'),
      SVC_MASTER_KEY_FILE: join(place, 'master.key'),
      SVC_CONFIG_FILE: join(place, 'config.json'),
    }
  }

  async function restored(name: string, ...flags: string[]): Promise<string> {
    const env = await placeFor(name)
    await document(selfHost(['restore', address, '--json', ...flags], env))
    expect(await document(selfHost(['check', '--json'], env))).toMatchObject({ repositories: 1, disagreements: [] })
    return git(join(env.SVC_DATA_DIR!, 'repositories', `${project}.git`), 'rev-parse', 'work')
  }

  const before: Record<'first' | 'second', { id: string; work: string }> = {
    first: { id: '', work: '' },
    second: { id: '', work: '' },
  }

  test('the second backup adds what changed', async () => {
    await push('first.bin', 4_000_000)
    const first = await backUp()
    expect(first).toMatchObject({ place: address, missing: [], backups: 1 })
    before.first = { id: first.backup_id, work: await git(clone, 'rev-parse', 'HEAD') }
    await push('second.txt', 1_000)
    const second = await backUp()
    expect(second).toMatchObject({ missing: [], backups: 2 })
    expect(first.added_bytes).toBeGreaterThan(4_000_000)
    expect(second.added_bytes).toBeLessThan(first.added_bytes / 4)
    const listed = await document<{ backups: { backup_id: string }[] }>(selfHost(['backups', `${address}/`, '--json']))
    expect(listed.backups.map(({ backup_id }) => backup_id)).toEqual([second.backup_id, first.backup_id])
  })

  test('goes on after a backup that was killed in the middle of an upload', async () => {
    await push('large.bin', 70_000_000)
    const killed = Bun.spawn([...(await programOf('svc')), 'server', '--backup'], {
      env: { ...server.env, SVC_FAILPOINTS: 'backup.after_part=kill' },
      stdin: new TextEncoder().encode(JSON.stringify({ place: address, keyFile: null, keep: null })),
      stdout: 'ignore',
      stderr: 'ignore',
    })
    await killed.exited
    expect(killed.signalCode).toBe('SIGKILL')
    const unfinished = async () =>
      (await readdir(join(store.folder, 'backups'), { recursive: true })).filter((name) =>
        name.startsWith('.sgwtmp/multipart/'),
      )
    expect((await unfinished()).length).toBeGreaterThan(0)
    expect(await objects()).toContain('backup.lock')
    const next = await backUp()
    before.second = { id: next.backup_id, work: await git(clone, 'rev-parse', 'HEAD') }
    expect(next).toMatchObject({ missing: [], backups: 3 })
    // Nothing of the killed one is left: its upload, its lock, and its tables.
    expect(await unfinished()).toEqual([])
    const names = await objects()
    expect(names).not.toContain('backup.lock')
    expect(new Set(names.flatMap((name) => (name.startsWith('data/') ? name.split('/')[1] : [])))).toHaveProperty(
      'size',
      3,
    )
  })

  test('restores each backup elsewhere', async () => {
    expect(await restored('newest')).toBe(before.second.work)
    expect(await restored('earliest', '--backup', before.first.id)).toBe(before.first.work)
  })

  test('refuses two backups at once, and the backups of another installation', async () => {
    const both = await Promise.all([selfHost(['backup', address]), selfHost(['backup', address])])
    const refused = both.filter(({ code }) => code !== 0)
    for (const { stderr } of refused) expect(stderr).toContain(`Another backup to ${address} is running`)
    expect(refused.length).toBeLessThan(2)

    const other = await Server.start({ ...store.env, SVC_SANDBOX_DRIVER: 'none' })
    try {
      const foreign = await selfHost(['backup', address], other.env)
      expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringContaining('of another installation')])
      const full = await selfHost(['backup', 's3://backups'], other.env)
      expect([full.code, full.stderr]).toEqual([1, expect.stringContaining('is not empty and has no backups of svc')])
    } finally {
      await other.end()
    }
  })

  test('removes older backups, with the objects that no other one needs', async () => {
    const kept = await backUp('--keep', '1')
    expect(kept).toMatchObject({ backups: 1 })
    expect(kept.removed).toContain(before.first.id)
    const names = await objects()
    expect(names.filter((name) => name.startsWith('backups/'))).toEqual([`backups/${kept.backup_id}.json`])
    expect(new Set(names.flatMap((name) => (name.startsWith('data/') ? name.split('/')[1] : [])))).toEqual(
      new Set([kept.backup_id]),
    )
    expect(await restored('kept')).toBe(before.second.work)
  })

  test('says what is wrong with the settings, and shows no secret', async () => {
    const wrong = { ...server.env, AWS_SECRET_ACCESS_KEY: 'another-secret-value' }
    const none = { ...server.env, AWS_SECRET_ACCESS_KEY: '' }
    const away = { ...server.env, SVC_BACKUP_S3_ENDPOINT: 'http://127.0.0.1:1' }
    const said = await Promise.all([
      selfHost(['backup', address], wrong),
      selfHost(['backups', address], none),
      selfHost(['restore', 's3://absent/svc'], await placeFor('absent')),
      selfHost(['backups', address, '--json'], away),
    ])
    expect(said.map(({ code }) => code)).toEqual([1, 1, 1, 1])
    expect(said[0].stderr).toContain('does not accept the credentials (SignatureDoesNotMatch). Check AWS_ACCESS_KEY_ID')
    expect(said[1].stderr).toContain('needs credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY')
    expect(said[2].stderr).toContain('There is no bucket absent')
    expect(said[3].stderr).toContain('The store at http://127.0.0.1:1 does not answer')
    expect(JSON.stringify(said)).not.toContain('another-secret-value')
    expect(JSON.stringify(said)).not.toContain(store.env.AWS_SECRET_ACCESS_KEY!)
  })

  test('encrypted objects show no content, and open with their key file', async () => {
    const [encrypted, key] = ['s3://backups/encrypted', join(dir, 'backups.key')]
    await document(selfHost(['backup', encrypted, '--encrypt', key, '--json']))
    const plain = await selfHost(['backup', encrypted])
    expect([plain.code, plain.stderr]).toEqual([1, expect.stringContaining('are encrypted for age1')])
    const names = await objects('backups/encrypted')
    const texts = await Promise.all(
      names.map((name) => readFile(join(store.folder, 'backups/encrypted', name), 'latin1')),
    )
    expect(texts.filter((text) => text.includes('first.bin') || text.includes('refs/heads/work'))).toEqual([])
    const env = await placeFor('opened')
    const without = await selfHost(['restore', encrypted], env)
    expect([without.code, without.stderr]).toEqual([1, expect.stringContaining('Give its key file with --key')])
    await document(selfHost(['restore', encrypted, '--key', key, '--json'], env))
    expect(await document(selfHost(['check', '--json'], env))).toMatchObject({ disagreements: [] })
  })

  test('detects an object that was cut off, at the restore and before the next backup builds on it', async () => {
    const pack = (await objects()).find((name) => name.endsWith('.pack'))!
    const path = join(store.folder, 'backups/team/svc', pack)
    await truncate(path, (await stat(path)).size - 1_000)
    const cut = await selfHost(['restore', address], await placeFor('cut'))
    expect([cut.code, cut.stderr]).toEqual([1, expect.stringContaining(`The file ${pack} of the backup is damaged`)])
    const next = await backUp()
    expect(next.added_bytes).toBeGreaterThan(70_000_000)
    expect(await restored('whole')).toBe(before.second.work)
  })

  test('a server backs itself up to a bucket, and the doctor, the metrics and its log show no secret', async () => {
    const file = join(dir, 'credentials')
    const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, SVC_BACKUP_S3_ENDPOINT: endpoint } = store.env
    await writeFile(file, `[default]\naws_access_key_id = ${id}\naws_secret_access_key = ${secret}\n`, { mode: 0o600 })
    const scheduled = await Server.start({
      ...{ SVC_BACKUP_DIR: 's3://scheduled/svc', SVC_BACKUP_EVERY: '6h', SVC_SANDBOX_DRIVER: 'none' },
      ...{ SVC_BACKUP_S3_ENDPOINT: endpoint!, SVC_BACKUP_S3_CREDENTIALS_FILE: file },
    })
    try {
      const { backups } = await until('the first backup', async () => {
        const { code, stdout } = await selfHost(['backups', 's3://scheduled/svc', '--json'])
        const listed = code === 0 ? (JSON.parse(stdout) as { backups: { created_at: string }[] }) : null
        return listed?.backups[0] === undefined ? null : listed
      })
      const [, seconds] = await until('the metric', async () => {
        const text = await (await scheduled.api('/metrics', { token: null })).text()
        return /^svc_backup_last_timestamp_seconds (\S+)$/m.exec(text)
      })
      expect(Number(seconds)).toBe(Math.floor(Date.parse(backups[0]!.created_at) / 1000))
      const doctor = await run([program, 'self-host', 'doctor', '--json'], { env: scheduled.env, cwd: scheduled.dir })
      expect(doctor.stdout).toMatch(/the last one in s3:\/\/scheduled\/svc is (less than a minute|\d+ min) old/)
      expect(doctor.stdout + doctor.stderr + scheduled.output).not.toContain(secret!)
    } finally {
      await scheduled.end()
    }
  })
})
