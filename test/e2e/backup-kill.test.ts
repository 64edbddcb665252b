/** Backups and restores that are killed at each of their steps: what was whole stays whole, and the next one is clean. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOwnedDatabase } from '../../packages/server/src/startup/testing-move.ts'
import { programOf } from '../../packages/server/src/startup/testing-program.ts'
import { document } from './document.ts'
import { gatewayOf, git, makeFirstCommit, program, removeFolder, run, Server, until } from './harness.ts'

setDefaultTimeout(400_000)

let server: Server
let dir: string
let backups: string
let clone: string
let project: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-backup-kill-'))
  backups = join(dir, 'backups')
  clone = join(dir, 'clone')
  server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'kept'])).project_id
  await makeFirstCommit(server, project)
  await git(dir, 'clone', '--quiet', gatewayOf(server, { project_id: project }), clone)
  await document(selfHost(['backup', backups, '--json']))
})
afterAll(async () => {
  await server?.end()
  await removeFolder(dir)
})

const selfHost = (args: string[], env: Record<string, string> = server.env) =>
  run([program, 'self-host', ...args], { env, cwd: dir })

const withFailpoint = async (failpoint: string, flag: string, input: object, env: Record<string, string>) =>
  Bun.spawn([...(await programOf('svc')), 'server', flag], {
    env: { ...env, SVC_FAILPOINTS: failpoint },
    stdin: new TextEncoder().encode(JSON.stringify(input)),
    stdout: 'ignore',
    stderr: 'ignore',
  })

/** Until it kills itself there. */
async function killedAt(point: string, flag: string, input: object, env: Record<string, string>): Promise<void> {
  const killed = await withFailpoint(`${point}=kill`, flag, input, env)
  await killed.exited
  expect([point, killed.signalCode]).toEqual([point, 'SIGKILL'])
}

/** Something new to pack. */
async function push(branch: string): Promise<void> {
  await git(clone, 'checkout', '--quiet', '-b', branch)
  await Bun.write(join(clone, `${branch}.txt`), `${branch}\n`)
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', branch)
  await git(clone, 'push', '--quiet', 'origin', branch)
}

async function placeFor(name: string): Promise<Record<string, string>> {
  const place = join(dir, name)
  await mkdir(place)
  await copyFile(server.env.SVC_MASTER_KEY_FILE!, join(place, 'master.key'))
  return {
    ...{ ...server.env, HOME: place, SVC_PORT: '0', SVC_DATA_DIR: join(place, 'data') },
    ...{ SVC_MASTER_KEY_FILE: join(place, 'master.key'), SVC_CONFIG_FILE: join(place, 'config.json') },
  }
}

const listed = async () =>
  (await document<{ backups: { backup_id: string }[] }>(selfHost(['backups', backups, '--json']))).backups.map(
    ({ backup_id }) => backup_id,
  )

async function branchesIn(env: Record<string, string>): Promise<string[]> {
  const store = join(env.SVC_DATA_DIR!, 'repositories', `${project}.git`)
  return (await git(store, 'for-each-ref', '--format=%(refname:short)', 'refs/heads')).split('\n')
}

/** Folders of backups without a manifest, and files that were not finished. */
async function leftovers(): Promise<string[]> {
  const entries = await readdir(backups, { recursive: true })
  const ids = await listed()
  const unfinished = (await readdir(join(backups, 'data'))).filter((id) => !ids.includes(id))
  return [...entries.filter((name) => name.endsWith('.partial')), ...unfinished]
}

interface BackedUp {
  backup_id: string
  missing: object[]
}

// The steps between these two are in backup.test.ts.
test.each(['backup.after_tables', 'backup.before_manifest'])(
  'a backup killed at %s leaves the one before restorable, and the next one is clean',
  async (point) => {
    const name = point.replace(/\W/g, '-')
    await push(`${name}-before`)
    const before = await document<BackedUp>(selfHost(['backup', backups, '--json']))
    await push(`${name}-after`)
    await killedAt(point, '--backup', { place: backups, keyFile: null, keep: null }, server.env)
    expect((await listed())[0]).toBe(before.backup_id)

    const place = await placeFor(name)
    await document(selfHost(['restore', backups, '--json'], place))
    expect(await document(selfHost(['check', '--json'], place))).toMatchObject({ repositories: 1, disagreements: [] })
    const branches = await branchesIn(place)
    expect(branches).toContain(`${name}-before`)
    expect(branches).not.toContain(`${name}-after`)

    const next = await document<BackedUp>(selfHost(['backup', backups, '--json']))
    expect([next.missing, (await listed())[0], await leftovers()]).toEqual([[], next.backup_id, []])
    const later = await placeFor(`${name}-next`)
    await document(selfHost(['restore', backups, '--json'], later))
    expect(await branchesIn(later)).toContain(`${name}-after`)
  },
)

test('a place that interrupted backups filled takes backups again', async () => {
  await push('interrupted')
  await killedAt('backup.after_pack', '--backup', { place: backups, keyFile: null, keep: null }, server.env)
  const packs = join(backups, 'packs', project)
  const finished = (await readdir(packs)).filter((name) => name.endsWith('.pack')).length
  // A kill in the middle of a file leaves such a part.
  await Bun.write(join(packs, 'cut.pack.partial'), 'half')
  expect((await leftovers()).length).toBeGreaterThan(1)

  // It ends before its manifest, too.
  const client = [...(await programOf('svc')), 'self-host', 'backup', backups]
  const killed = await run(client, { env: { ...server.env, SVC_FAILPOINTS: 'backup.after_tables=kill' }, cwd: dir })
  expect(killed.code).toBe(1)
  expect(killed.stderr).toContain('The backup was interrupted. Earlier ones are whole; run the command again.')
  expect(killed.stderr).toContain('Its process was ended by SIGKILL.')
  expect((await leftovers()).filter((name) => name.endsWith('.partial'))).toEqual([])
  expect((await readdir(packs)).filter((name) => name.endsWith('.pack')).length).toBeLessThan(finished)
  await document(selfHost(['backup', backups, '--json']))
  expect(await leftovers()).toEqual([])
})

test('a removal frees what a killed backup finished, and the next one goes on from the last whole one', async () => {
  const packsOf = async ({ backup_id }: BackedUp): Promise<{ name: string }[]> =>
    JSON.parse(await readFile(join(backups, `backups/${backup_id}.json`), 'utf8')).repositories[0].packs
  const whole = await document<BackedUp>(selfHost(['backup', backups, '--json']))
  const listing = () => document<{ unneeded_bytes: number }>(selfHost(['backups', backups, '--json']))
  expect(await listing()).toMatchObject({ unneeded_bytes: 0 })
  await push('finished')
  await killedAt('backup.after_state', '--backup', { place: backups, keyFile: null, keep: null }, server.env)
  const { unneeded_bytes } = await listing()
  expect((await selfHost(['backups', backups])).stderr).toContain('more are of no complete backup')
  const packs = join(backups, 'packs', project)
  const before = await readdir(packs)
  const removed = await document(selfHost(['backups', backups, '--remove', 'unfinished', '--json']))
  expect(removed).toMatchObject({ removed: [], freed_bytes: unneeded_bytes, damaged: [] })
  expect([await listing(), await leftovers(), (await readdir(packs)).length]).toMatchObject([
    { unneeded_bytes: 0 },
    [],
    before.length - 1,
  ])

  const next = await document<BackedUp>(selfHost(['backup', backups, '--json']))
  const packed = await packsOf(next)
  expect([packed.slice(0, -1), (await readdir(packs)).length]).toEqual([await packsOf(whole), before.length])
  expect((await selfHost(['backups', backups, '--verify'])).code).toBe(0)
})

test('a project that is purged during a backup is left out by the restore, which says so', async () => {
  const purged = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'purged'])
  await makeFirstCommit(server, purged.project_id)
  const reached = join(dir, 'reached')
  const input = { place: backups, keyFile: null, keep: null }
  const running = await withFailpoint(`backup.after_tables=pause:${reached}`, '--backup', input, server.env)
  await until('the tables to be stored', () => existsSync(reached))
  await server.json(['projects', 'rm', purged.project_id, '--purge', '--yes'])
  await rm(reached)
  expect(await running.exited).toBe(0)

  const place = await placeFor('purged')
  const restored = await selfHost(['restore', backups], place)
  expect([restored.code, restored.stderr]).toEqual([
    0,
    expect.stringContaining('purged was purged while the backup was made, and is not restored'),
  ])
  expect(await document(selfHost(['check', '--json'], place))).toMatchObject({
    ...{ projects: 1, repositories: 1, disagreements: [] },
  })
})

test('a backup has a repository whose branches are deleted and moved while it runs, as it then is', async () => {
  const { project_id } = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'busy'])
  await makeFirstCommit(server, project_id)
  const [busy, store] = [join(dir, 'busy'), join(server.env.SVC_DATA_DIR!, 'repositories', `${project_id}.git`)]
  await git(dir, 'clone', '--quiet', gatewayOf(server, { project_id }), busy)
  const commit = async (branch: string, text: string) => {
    await git(busy, 'checkout', '--quiet', '-B', branch)
    await git(busy, 'commit', '--quiet', '--allow-empty', '-m', text)
    await git(busy, 'push', '--quiet', '--force', 'origin', branch)
  }
  const refs = (folder: string) => git(folder, 'for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads')
  await document(selfHost(['backup', backups, '--json']))
  for (const [round, to] of [backups, join(dir, 'another-place')].entries()) {
    for (const branch of ['gone', 'moved']) await commit(branch, `${branch} ${round}`)
    await git(store, 'repack', '-d', '--quiet')
    // It stays while its parent goes.
    await git(
      store,
      'update-ref',
      'refs/heads/moved',
      await git(store, 'commit-tree', '-m', 'top', '-p', 'moved', 'moved^{tree}'),
    )
    const lost = await git(store, 'rev-parse', 'gone')
    const reached = join(dir, 'reached')
    const input = { place: to, keyFile: null, keep: null }
    const running = await withFailpoint(`backup.after_tables=pause:${reached}`, '--backup', input, server.env)
    await until('the tables to be stored', () => existsSync(reached))
    await git(busy, 'push', '--quiet', 'origin', ':gone', '+origin/main:moved')
    // As the server reclaims the space of branches.
    await git(store, 'repack', '-a', '-d', '--quiet')
    expect(await git(store, 'cat-file', '--batch-check', '--batch-all-objects')).not.toContain(lost)
    await rm(reached)
    expect(await running.exited).toBe(0)

    const place = await placeFor(`busy-${round}`)
    await document(selfHost(['restore', to, '--json'], place))
    expect(await document(selfHost(['check', '--json'], place))).toMatchObject({ repositories: 2, disagreements: [] })
    const restored = join(place.SVC_DATA_DIR!, 'repositories', `${project_id}.git`)
    expect([await refs(restored), (await refs(restored)).includes('gone')]).toEqual([await refs(store), false])

    // A branch that names a lost commit is damage.
    await Bun.write(join(store, 'refs/heads/gone'), `${lost}\n`)
    const { code, stdout } = await selfHost(['backup', to, '--json', ...(round === 0 ? [] : ['--claim'])])
    expect([code, JSON.parse(stdout).missing]).toEqual([1, [expect.objectContaining({ project_id })]])
    await rm(join(store, 'refs/heads/gone'))
  }
  await server.json(['projects', 'rm', project_id, '--purge', '--yes'])
  await document(selfHost(['backup', backups, '--json']))
})

test.each(['restore.after_repositories', 'restore.before_commit', 'restore.after_rows', 'restore.after_database'])(
  'a restore killed at %s leaves a folder that says so, and can be repeated',
  async (point) => {
    const place = await placeFor(point.replace(/\W/g, '-'))
    await killedAt(point, '--restore', { places: [backups], backupId: null, keyFiles: [], acceptLoss: false }, place)
    expect(existsSync(join(place.SVC_DATA_DIR!, 'restore-unfinished'))).toBe(true)
    for (const args of [['check'], ['resume'], ['backup', join(dir, 'of-a-part')], ['start', '--yes']]) {
      const { code, stderr } = await selfHost(args, place)
      expect([args, code, stderr]).toEqual([
        args,
        1,
        expect.stringContaining(`The restore into ${place.SVC_DATA_DIR!} was interrupted. Run svc self-host restore`),
      ])
    }
    expect(existsSync(join(dir, 'of-a-part'))).toBe(false)

    const [newest] = await listed()
    const again = await document<{ backup_id: string }>(selfHost(['restore', backups, '--json'], place))
    expect(again.backup_id).toBe(newest!)
    expect(await document(selfHost(['check', '--json'], place))).toMatchObject({ repositories: 1, disagreements: [] })
    expect(existsSync(join(place.SVC_DATA_DIR!, 'restore-unfinished'))).toBe(false)
  },
)

test('a restore into another PostgreSQL that was killed once all was in it can be repeated', async () => {
  const target = await createOwnedDatabase()
  const place = { ...(await placeFor('complete')), DATABASE_URL: target.url }
  const input = { places: [backups], backupId: null, keyFiles: [], acceptLoss: false }
  try {
    await killedAt('restore.after_database', '--restore', input, place)
    expect((await selfHost(['start', '--yes'], place)).stderr).toContain('Run svc self-host restore again')
    await document(selfHost(['restore', backups, '--json'], place))
    expect(await document(selfHost(['check', '--json'], place))).toMatchObject({ disagreements: [] })
    // Another restore has nothing to do with it.
    const other = { ...(await placeFor('other-restore')), DATABASE_URL: target.url }
    expect((await selfHost(['restore', backups], other)).stderr).toContain('has data of svc already')
  } finally {
    await target.drop()
  }
})

test('a restore that was killed while it made its database, or its mark, can be repeated', async () => {
  const place = await placeFor('made-halves')
  const data = place.SVC_DATA_DIR!
  await mkdir(data, { recursive: true })
  // Before the mark there is only its file under another name.
  await Bun.write(join(data, 'restore-unfinished.partial'), '')
  const restoring = Bun.spawn([program, 'server', '--restore'], {
    env: place,
    stdin: new TextEncoder().encode(
      JSON.stringify({ places: [backups], backupId: null, keyFiles: [], acceptLoss: false }),
    ),
    stdout: 'ignore',
    stderr: 'ignore',
  })
  const halves = () => readdir(data).then((names) => names.filter((name) => name.startsWith('postgres.new-')))
  await until('initdb to run', async () => (await halves()).length > 0)
  restoring.kill('SIGKILL')
  await restoring.exited
  expect(await halves()).toHaveLength(1)
  // A start that was killed while it copied the programs.
  await mkdir(join(data, 'postgres-programs.new-1'))

  await document(selfHost(['restore', backups, '--json'], place))
  expect(await document(selfHost(['check', '--json'], place))).toMatchObject({ repositories: 1, disagreements: [] })
  expect((await readdir(data)).filter((name) => /\.(new-|partial)/.test(name))).toEqual([])

  // Where no restore began, a start may have.
  const other = await placeFor('of-a-start')
  await mkdir(join(other.SVC_DATA_DIR!, 'postgres.new-1-ab'), { recursive: true })
  const { code, stderr } = await selfHost(['restore', backups], other)
  expect([code, stderr]).toEqual([1, expect.stringContaining('is not empty (it has postgres.new-1-ab)')])
})
