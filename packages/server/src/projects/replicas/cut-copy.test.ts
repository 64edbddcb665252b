/** A server that stops cuts the copies it is taking. Their home sends them again, so this is no error. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { basename } from 'node:path'
import pino from 'pino'
import { buildApp } from '../../app.ts'
import { updateRows } from '../../db/rows.ts'
import { serverHeader, serverKeyPurpose, signOwn } from '../../fleet/peer-header.ts'
import { Listener } from '../../listen.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { until } from '../../testing-until.ts'
import { replicaDir } from './keep.ts'
import { replicaPath } from './peer.ts'

const lines: { level: number; msg: string }[] = []
const listener = new Listener({ fromSandbox: false })
let app: TestApp
let port = 0
beforeAll(async () => {
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  app = await makeTestApp({ serverName: 'bob', log })
  port = await listener.onPort('127.0.0.1', 0)
  const served = buildApp(app.deps)
  listener.answerWith((request, env) => served.fetch(request, env))
}, 120_000)
afterAll(async () => {
  await listener.close()
  await app.close()
})

test('a copy that the end of the server cuts is logged in one line, and not as an error', async () => {
  const { project } = await app.managedProject()
  const projectId = project.project_id
  await updateRows(app.deps.db, 'projects', { project_id: projectId }, { home: 'ada' })
  const path = `${replicaPath}/${projectId}/fill?epoch=1&seq=0&format=sha1`
  const { keyring, now } = app.deps
  const between = { from: 'ada', to: 'bob' }
  const signed = signOwn(keyring.derive(serverKeyPurpose), { method: 'POST', path }, between, now().getTime())
  const out = httpRequest({ host: '127.0.0.1', port, method: 'POST', path, headers: { [serverHeader]: signed } })
  const ended = new Promise((resolve) => out.on('error', resolve))
  out.write(`${JSON.stringify({ refs: [], noted: [] })}\n`)
  out.write(Buffer.from('5041434b0000000200000009', 'hex'))
  const dir = replicaDir(app.deps, projectId)
  await until('git takes the pack', async () => {
    const names = await readdir(dir, { recursive: true }).catch(() => [])
    return names.some((name) => basename(name).startsWith('tmp_pack'))
  })
  out.destroy()
  await ended
  await until('it is logged', () => lines.some(({ msg }) => msg === 'a request ended before its git'))
  expect(lines.filter(({ level }) => level >= 40)).toEqual([])
}, 120_000)
