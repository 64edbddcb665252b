import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { commit } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../testing.ts'
import { gitText, type Refusal, testProject } from './testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

describe.each(['managed', 'external'] as const)(
  'a branch that is another name of main, in a project that is %s',
  (kind) => {
    const make = async () =>
      testProject(app, kind === 'managed' ? await app.managedProject() : await app.externalProject())

    test('refuses to open a change request into it, for every caller', async () => {
      const at = await make()
      await commit(at.repo, 'work', { 'a.txt': 'a\n' })
      await gitText(at.repo, 'symbolic-ref', 'refs/heads/release', 'refs/heads/main')
      const bound = (await app.makeSession(at.project)).token
      for (const token of [app.ownerToken, bound]) {
        const body = { title: 'x', head_ref: 'work', base_ref: 'release' }
        const { status, body: refusal } = await app.request<Refusal>('POST', at.path(), { token, body })
        expect([status, refusal.code]).toEqual([400, 'invalid'])
        expect(refusal).toMatchObject({ target: 'main', hint: expect.stringContaining('"main"') })
      }
    })

    test('refuses to merge into it when it became an alias later, so an agent cannot bypass main', async () => {
      const at = await make()
      await commit(at.repo, 'release', { 'r.txt': 'r\n' })
      const cr = await at.open('work', { 'a.txt': 'a\n' }, { base_ref: 'release' })
      const main = await at.tip('main')
      await gitText(at.repo, 'symbolic-ref', 'refs/heads/release', 'refs/heads/main')
      const bound = (await app.makeSession(at.project)).token
      for (const token of [app.ownerToken, bound]) {
        const { status, body } = await at.refusedMerge(cr.cr_id, { token })
        expect([status, body.code]).toEqual([409, 'conflict'])
      }
      expect(await at.tip('main')).toBe(main)
      expect((await at.get(cr.cr_id)).status).toBe('open')
    })

    test('merges it as a head', async () => {
      const at = await make()
      await commit(at.repo, 'work', { 'a.txt': 'a\n' })
      await gitText(at.repo, 'symbolic-ref', 'refs/heads/latest', 'refs/heads/work')
      const made = await app.request<{ cr_id: string }>('POST', at.path(), { body: { title: 'x', head_ref: 'latest' } })
      expect(made.status).toBe(201)
      expect((await at.merge(made.body.cr_id)).status).toBe(200)
    })
  },
)
