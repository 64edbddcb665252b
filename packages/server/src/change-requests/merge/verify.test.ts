import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { commit } from '@svc/git/testing'
import { mirrorDir } from '../../projects/repository.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { gitText, type TestProject, testProject } from '../testing.ts'
import type { Verification } from './verify.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const verify = (at: TestProject, crId: string) => app.request<Verification>('GET', at.path(crId, 'verify'))

async function merged(at: TestProject, branch: string, options: { diverged?: boolean; message?: string } = {}) {
  const cr = await at.open(branch, { [`${branch}.txt`]: 'x\n' })
  if (options.diverged) await commit(at.repo, 'main', { [`main-${branch}.txt`]: 'y\n' })
  const body = options.message === undefined ? undefined : { message: options.message }
  const reply = await at.merge(cr.cr_id, body === undefined ? {} : { body })
  expect(reply.status).toBe(200)
  return reply.body.change_request
}

test('repeating each kind of merge gives the same result', async () => {
  for (const project of [await app.managedProject(), await app.externalProject()]) {
    const at = testProject(app, project)
    const forward = await merged(at, 'forward')
    const commitOf = await merged(at, 'diverged', { diverged: true, message: '  Grüße\n\nvon weit her \n\n' })
    await gitText(at.repo, 'branch', 'nothing', 'main')
    const idle = await app.request<{ cr_id: string }>('POST', at.path(), { body: { title: 't', head_ref: 'nothing' } })
    expect((await at.merge(idle.body.cr_id)).status).toBe(200)

    const kinds: [string, string][] = [
      [forward.cr_id, 'fast-forward'],
      [commitOf.cr_id, 'merge-commit'],
      [idle.body.cr_id, 'up-to-date'],
    ]
    for (const [crId, kind] of kinds) {
      const { status, body } = await verify(at, crId)
      expect([status, body.verified, body.kind, body.reason]).toEqual([200, true, kind as 'fast-forward', undefined])
      expect(body.got).toEqual(body.expected)
      expect(body.expected.commit).toBe((await at.get(crId)).merge_commit_sha)
      expect(body.git_version).toMatch(/^\d+\.\d+/)
    }
    // Both branches may have been deleted.
    await gitText(at.repo, 'update-ref', '-d', 'refs/heads/diverged')
    expect((await verify(at, commitOf.cr_id)).body.verified).toBe(true)
  }
})

test('fetches a lost mirror again to verify a merge', async () => {
  const at = testProject(app, await app.externalProject())
  const cr = await merged(at, 'work', { diverged: true })
  await rm(mirrorDir(app.deps, at.project.project_id), { recursive: true })
  expect((await verify(at, cr.cr_id)).body).toMatchObject({ verified: true, kind: 'merge-commit' })
})

test('a changed receipt is reported with the difference', async () => {
  const at = testProject(app, await app.managedProject())
  const cr = await merged(at, 'work', { diverged: true })
  const change = (set: object) =>
    app.deps.db.updateTable('merge_attempts').set(set).where('cr_id', '=', cr.cr_id).execute()

  await change({ message: 'Another' })
  const message = (await verify(at, cr.cr_id)).body
  expect(message).toMatchObject({ verified: false, expected: { commit: cr.merge_commit_sha } })
  expect(message.got.tree).toBe(message.expected.tree)
  expect(message.got.commit).not.toBe(message.expected.commit)
  expect(message.reason).toContain('same content')

  await change({ kind: 'fast-forward' })
  expect((await verify(at, cr.cr_id)).body).toMatchObject({ verified: false, kind: 'fast-forward' })

  await change({ state: 'abandoned' })
  const none = (await verify(at, cr.cr_id)).body
  expect(none).toMatchObject({ verified: false, kind: null, expected: { commit: cr.merge_commit_sha } })
  expect(none.reason).toContain('no receipt')
})

test('refuses to verify a change request that is not merged', async () => {
  const at = testProject(app, await app.managedProject())
  const cr = await at.open('work', { 'a.txt': 'a\n' })
  const { status, body } = await verify(at, cr.cr_id)
  expect([status, body as unknown]).toMatchObject([409, { code: 'conflict', status: 'open' }])
  await app.request('POST', at.path(cr.cr_id, 'close'))
  expect((await verify(at, cr.cr_id)).status).toBe(409)
})
