/**
 * A file system that fills up during a push, a merge and a fetch: the error says so, nothing is lost, and work
 * continues once there is space.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readdir, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { ErrorBody } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { clientAt, makeClient } from '@svc/git/testing-client'
import { buildApp } from '../app.ts'
import { gitText, testProject } from '../change-requests/testing.ts'
import { Listener } from '../listen.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { SmallDisk } from '../testing-small-disk.ts'

const mebibyte = 1024 * 1024
let app: TestApp
let port: number
let client: Awaited<ReturnType<typeof makeClient>>
let repositories: SmallDisk | null = null
let mirrors: SmallDisk | null = null
const door = new Listener({ fromSandbox: false })
beforeAll(async () => {
  app = await makeTestApp()
  port = await door.onPort('127.0.0.1', 0)
  const served = buildApp(app.deps)
  door.answerWith((request, env) => served.fetch(request, env))
  client = await makeClient()
  repositories = await SmallDisk.mount(join(app.deps.config.dataDir, 'repositories'), '6m')
  mirrors = await SmallDisk.mount(join(app.deps.config.dataDir, 'mirrors'), '6m')
}, 120_000)
afterAll(async () => {
  repositories?.unmount()
  mirrors?.unmount()
  await door.close()
  await client.remove()
  await app.close()
}, 120_000)

const large = (size: number) => randomBytes(size * mebibyte).toString('base64')

async function whileFull<T>(disk: SmallDisk, work: () => Promise<T>): Promise<T> {
  await disk.fill()
  try {
    return await work()
  } finally {
    await rm(disk.filler)
  }
}

/** No folder can be made on the file system, as on one without free blocks. */
async function withoutFolders<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const { files, ffree } = await statfs(folder)
  const limit = (inodes: number) => Bun.spawnSync(['mount', '-o', `remount,nr_inodes=${inodes}`, folder])
  expect(limit(files - ffree).exitCode).toBe(0)
  try {
    return await work()
  } finally {
    limit(files)
  }
}

/** Scratch folders and incomplete packs or objects. */
async function leftovers(dir: string): Promise<string[]> {
  const names = await readdir(dir, { recursive: true })
  return names.filter((name) => /svc-scratch|tmp_|\.lock$/.test(name))
}

describe('a full disk of managed repositories', () => {
  test('refuses a push with the reason, and accepts it after space is freed', async () => {
    if (repositories === null) return
    const made = await app.managedProject()
    const url = `http://x-access-token:${app.ownerToken}@127.0.0.1:${port}/v1/projects/${made.project.project_id}/git`
    expect(await client.run('clone', '--quiet', url, 'clone')).toMatchObject({ code: 0 })
    const clone = clientAt(join(client.cwd, 'clone'))
    await clone.run('checkout', '--quiet', '-b', 'large')
    await clone.write('large.txt', large(1))
    await clone.run('add', '--all')
    await clone.run('commit', '--quiet', '-m', 'Large')
    const before = await gitText(made.repo, 'for-each-ref')
    const refused = await whileFull(repositories, () => clone.run('push', 'origin', 'HEAD'))
    expect(refused.code).not.toBe(0)
    expect(refused.err).toMatch(/No space left on device|disk of this server is full/)
    expect(refused.err).not.toContain(app.deps.config.dataDir)
    expect(await gitText(made.repo, 'for-each-ref')).toBe(before)
    expect(await leftovers(made.repo.dir)).toEqual([])
    expect(await clone.run('push', '--quiet', 'origin', 'HEAD')).toMatchObject({ code: 0 })
    await gitText(made.repo, 'fsck', '--strict')
  })

  test('reads a change request, and merges it after space is freed', async () => {
    if (repositories === null) return
    const at = testProject(app, await app.managedProject())
    const cr = await at.open('work', { 'w.txt': 'w\n' })
    await commit(at.repo, 'main', { 'm.txt': 'm\n' })
    const base = await at.tip('main')
    await whileFull(repositories, async () => {
      expect((await at.get(cr.cr_id)).status).toBe('open')
      const reply = await at.refusedMerge(cr.cr_id)
      expect([reply.status, reply.body.code]).toEqual([503, 'unavailable'])
      expect(reply.body.error).toContain('disk')
      expect(reply.headers.get('retry-after')).toBe('60')
      expect(await at.tip('main')).toBe(base)
      expect((await at.get(cr.cr_id)).status).toBe('open')
    })
    const merged = await at.merge(cr.cr_id)
    expect([merged.status, merged.body.merge.base_sha_before]).toEqual([200, base])
    expect(await at.tip('main')).toBe(merged.body.merge.merge_commit_sha)
    await gitText(at.repo, 'fsck', '--strict')
  })
})

test('a merge that finds no room for its refs says that the disk is full, and names no git host', async () => {
  if (repositories === null) return
  const at = testProject(app, await app.managedProject())
  const cr = await at.open('forward', { 'w.txt': 'w\n' })
  await at.get(cr.cr_id)
  const base = await at.tip('main')
  const reply = await withoutFolders(repositories.path, () => at.refusedMerge(cr.cr_id))
  expect([reply.status, reply.body.code]).toEqual([503, 'unavailable'])
  expect(reply.body.error).toContain('disk of this server is full')
  expect([await at.tip('main'), (await at.get(cr.cr_id)).status]).toEqual([base, 'open'])
  expect((await at.merge(cr.cr_id)).status).toBe(200)
})

describe('a full disk of mirrors', () => {
  test("says that the server's disk is full, leaves no partial objects, and fetches after space is freed", async () => {
    if (mirrors === null) return
    const made = await app.externalProject()
    const at = testProject(app, made)
    const first = await at.open('first', { 'a.txt': 'a\n' })
    const kept = await at.merge(first.cr_id)
    expect(kept.status).toBe(200)
    const cr = await at.open('large', { 'large.txt': large(1) })
    await whileFull(mirrors, async () => {
      const reply = await app.request<ErrorBody>('GET', at.path(cr.cr_id, 'diff'))
      expect([reply.status, reply.body.code]).toEqual([503, 'unavailable'])
      expect(reply.body.error).toContain('disk of this server')
      // Reads that need no objects are answered, live.
      expect((await at.get(cr.cr_id)).head_commit_sha).toBe(await at.tip('large'))
    })
    const mirror = join(mirrors.path, `${made.project.project_id}.git`)
    expect(await leftovers(mirror)).toEqual([])
    const diff = await app.request<{ files: { path: string }[] }>('GET', at.path(cr.cr_id, 'diff'))
    expect(diff.body.files.map(({ path }) => path)).toEqual(['large.txt'])
    // Earlier merges stay readable.
    expect((await app.request('GET', at.path(first.cr_id, 'diff'))).status).toBe(200)
    await gitText({ dir: mirror }, 'fsck', '--connectivity-only')
    expect((await at.merge(cr.cr_id)).status).toBe(200)
  })

  test('reports the full disk when a project is created', async () => {
    if (mirrors === null) return
    const at = testProject(app, await app.externalProject())
    const cr = await at.open('work', { 'w.txt': 'w\n' })
    const reply = await whileFull(mirrors, () => app.request<ErrorBody>('GET', at.path(cr.cr_id, 'diff')))
    expect([reply.status, reply.body.code]).toEqual([503, 'unavailable'])
    expect(await readdir(mirrors.path)).not.toContainEqual(expect.stringContaining('.new-'))
    expect((await app.request('GET', at.path(cr.cr_id, 'diff'))).status).toBe(200)
  })
})
