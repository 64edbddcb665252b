import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import pino from 'pino'
import { defaultDataDir, defaultMasterKeyFile } from '../config.ts'
import { updateRows } from '../db/rows.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { greet, wordsOnLeft } from './banner.ts'

const hooks = { rememberOwner: async () => null, knownSettings: async () => [] }
let app: TestApp
beforeAll(async () => {
  app = await makeTestApp({ serverName: 'ada' })
}, 120_000)
afterAll(() => app.close())

test('the first lines name the server and its address for the others, where there are several', async () => {
  const alone = await (await greet(app.deps, hooks, './svc'))()
  expect(alone).not.toContain('  Server  ')
  const config = { ...app.deps.config, peerUrl: 'https://10.0.0.7:8421' }
  const text = await (await greet({ ...app.deps, config }, hooks, './svc'))()
  expect(text).toContain('  Server       ada (other servers reach it at https://10.0.0.7:8421)\n')
})

test('a server whose disk lacks repositories of its projects names them at its start', async () => {
  const { project, repo } = await app.managedProject()
  const created_at = new Date(Date.now() - 3_600_000).toISOString()
  await updateRows(app.deps.db, 'projects', { project_id: project.project_id }, { home: 'ada', created_at })
  const warned: unknown[] = []
  const log = pino({}, { write: (line: string) => void warned.push(JSON.parse(line)) })
  const deps = { ...app.deps, home: 'ada', log }
  const lost = `1 project at home here without a repository on this disk: ${project.slug}`
  expect(await (await greet(deps, hooks, './svc'))()).not.toContain(lost)
  await rm(repo.dir, { recursive: true })
  const text = await (await greet(deps, hooks, './svc'))()
  expect(text).toContain(`  Warning: ${lost}.\n           Stop this server`)
  expect(text).toContain('svc self-host take-over ada')
  expect(warned).toContainEqual(expect.objectContaining({ level: 40, msg: lost }))
})

test('the command that ends what goes on names the settings of this server', () => {
  const { config } = app.deps
  const left = { sessions: 1, apps: 0, checks: 0 }
  const paths = { dataDir: defaultDataDir(), masterKeyFile: defaultMasterKeyFile() }
  const usual = { ...config, ...paths, databaseUrl: null, peerUrl: null }
  expect(wordsOnLeft(usual, left, './svc')).toContain('To end it: ./svc self-host stop --sessions\n')
  const apart = { ...usual, dataDir: '/srv/copy' }
  expect(wordsOnLeft(apart, left, './svc')).toContain(`To end it: SVC_DATA_DIR='/srv/copy' ./svc self-host stop`)
  const several = {
    ...config,
    databaseUrl: 'postgres://db/svc',
    peerUrl: 'https://10.0.0.7',
    publicUrl: 'https://svc.example',
    dataDir: "/srv/ada's",
    masterKeyFile: '/srv/master.key',
  }
  expect(wordsOnLeft(several, left, './svc')).toContain(
    `To end it: SVC_DATA_DIR='/srv/ada'\\''s' SVC_MASTER_KEY_FILE='/srv/master.key' DATABASE_URL="\${DATABASE_URL:?}" SVC_PUBLIC_URL='https://svc.example' SVC_PEER_URL='https://10.0.0.7' ./svc self-host stop --sessions\n`,
  )
})
