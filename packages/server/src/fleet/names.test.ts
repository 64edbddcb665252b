import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Fleet, makeFleet } from './testing-fleet.ts'

let fleet: Fleet
beforeAll(async () => {
  fleet = await makeFleet(['ada', 'bob'])
}, 120_000)
afterAll(() => fleet.close())

const alone = { SVC_PEER_URL: '', SVC_SERVER_NAME: '' }
const homes = () => fleet.query<{ name: string; home: string | null }>('select name, home from projects order by name')

test('a server that runs alone gets a name, keeps it, and becomes the home of the projects that are there', async () => {
  const [ada] = fleet.servers
  await ada!.boot(alone)
  const made = await fleet.request(ada!, 'POST', '/v1/projects', { body: { name: 'first' } })
  expect(made.status).toBe(201)
  await ada!.kill('SIGTERM')
  const name = (await readFile(join(fleet.dir, 'ada', 'server-name'), 'utf8')).trim()
  expect(name).toMatch(/^server-[0-9a-f]{8}$/)
  expect(await homes()).toEqual([{ name: 'first', home: name }])
  // As an installation of a version without homes left it.
  await fleet.query('update projects set home = null')
  await ada!.boot(alone)
  expect(await homes()).toEqual([{ name: 'first', home: name }])
  await ada!.kill('SIGTERM')
}, 120_000)

test('refuses a data folder of another server, a name in use, and a server without an address among others', async () => {
  const [ada, bob] = fleet.servers
  const refused = await ada!.boot()
  const own = (await readFile(join(fleet.dir, 'ada', 'server-name'), 'utf8')).trim()
  expect(refused.url).toBeNull()
  expect(await refused.errors()).toContain(`belongs to the server ${own}, and SVC_SERVER_NAME is ada`)

  expect((await ada!.boot({ SVC_SERVER_NAME: '' })).url).not.toBeNull()
  const same = await bob!.boot({ SVC_SERVER_NAME: own })
  expect(await same.errors()).toContain(`Another server with the name ${own} is running on this database`)
  const reached = await bob!.boot({ SVC_PEER_URL: ada!.url })
  expect(reached.url).toBeNull()
  expect(await reached.errors()).toContain(`The server ${own} has this SVC_PEER_URL already (${ada!.url})`)
  const byName = await bob!.boot({ SVC_PEER_URL: ada!.url.replace('127.0.0.1', 'localhost') })
  expect(byName.url).toBeNull()
  expect(await byName.errors()).toContain(`The server ${own} has this SVC_PEER_URL already (${ada!.url})`)
  const lonely = await bob!.boot({ SVC_PEER_URL: '' })
  expect(await lonely.errors()).toContain('1 project of this database has its home on another server')

  expect((await bob!.boot()).url).not.toBeNull()
  await bob!.kill('SIGTERM')
  await ada!.kill('SIGTERM')
}, 120_000)

test('a server that only answers requests is the home of no project, and others start beside it', async () => {
  const [ada, bob] = fleet.servers
  expect((await bob!.boot({ SVC_ROLES: 'api' })).url).not.toBeNull()
  const refused = await fleet.request(bob!, 'POST', '/v1/projects', { body: { name: 'homeless' } })
  expect(await refused.json()).toMatchObject({
    code: 'unavailable',
    error: 'No server that keeps projects is running.',
    hint: 'Try again in a moment. If it fails for minutes, ask the operator of this service.',
  })
  expect((await ada!.boot({ SVC_SERVER_NAME: '' })).url).not.toBeNull()
  const made = await fleet.request(bob!, 'POST', '/v1/projects', { body: { name: 'second' } })
  expect(made.status).toBe(201)
  expect(new Set((await homes()).map(({ home }) => home)).size).toBe(1)
  await ada!.kill('SIGTERM')
  await bob!.kill('SIGTERM')
}, 120_000)

test('a server on an empty folder goes on under the name of one that is gone', async () => {
  const [ada] = fleet.servers
  const own = (await readFile(join(fleet.dir, 'ada', 'server-name'), 'utf8')).trim()
  const booted = await ada!.boot({ SVC_DATA_DIR: join(fleet.dir, 'new'), SVC_SERVER_NAME: own })
  expect(booted.url).not.toBeNull()
  expect((await readFile(join(fleet.dir, 'new', 'server-name'), 'utf8')).trim()).toBe(own)
  await ada!.kill('SIGTERM')
}, 120_000)

test('refuses a name file that holds no name', async () => {
  const [ada] = fleet.servers
  await mkdir(join(fleet.dir, 'odd'), { recursive: true, mode: 0o700 })
  await writeFile(join(fleet.dir, 'odd', 'server-name'), 'No Name\n')
  const odd = await ada!.boot({ SVC_DATA_DIR: join(fleet.dir, 'odd') })
  expect(odd.url).toBeNull()
  expect(await odd.errors()).toContain('holds no name of a server')
}, 120_000)
