/** Slow pushes and slow git hosts hold at most a share of the server's git processes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Project } from '@svc/contract'
import { clientAt } from '@svc/git/testing-client'
import pino from 'pino'
import { buildApp } from '../app.ts'
import { Listener } from '../listen.ts'
import { makeSessionApp, type SessionApp, until } from '../sessions/testing.ts'
import { managedDir } from './repository.ts'

let app: SessionApp
let port: number
let home: string
const door = new Listener({ fromSandbox: false })
const unhandled: unknown[] = []
const take = (error: unknown) => unhandled.push(error)
const failed: string[] = []
beforeAll(async () => {
  process.on('unhandledRejection', take)
  const log = pino({ level: 'error' }, { write: (line) => void failed.push(line) })
  app = await makeSessionApp({ deps: { log } })
  port = await door.onPort('127.0.0.1', 0)
  const served = buildApp(app.deps)
  door.answerWith((request, env) => served.fetch(request, env))
  home = await mkdtemp(join(tmpdir(), 'svc-full-lanes-'))
}, 120_000)
afterAll(async () => {
  await door.close()
  await app.close()
  await rm(home, { recursive: true, force: true })
  process.off('unhandledRejection', take)
})

const pkt = (text: string) => `${(Buffer.byteLength(text) + 4).toString(16).padStart(4, '0')}${text}`
const chunk = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])

/** A push whose pack starts and then stalls. */
function slowPush(projectId: string, branch: string): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  const head = [
    `POST /v1/projects/${projectId}/git/git-receive-pack HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    `Authorization: Basic ${btoa(`x-access-token:${app.ownerToken}`)}`,
    ...['Content-Type: application/x-git-receive-pack-request', 'Accept: application/x-git-receive-pack-result'],
    ...['Transfer-Encoding: chunked', '', ''],
  ]
  socket.write(head.join('\r\n'))
  const command = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/${branch}\0report-status`
  const pack = [...Buffer.from('PACK'), 0, 0, 0, 2, 0, 0, 0, 1, 0xbf, 0xff, 0xff, 0x7f, 0x78, 0x01]
  socket.write(chunk(Buffer.concat([Buffer.from(`${pkt(command)}0000`), Buffer.from(pack)])))
  return socket
}

const git = async (cwd: string, ...args: string[]) => {
  const { code, out, err } = await clientAt(cwd).run(...args)
  return { ok: code === 0, said: `${out}\n${err}` }
}
const urlOf = (projectId: string, token = app.ownerToken) =>
  `http://x-access-token:${token}@127.0.0.1:${port}/v1/projects/${projectId}/git`

async function workTree(projectId: string, token?: string): Promise<string> {
  const dir = await mkdtemp(join(home, 'clone-'))
  expect(await git(home, 'clone', urlOf(projectId, token), dir)).toMatchObject({ ok: true })
  await git(dir, 'commit', '--allow-empty', '-m', 'work')
  return dir
}

/** Counts the scratch folders of pushes that run or wait. */
async function rooms(projectId: string): Promise<number> {
  const dir = managedDir(app.deps, projectId)
  const found = (await readdir(dir)).filter((name) => name.startsWith('svc-scratch-'))
  const ready = await Promise.all(found.map((name) => Bun.file(join(dir, name, 'HEAD')).exists()))
  return ready.filter(Boolean).length
}

test('stalled pushes do not delay fetches or other repositories, wait in a bounded queue, and leave it without an error of the server', async () => {
  const { project: other } = await app.managedProject()
  const [mine, theirs] = [app.project.project_id, other.project_id]
  const [dir, otherDir] = [await workTree(mine), await workTree(theirs)]
  const held = Array.from({ length: 4 + 64 }, (_, index) => slowPush(mine, `slow-${index}`))
  try {
    await until('every slow push runs or waits', async () => ((await rooms(mine)) === held.length ? true : null))
    expect(await git(dir, '-c', 'protocol.version=0', 'ls-remote', 'origin')).toMatchObject({ ok: true })
    expect(await git(otherDir, '-c', 'protocol.version=0', 'fetch', 'origin')).toMatchObject({ ok: true })
    expect(await git(otherDir, 'push', 'origin', 'HEAD:refs/heads/work')).toMatchObject({ ok: true })
    const refused = await git(dir, 'push', 'origin', 'HEAD:refs/heads/work')
    expect(refused.ok).toBeFalse()
    expect(refused.said).toContain('Too many pushes to this repository are running')
  } finally {
    for (const socket of held) socket.destroy()
  }
  await until('the places are free', async () => ((await rooms(mine)) === 0 ? true : null))
  expect(await git(dir, 'push', 'origin', 'HEAD:refs/heads/work')).toMatchObject({ ok: true })
  expect([unhandled, failed]).toEqual([[], []])
}, 120_000)

test('stalled pushes to many repositories of one account do not delay a push of another account', async () => {
  const stranger = await app.makeUser('owner', 'own')
  const made = await app.request<Project>('POST', '/v1/projects', { token: stranger.token, body: { name: 'theirs' } })
  expect(made.status).toBe(201)
  const dir = await workTree(made.body.project_id, stranger.token)
  const mine = await Promise.all(Array.from({ length: 6 }, () => app.managedProject()))
  const held = mine.flatMap(({ project }) =>
    Array.from({ length: 4 }, (_, n) => slowPush(project.project_id, `s-${n}`)),
  )
  try {
    const areThere = async () => {
      const counts = await Promise.all(mine.map(({ project }) => rooms(project.project_id)))
      return counts.every((count) => count === 4) ? true : null
    }
    await until('every slow push runs or waits', areThere)
    expect(await git(dir, 'push', 'origin', 'HEAD:refs/heads/work')).toMatchObject({ ok: true })
    // The server cuts stalled pushes eventually; the other push did not wait for that.
    expect(await areThere()).toBeTrue()
  } finally {
    for (const socket of held) socket.destroy()
  }
}, 120_000)

test('a slow git host does not delay fetches from another host', async () => {
  let dripping = 0
  const sha = 'a'.repeat(40)
  const host = createServer((request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString('latin1')))
    request.on('end', () => {
      const isPush = request.url?.includes('receive-pack') ?? false
      const isListing = request.url?.includes('info/refs') ?? false
      const service = isPush ? 'git-receive-pack' : 'git-upload-pack'
      response.setHeader('content-type', `application/x-${service}-${isListing ? 'advertisement' : 'result'}`)
      const greeting = isPush
        ? pkt(`${sha} refs/heads/main\0report-status atomic delete-refs ofs-delta object-format=sha1\n`)
        : ['version 2\n', 'ls-refs\n', 'fetch=shallow\n', 'object-format=sha1\n'].map(pkt).join('')
      if (isListing) return void response.end(`${pkt(`# service=${service}\n`)}0000${greeting}0000`)
      if (body.includes('command=ls-refs'))
        return void response.end(
          `${pkt(`${sha} HEAD symref-target:refs/heads/main\n`)}${pkt(`${sha} refs/heads/main\n`)}0000`,
        )
      if (request.url?.includes('honest')) return void response.end(pkt('ERR nothing here\n'))
      dripping++
      response.write(pkt('packfile\n'))
      const drip = setInterval(() => response.write(pkt('\x02counting\n')), 500)
      response.on('close', () => clearInterval(drip))
    })
  })
  await new Promise<void>((resolve) => host.listen(0, '0.0.0.0', resolve))
  const asked: Promise<unknown>[] = []
  try {
    const make = async (hostName: string, name: string) => {
      const repo_url = `http://${hostName}:${(host.address() as AddressInfo).port}/${name}.git`
      const made = await app.request<Project>('POST', '/v1/projects', { body: { name, repo_url } })
      expect(made).toMatchObject({ status: 201 })
      return `/v1/projects/${made.body.project_id}/commits`
    }
    const honest = await make('127.0.0.1', 'honest')
    for (let n = 0; n < 9; n++) asked.push(app.request('GET', await make('localhost', `slow-${n}`)))
    await until('the slow host has its share', () => Promise.resolve(dripping >= 4 ? true : null))
    for (let n = 0; n < 5; n++) expect((await app.request('GET', honest)).text).toContain('nothing here')
    expect(dripping).toBe(4)
  } finally {
    host.closeAllConnections()
    host.on('connection', (socket) => socket.destroy())
    await Promise.allSettled(asked)
    host.close()
  }
}, 120_000)
