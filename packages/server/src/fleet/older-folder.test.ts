/** A data folder that is older than the one that served its projects last does not serve them. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { cp, lstat, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { SmallDisk } from '../testing-small-disk.ts'
import { type Fleet, type FleetServer, makeFleet } from './testing-fleet.ts'
import { FleetProject } from './testing-work.ts'

setDefaultTimeout(120_000)

let fleet: Fleet
let server: FleetServer
let other: FleetServer
beforeEach(async () => {
  fleet = await makeFleet(['ada', 'bob'])
  ;[server, other] = fleet.servers as [FleetServer, FleetServer]
})
afterEach(() => fleet.close())

const folder = (name: string) => join(fleet.dir, name)
const boot = (name: string, more: Record<string, string> = {}) =>
  server.boot({ SVC_PEER_URL: '', SVC_SERVER_NAME: '', SVC_DATA_DIR: folder(name), ...more })
/** Its folder keeps the name. */
const named = { SVC_SERVER_NAME: 'ada' }
const copy = (from: string, to: string) => cp(folder(from), folder(to), { recursive: true })

async function starts(name: string, more: Record<string, string> = {}): Promise<void> {
  const { url, child, errors } = await boot(name, more)
  if (url === null) throw new Error(await errors())
  expect(child.exitCode).toBeNull()
}

/** Returns why. */
async function refused(name: string, more: Record<string, string> = {}): Promise<string> {
  const { url, errors } = await boot(name, more)
  if (url !== null) await server.kill('SIGTERM')
  expect(url).toBeNull()
  return await errors()
}

/** It merges a change, so that each folder without that is stale. */
async function merges(project: FleetProject, branch: string): Promise<string> {
  const { cr_id, head } = await project.changeRequest(server, branch)
  await project.ask(server, 'POST', `/change-requests/${cr_id}/merge`)
  await project.git('checkout', '-q', 'main')
  await project.git('merge', '-q', '--ff-only', branch)
  return head
}

const mainOf = async (project: FleetProject) => (await project.tips(server))['refs/heads/main']

test('the original of a copied folder does not start once the copy has served, and the copy goes on', async () => {
  await starts('original', named)
  const project = await FleetProject.make(fleet, server)
  await server.kill('SIGTERM')
  await copy('original', 'moved')
  await starts('moved')
  const head = await merges(project, 'on-the-copy')
  await server.kill('SIGTERM')

  const why = await refused('original')
  expect(why).toContain(`The data folder ${folder('original')} is not the newest: its projects were served from`)
  expect(why).toContain(`svc self-host env set SVC_DATA_DIR=${folder('moved')}`)
  expect(await refused('original', { SVC_PEER_URL: server.url })).toContain('is not the newest')
  await starts('moved')
  expect(await mainOf(project)).toBe(head)
  await server.kill('SIGTERM')

  // The copy is lost. The way out that the refusal names is for one start: the copy is the older one then.
  for (const file of ['server-name', 'server.lock']) await rm(join(folder('original'), file))
  await starts('original', named)
  expect(await mainOf(project)).not.toBe(head)
  await server.kill('SIGTERM')
  await starts('original')
  await server.kill('SIGTERM')
  expect(await refused('moved')).toContain(`SVC_DATA_DIR=${folder('original')}`)
})

test('a copy that was made while the server ran does not start after its stop, and the server does', async () => {
  await starts('data', named)
  const project = await FleetProject.make(fleet, server)
  const isNoSocket = async (path: string) => !(await lstat(path)).isSocket()
  await cp(folder('data'), folder('snapshot'), { recursive: true, filter: isNoSocket })
  const head = await merges(project, 'after-the-snapshot')
  await server.kill('SIGTERM')
  expect(await refused('snapshot')).toContain('is not the newest')
  await starts('data')
  expect(await mainOf(project)).toBe(head)
})

const withPeers = () => ({ SVC_PEER_URL: server.url })
const withoutCopies = () => ({ SVC_PEER_URL: server.url, SVC_REPLICA: 'none' })

const unrecorded: [string, { merges: () => Record<string, string>; last: () => Record<string, string> }][] = [
  ['records no changes', { merges: withoutCopies, last: withoutCopies }],
  ['recorded none at its last start', { merges: withoutCopies, last: withPeers }],
  ['got SVC_PEER_URL after the merge', { merges: () => ({}), last: withPeers }],
]
test.each(unrecorded)('an older copy of the folder of a server that %s does not start', async (_, settings) => {
  await starts('data', { ...named, ...settings.merges() })
  const project = await FleetProject.make(fleet, server)
  await server.kill('SIGTERM')
  await copy('data', 'older')
  await starts('data', settings.merges())
  const head = await merges(project, 'after-the-copy')
  await server.kill('SIGTERM')
  await starts('data', settings.last())
  expect((await other.boot()).url).not.toBeNull()
  await server.kill('SIGTERM')
  expect(await refused('older', settings.last())).toContain('is not the newest')
  await starts('data', settings.last())
  expect(await mainOf(project)).toBe(head)
})

test('an older copy of the folder of the only server does not start, although it has an address for others', async () => {
  await starts('data', { ...named, ...withPeers() })
  const project = await FleetProject.make(fleet, server)
  await project.changeRequest(server, 'before-the-copy')
  await server.kill('SIGTERM')
  await copy('data', 'older')
  await starts('data', withPeers())
  const [{ cr_id } = { cr_id: '' }] = await fleet.query<{ cr_id: string }>('select cr_id from change_requests')
  await project.ask(server, 'POST', `/change-requests/${cr_id}/merge`)
  await server.kill('SIGTERM')
  // Its repository has the merged commit already, on another branch.
  expect(await refused('older', withPeers())).toContain('is not the newest')
})

test('an older copy of the folder of a server without projects starts among others', async () => {
  await starts('data', { ...named, ...withoutCopies() })
  await server.kill('SIGTERM')
  await copy('data', 'older')
  await starts('data', withoutCopies())
  await server.kill('SIGTERM')
  await starts('older', withoutCopies())
})

test('a folder with repositories of another server does not take its projects over, and names the way', async () => {
  await starts('original', named)
  const project = await FleetProject.make(fleet, server)
  await server.kill('SIGTERM')
  // As a restore leaves it: the repositories alone, and no server in the database.
  await mkdir(folder('restored'), { mode: 0o700 })
  await cp(join(folder('original'), 'repositories'), join(folder('restored'), 'repositories'), { recursive: true })
  await fleet.query('update projects set home = null')
  await fleet.query('delete from servers')
  await starts('restored')
  await merges(project, 'after-the-restore')
  // Beside the running one, too.
  const beside = await boot('original', { SVC_PORT: '0' })
  expect(beside.url).toBeNull()
  expect(await beside.errors()).toContain(`SVC_DATA_DIR=${folder('restored')}`)
})

test('a folder goes on with an older database, and says so at its start', async () => {
  await starts('data', named)
  const project = await FleetProject.make(fleet, server)
  await server.kill('SIGTERM')
  const [before] = await fleet.query<{ settings: object }>('select settings from servers')
  await starts('data')
  const head = await merges(project, 'later')
  await server.kill('SIGTERM')
  // As a dump or a recovery to a point in time brings the row back.
  await fleet.query('update servers set settings = $1', [before!.settings])
  const late = await boot('data')
  expect([late.url === null, await mainOf(project)]).toEqual([false, head])
  await server.kill('SIGTERM')
  expect(await late.errors()).toContain('The database is older than the data folder')
  const next = await boot('data')
  expect(next.url).not.toBeNull()
  await server.kill('SIGTERM')
  expect(await next.errors()).not.toContain('The database is older')
})

test('a folder starts after a crash before or after the database recorded its mark, and one of an earlier version', async () => {
  await starts('data')
  await server.kill('SIGTERM')
  const file = join(folder('data'), 'start-marks')
  const crashes = [
    (marks: string) => `${marks}${randomUUID()} begun\n`,
    (marks: string) => marks.replace(/\n$/, ' begun\n'),
  ]
  for (const crash of crashes) {
    await Bun.write(file, crash(await Bun.file(file).text()))
    const { url, errors } = await boot('data')
    if (url === null) throw new Error(await errors())
    await server.kill('SIGTERM')
    expect(await errors()).not.toContain('The database is older')
  }
  await fleet.query(`update servers set settings = settings - 'start_mark'`)
  await rm(file)
  await starts('data')
  await server.kill('SIGTERM')
  await rm(file)
  expect(await refused('data')).toContain('its projects were served from a newer state of it since')
})

test('a server whose disk is full starts with the mark of before', async () => {
  const disk = await SmallDisk.mount(folder('disk'), '4m')
  if (disk === null) return
  try {
    await starts('disk', named)
    await server.kill('SIGTERM')
    await disk.fill()
    for (let start = 0; start < 2; start++) {
      await starts('disk')
      await server.kill('SIGTERM')
    }
    await rm(disk.filler)
    await starts('disk')
  } finally {
    await server.kill('SIGTERM')
    disk.unmount()
  }
})
