/** S29: pushes that fill the server, by a real git client against the real listener. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ErrorBody, Project } from '@svc/contract'
import { type Repository, storeBytes } from '@svc/git'
import { clientAt } from '@svc/git/testing-client'
import { buildApp } from '../app.ts'
import { gitText, testProject } from '../change-requests/testing.ts'
import { DiskWatch } from '../storage/disk-watch.ts'
import { Listener } from '../listen.ts'
import { makeSessionApp, type SessionApp } from '../sessions/testing.ts'

const mebibyte = 1024 * 1024
const kibibyte = 1024
const quotas = {
  repositoryBytes: 3 * mebibyte,
  pushBytes: 1.5 * mebibyte,
  ...{
    unfinishedWorkBytes: mebibyte,
    transcriptBytes: mebibyte,
    checkLogBytes: mebibyte,
    appArchiveBytes: mebibyte,
    sessionsBytes: 2 ** 40,
  },
}
let app: SessionApp
let port: number
let home: string
let free = 100 * mebibyte
const door = new Listener({ fromSandbox: false })
beforeAll(async () => {
  const measure = () => Promise.resolve({ freeBytes: free, totalBytes: 100 * mebibyte })
  const config = { dataDir: '/', diskFreeBytesMin: 10 * mebibyte }
  const disk = new DiskWatch({ config, log: { error() {}, info() {}, warn() {} } as never, measure })
  app = await makeSessionApp({ configure: { quotas }, deps: { disk } })
  port = await door.onPort('127.0.0.1', 0)
  const served = buildApp(app.deps)
  door.answerWith((request, env) => served.fetch(request, env))
  home = await mkdtemp(join(tmpdir(), 'svc-quota-'))
}, 120_000)
afterAll(async () => {
  await door.close()
  await app.close()
  await rm(home, { recursive: true, force: true })
})

interface Made {
  project: Project
  repo: Repository
}

const urlOf = (project: Project, token = app.ownerToken) =>
  `http://x-access-token:${token}@127.0.0.1:${port}/v1/projects/${project.project_id}/git`

async function cloneOf({ project }: Made) {
  const dir = await mkdtemp(join(home, 'clone-'))
  const cloned = await clientAt(home).run('clone', '--quiet', urlOf(project), dir)
  if (cloned.code !== 0) throw new Error(cloned.err)
  const client = clientAt(dir)
  const file = async (name: string, bytes: Uint8Array) => {
    await Bun.write(join(dir, name), bytes)
    await client.run('add', '--all')
    await client.run('commit', '--quiet', '-m', name)
  }
  /** A commit with a file of that many random bytes, pushed to its own branch. */
  const push = async (branch: string, size: number) => {
    await client.run('checkout', '--quiet', '-B', branch, 'origin/main')
    await file(`${branch}.bin`, randomBytes(size))
    return client.run('push', 'origin', `HEAD:refs/heads/${branch}`)
  }
  return { dir, client, file, push }
}

/** A refused push leaves nothing behind. */
async function isClean({ repo }: Made): Promise<void> {
  expect((await readdir(repo.dir)).filter((name) => name.startsWith('svc-scratch'))).toEqual([])
  expect(await gitText(repo, 'fsck', '--full', '--no-dangling')).toBe('')
}

const usage = async ({ project }: Made) =>
  (await app.request<{ storage: Record<string, number> }>('GET', `/v1/projects/${project.project_id}/usage`)).body
    .storage

describe('pushes over a quota', () => {
  test('refuses a push over the push quota with the sizes, and keeps nothing of it', async () => {
    const made = await app.managedProject()
    const clone = await cloneOf(made)
    const before = await storeBytes(made.repo.dir)
    const refused = await clone.push('large', 2 * mebibyte)
    expect(refused.code).not.toBe(0)
    expect(refused.err).toContain('remote: quota_exceeded: this push is larger than 1.5 MiB')
    expect(refused.err).toMatch(/uses .+ of its 3 MiB/)
    expect(await storeBytes(made.repo.dir)).toBe(before)
    await isClean(made)
    expect(await clone.push('small', 1000)).toMatchObject({ code: 0 })
  })

  test('refuses pushes to a full repository, which can still be read, merged and reduced', async () => {
    const made = await app.managedProject()
    const others = await app.managedProject()
    const at = testProject(app, made)
    const cr = await at.open('work', { 'w.txt': 'w\n' })
    const clone = await cloneOf(made)
    const results = []
    for (let n = 0; n < 5; n++) results.push(await clone.push(`fill-${n}`, 900 * kibibyte))
    expect(results.map(({ code }) => code === 0)).toEqual([true, true, true, false, false])
    expect(results[4]!.err).toMatch(
      /remote: quota_exceeded: this push does not fit\. The repository uses 2\.6 MiB of its 3 MiB\./,
    )
    expect(await storeBytes(made.repo.dir)).toBeLessThan(quotas.repositoryBytes)
    await isClean(made)
    const storage = await usage(made)
    expect(storage).toEqual({
      repository_bytes: expect.any(Number),
      unfinished_work_bytes: 0,
      transcript_bytes: 0,
      check_log_bytes: 0,
      limit_bytes: quotas.repositoryBytes,
      sessions_limit_bytes: quotas.sessionsBytes,
    } as never)
    expect(storage.repository_bytes).toBeGreaterThan(2.6 * mebibyte)

    // Lowered below the current usage, so it stays exceeded.
    const settings = { quota_repository_bytes: mebibyte }
    const path = `/v1/projects/${made.project.project_id}`
    expect((await app.request('PATCH', path, { body: { settings } })).status).toBe(200)
    expect((await usage(made)).limit_bytes).toBe(mebibyte)
    expect((await clone.push('tiny', 10)).err).toContain('of its 1 MiB')
    expect(await clientAt(home).run('clone', '--quiet', urlOf(made.project), join(home, 'again'))).toMatchObject({
      code: 0,
    })
    expect((await at.merge(cr.cr_id)).status).toBe(200)
    await clone.client.run('fetch', '--quiet', 'origin')
    expect(await clone.client.run('push', 'origin', 'origin/main:refs/heads/known')).toMatchObject({ code: 0 })
    expect(await clone.client.run('push', 'origin', '--delete', 'fill-1')).toMatchObject({ code: 0 })
    // Another project is unaffected.
    expect(await (await cloneOf(others)).push('work', 900 * kibibyte)).toMatchObject({ code: 0 })
  }, 120_000)

  test('concurrent pushes share the remaining quota', async () => {
    const made = await app.managedProject()
    const clones = await Promise.all([1, 2, 3, 4, 5].map(() => cloneOf(made)))
    const results = await Promise.all(clones.map((clone, n) => clone.push(`at-once-${n}`, 900 * kibibyte)))
    expect(results.filter(({ code }) => code === 0).length).toBeLessThanOrEqual(3)
    expect(await storeBytes(made.repo.dir)).toBeLessThan(quotas.repositoryBytes)
    await isClean(made)
  }, 120_000)

  test('counts a compressed push by its unpacked size', async () => {
    const made = await app.managedProject()
    const clone = await cloneOf(made)
    const big = randomBytes(1.25 * mebibyte)
    await clone.client.run('checkout', '--quiet', '-B', 'base', 'origin/main')
    await clone.file('big.bin', big)
    expect(await clone.client.run('push', 'origin', 'HEAD:refs/heads/base')).toMatchObject({ code: 0 })
    const codes = []
    for (let n = 1; n <= 2; n++) {
      big[n] = (big[n]! + 1) % 256
      await clone.file('big.bin', big)
      const pushed = await clone.client.run('push', '--thin', 'origin', 'HEAD:refs/heads/base')
      codes.push(pushed.code === 0)
      if (pushed.code !== 0) expect(pushed.err).toContain('quota_exceeded: this push does not fit')
    }
    expect(codes).toEqual([true, false])
    expect(await storeBytes(made.repo.dir)).toBeLessThan(quotas.repositoryBytes)
    await isClean(made)
  }, 120_000)

  test("refuses a push by an agent's own credential", async () => {
    const session = await app.running()
    const before = await storeBytes(app.repo.dir)
    const dir = await mkdtemp(join(home, 'agent-'))
    const url = urlOf(app.project, session.env.SVC_CLI_TOKEN)
    expect(await clientAt(home).run('clone', '--quiet', url, dir)).toMatchObject({ code: 0 })
    await Bun.write(join(dir, 'large.bin'), randomBytes(2 * mebibyte))
    for (const args of [
      ['add', '--all'],
      ['commit', '--quiet', '-m', 'Large'],
    ])
      await clientAt(dir).run(...args)
    const refused = await clientAt(dir).run('push', 'origin', `HEAD:refs/heads/${session.branch_name}`)
    expect(refused.code).not.toBe(0)
    expect(refused.err).toContain('quota_exceeded')
    expect(await storeBytes(app.repo.dir)).toBe(before)
  })

  test('answers 413 and the code before a client that is not git sends anything', async () => {
    const { project } = await app.managedProject()
    const reply = await app.request<ErrorBody>('POST', `/v1/projects/${project.project_id}/git/git-receive-pack`, {
      token: null,
      headers: {
        authorization: `Basic ${Buffer.from(`x-access-token:${app.ownerToken}`).toString('base64')}`,
        'content-type': 'application/x-git-receive-pack-request',
        'content-length': String(2 * mebibyte),
      },
      body: new Uint8Array(10),
    })
    expect([reply.status, reply.body.code, reply.body.limit_bytes]).toEqual([413, 'quota_exceeded', 1.5 * mebibyte])
    expect(reply.body.used_bytes).toBeNumber()
  })
})

test('a project can lower a quota but not raise it, and an agent can do neither', async () => {
  const { project } = await app.managedProject()
  const path = `/v1/projects/${project.project_id}`
  const set = (bytes: number | null, token = app.ownerToken) =>
    app.request<ErrorBody>('PATCH', path, { token, body: { settings: { quota_push_bytes: bytes } } })
  expect((await set(2 * mebibyte)).body).toMatchObject({ code: 'invalid', error: expect.stringContaining('1.5 MiB') })
  expect((await set(mebibyte)).status).toBe(200)
  expect((await set(1000, (await app.makeSession(project)).token)).status).toBe(403)
  expect((await set(null)).status).toBe(200)
})

test('a disk that is almost full accepts no new work, and reading, merging and deleting continue', async () => {
  const made = await app.managedProject()
  const at = testProject(app, made)
  const cr = await at.open('work', { 'w.txt': 'w\n' })
  const clone = await cloneOf(made)
  expect(await clone.push('unneeded', 1000)).toMatchObject({ code: 0 })
  const [stopped, running] = [await app.makeSession(made.project), await app.running()]
  const other = await app.managedProject()
  const ready = () => app.request<{ disk: { ready: boolean; problem: string | null } }>('GET', '/v1/ready')
  expect((await ready()).body.disk).toEqual({ ready: true, problem: null })
  free = 9 * mebibyte
  await app.deps.disk.look()
  try {
    expect((await ready()).body.disk).toEqual({
      ready: false,
      problem: expect.stringContaining('almost full') as never,
    })
    const refused = await clone.push('work-2', 1000)
    expect(refused.code).not.toBe(0)
    expect(refused.err).toContain('remote: The disk of this server is almost full')
    const created = await app.create()
    expect([created.status, created.body.code, created.headers.get('retry-after')]).toEqual([503, 'unavailable', '60'])
    expect((await at.merge(cr.cr_id)).status).toBe(200)
    // Deletions make room, so they are accepted.
    const sessionPath = `/v1/projects/${made.project.project_id}/sessions/${stopped.session_id}`
    expect((await app.request('DELETE', sessionPath)).status).toBe(200)
    expect((await app.request('DELETE', app.path(running.session_id))).status).toBe(200)
    expect(await clone.client.run('push', 'origin', ':unneeded')).toMatchObject({ code: 0 })
    expect((await app.request('DELETE', `/v1/projects/${other.project.project_id}?purge=true`)).status).toBe(200)
  } finally {
    free = 100 * mebibyte
    await app.deps.disk.look()
  }
  expect(await clone.push('work-2', 1000)).toMatchObject({ code: 0 })
  expect((await app.create()).status).toBe(201)
})
