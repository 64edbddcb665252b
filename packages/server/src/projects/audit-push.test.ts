/** A real git client takes commits from branches and tags: who may do that, and what the audit log has of it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { MintedToken } from '@svc/contract'
import { makeSessionApp, type SessionApp } from '../sessions/testing.ts'
import { commitIn, git, type GitDoor, openGitDoor } from './testing-git-door.ts'

let app: SessionApp
let door: GitDoor
beforeAll(async () => {
  app = await makeSessionApp()
  door = await openGitDoor(app)
}, 120_000)
afterAll(async () => {
  await door.close()
  await app.close()
})

interface Audited {
  action: string
  object_id: string
  before: { head_sha: string } | null
  after: { head_sha: string } | null
}

const audited = async (projectId: string) => {
  const path = `/v1/accounts/${app.project.account_id}/audit?project_id=${projectId}&action=`
  const [branches, tags] = [
    await app.request<Audited[]>('GET', `${path}branch`),
    await app.request<Audited[]>('GET', `${path}tag`),
  ]
  return [...branches.body, ...tags.body].map(({ action, object_id, before, after, ...who }) => {
    expect(who).toMatchObject({ actor_kind: 'user', actor_user_id: app.owner.user_id, token_id: expect.any(String) })
    return [action, object_id, before?.head_sha, after?.head_sha]
  })
}

test.each(['managed', 'external'] as const)(
  'audits what a push takes from a branch or tag of a %s project, which brings it back',
  async (kind) => {
    const { project } = await (kind === 'managed' ? app.managedProject() : app.externalProject())
    const dir = await door.workTree(app.ownerToken, { project })
    const push = (...args: string[]) => git(dir, 'push', 'origin', ...args)
    const head = async () => (await git(dir, 'rev-parse', 'HEAD')).said.trim()
    const first = await head()
    expect((await push('HEAD:refs/heads/lost', 'HEAD:refs/heads/other', 'HEAD:refs/tags/v1')).ok).toBeTrue()
    const second = await commitIn(dir)
    expect((await push('HEAD:refs/heads/lost')).ok).toBeTrue()
    expect(await audited(project.project_id)).toEqual([])
    await git(dir, 'commit', '--amend', '-m', 'rewritten')
    const third = await head()
    expect((await push('HEAD:refs/heads/lost')).ok).toBeFalse()
    expect((await push('--force', 'HEAD:refs/heads/lost', 'HEAD:refs/heads/other', 'HEAD:refs/tags/v1')).ok).toBeTrue()
    expect((await push(':refs/heads/lost', ':refs/heads/other', ':refs/tags/v1')).ok).toBeTrue()
    expect(await audited(project.project_id)).toEqual([
      ['branch.delete', 'other', third, undefined],
      ['branch.delete', 'lost', third, undefined],
      ['branch.force_push', 'lost', second, third],
      ['tag.delete', 'v1', third, undefined],
      ['tag.force_push', 'v1', first, third],
    ])
    // In a clone that never had it.
    const other = await door.workTree(app.ownerToken, { project })
    expect(await git(other, 'fetch', 'origin', second)).toMatchObject({ ok: true })
    expect(await git(other, 'push', 'origin', `${second}:refs/heads/lost`)).toMatchObject({ ok: true })
    expect((await git(dir, 'ls-remote', 'origin', 'lost')).said).toContain(second)
  },
)

test.each(['managed', 'external'] as const)(
  'a project token adds branches, commits and tags, and neither moves a tag nor deletes or rewinds (%s)',
  async (kind) => {
    const { project } = await (kind === 'managed' ? app.managedProject() : app.externalProject())
    const minted = await app.request<MintedToken>('POST', `/v1/projects/${project.project_id}/cli-token`, {
      body: {},
    })
    const dir = await door.workTree(minted.body.secret_key, { project })
    const push = (...args: string[]) => git(dir, 'push', 'origin', ...args)
    expect(await push('HEAD:refs/heads/work', 'HEAD:refs/tags/v1')).toMatchObject({ ok: true })
    await commitIn(dir)
    expect(await push('HEAD:refs/heads/work', 'HEAD:refs/tags/v2')).toMatchObject({ ok: true })
    const there = async () => (await git(dir, 'ls-remote', 'origin')).said
    const before = await there()
    await git(dir, 'commit', '--amend', '-m', 'rewritten')
    for (const [args, reason] of [
      [['--force', 'HEAD:refs/heads/work'], 'non-fast-forward'],
      [['--force', 'HEAD:refs/tags/v1'], 'Only a user token may move a tag.'],
      // A tag that moves forward is another release, too.
      [['--force', 'origin/work:refs/tags/v1'], 'Only a user token may move a tag.'],
      [['--force', 'HEAD:refs/heads/beside', 'HEAD:refs/tags/v1'], 'Only a user token may move a tag.'],
      [[':refs/tags/v1'], 'Only a user token may delete a branch or a tag.'],
      [[':refs/heads/work'], 'Only a user token may delete a branch or a tag.'],
    ] as const)
      expect([args, await push(...args)]).toEqual([args, { ok: false, said: expect.stringContaining(reason) }])
    expect(await there()).toBe(before)
    expect(await audited(project.project_id)).toEqual([])
  },
)
