import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Project } from '@svc/contract'
import { withheldText } from '@svc/git'
import { commit, diverge, makeRepo, serveHttpBackend } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { auditOfObject, gitText, type Refusal, type TestProject, testProject } from '../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const makeManaged = async (files?: Record<string, string>) => testProject(app, await app.managedProject(files))
const makeExternal = async (files?: Record<string, string>) => testProject(app, await app.externalProject(files))
const parentsOf = async (at: TestProject, ref: string) =>
  (await gitText(at.repo, 'log', '-1', '--format=%P', ref)).split(' ').filter(Boolean)
const attemptsOf = (crId: string) =>
  app.deps.db.selectFrom('merge_attempts').selectAll().where('cr_id', '=', crId).orderBy('created_at').execute()

describe.each([
  ['a managed project', makeManaged],
  ['an external project', makeExternal],
])('merging in %s', (_, makeProject) => {
  test('fast-forwards a head that is strictly ahead', async () => {
    const at = await makeProject()
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    const { status, body } = await at.merge(cr.cr_id)
    expect(status).toBe(200)
    expect(body.merge).toEqual({
      merge_commit_sha: cr.head_commit_sha!,
      fast_forward: true,
      up_to_date: false,
      base_sha_before: cr.base_commit_sha!,
      base_sha_after: cr.head_commit_sha!,
    })
    expect(body.change_request).toMatchObject({
      status: 'merged',
      merge_commit_sha: cr.head_commit_sha,
      head_commit_sha: cr.head_commit_sha,
      base_commit_sha: cr.base_commit_sha,
      merged_by: app.owner.user_id,
      closed_at: null,
    })
    expect(await at.tip('main')).toBe(cr.head_commit_sha!)
    expect(await at.tip('work')).toBe(cr.head_commit_sha!)
    expect(await at.get(cr.cr_id)).toEqual(body.change_request)
    expect((await auditOfObject(app, cr.cr_id)).slice(1)).toMatchObject([
      {
        action: 'change_request.merge',
        actor_kind: 'user',
        before: { status: 'open' },
        after: { status: 'merged', kind: 'fast-forward' },
      },
    ])
  })

  test('merges a diverged head with a commit of the service that names the user', async () => {
    const at = await makeProject()
    const cr = await at.open('work', { 'a.txt': 'a\n' }, { title: 'Add a' })
    const base = await commit(at.repo, 'main', { 'b.txt': 'b\n' })
    const { body } = await at.merge(cr.cr_id, { body: {} })
    const result = body.merge.merge_commit_sha
    expect(body.merge).toMatchObject({
      fast_forward: false,
      up_to_date: false,
      base_sha_before: base,
      base_sha_after: result,
    })
    expect(body.change_request).toMatchObject({
      merge_commit_sha: result,
      base_commit_sha: base,
      head_commit_sha: cr.head_commit_sha,
    })
    expect(await at.tip('main')).toBe(result)
    expect(await parentsOf(at, result)).toEqual([base, cr.head_commit_sha!])
    expect(await gitText(at.repo, 'log', '-1', '--format=%an <%ae>|%cn <%ce>|%B', result)).toBe(
      `svc <noreply@svc.invalid>|svc <noreply@svc.invalid>|Merge CR #1: Add a\n\nMerged-by: Owner <${app.owner.user_id}>`,
    )
    expect(await gitText(at.repo, 'ls-tree', '--name-only', result)).toBe('README.md\na.txt\nb.txt')
  })

  test("keeps the trailers of the user's message and adds its own", async () => {
    const at = await makeProject()
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    await commit(at.repo, 'main', { 'b.txt': 'b\n' })
    await at.merge(cr.cr_id, { body: { message: 'Ship\n\nRefs: #9\n\n' } })
    expect(await gitText(at.repo, 'log', '-1', '--format=%s|%(trailers:only,separator=|)', 'main')).toBe(
      `Ship|Refs: #9|Merged-by: Owner <${app.owner.user_id}>`,
    )
  })

  test('answers a conflict with 409 and its files, and changes nothing', async () => {
    const at = await makeProject({ 'a.txt': '1\n', 'c.txt': '1\n' })
    await diverge(at.repo, 'work', 'a.txt')
    const cr = await at.open('work', { 'b.txt': 'b\n' })
    const refused = await at.refusedMerge(cr.cr_id)
    expect(refused.status).toBe(409)
    expect(refused.body).toMatchObject({ error: 'Merge failed', code: 'merge_conflict', conflicts: ['a.txt'] })
    expect(await at.get(cr.cr_id)).toEqual(cr)
    expect(await at.tip('main')).toBe(cr.base_commit_sha!)
    expect(await attemptsOf(cr.cr_id)).toEqual([])

    await commit(at.repo, 'work', { 'a.txt': 'both\n' }, { parents: [cr.base_commit_sha!] })
    expect((await at.merge(cr.cr_id)).body.merge.fast_forward).toBe(true)
  })

  test('makes no commit for a head that the base contains', async () => {
    const at = await makeProject()
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    const base = await commit(at.repo, 'main', { 'b.txt': 'b\n' }, { parents: [cr.head_commit_sha!] })
    const { status, body } = await at.merge(cr.cr_id)
    expect(status).toBe(200)
    expect(body.merge).toEqual({
      merge_commit_sha: base,
      fast_forward: false,
      up_to_date: true,
      base_sha_before: base,
      base_sha_after: base,
    })
    expect(body.change_request).toMatchObject({ status: 'merged', merge_commit_sha: base })
    expect(await at.tip('main')).toBe(base)
  })

  test('merges unrelated histories', async () => {
    const at = await makeProject()
    await commit(at.repo, 'other', { 'x.txt': 'x\n' }, { orphan: true })
    const cr = await at.open('other', { 'y.txt': 'y\n' })
    const { body } = await at.merge(cr.cr_id)
    expect(body.merge.fast_forward).toBe(false)
    expect(await parentsOf(at, 'main')).toEqual([cr.base_commit_sha!, cr.head_commit_sha!])
  })

  test('merges into its own base after the default branch changed', async () => {
    const at = await makeProject()
    await commit(at.repo, 'next', { 'n.txt': 'n\n' })
    const [before, next] = [await at.open('work', { 'a.txt': 'a\n' }), await at.tip('next')]
    await app.request('PATCH', `/v1/projects/${at.project.project_id}`, { body: { default_branch: 'next' } })
    const after = await at.open('later', { 'l.txt': 'l\n' })
    expect([(await at.get(before.cr_id)).base_ref, after.base_ref]).toEqual(['main', 'next'])
    expect((await at.merge(before.cr_id)).status).toBe(200)
    expect([await at.tip('main'), await at.tip('next')]).toEqual([before.head_commit_sha!, next])
  })

  test('refuses to merge when a branch moved since the caller saw it', async () => {
    const at = await makeProject()
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    const head = await commit(at.repo, 'work', { 'evil.txt': 'x\n' })
    const moved = await at.refusedMerge(cr.cr_id, { body: { expected_head_sha: cr.head_commit_sha } })
    expect(moved.status).toBe(409)
    expect(moved.body).toMatchObject({ code: 'head_moved', expected_head_sha: cr.head_commit_sha, head_sha: head })
    const base = await commit(at.repo, 'main', { 'b.txt': 'b\n' })
    const gone = await at.refusedMerge(cr.cr_id, {
      body: { expected_head_sha: head, expected_base_sha: cr.base_commit_sha },
    })
    expect(gone.status).toBe(409)
    expect(gone.body).toMatchObject({ code: 'base_moved', expected_base_sha: cr.base_commit_sha, base_sha: base })
    expect(await at.tip('main')).toBe(base)
    expect((await at.get(cr.cr_id)).status).toBe('open')
    const merged = await at.merge(cr.cr_id, { body: { expected_head_sha: head, expected_base_sha: base } })
    expect(merged.status).toBe(200)
  })

  test.each(['work', 'main'])('answers 409 and names the branch %s when it is gone', async (ref) => {
    const at = await makeProject()
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    await gitText(at.repo, 'update-ref', '-d', `refs/heads/${ref}`)
    const refused = await at.refusedMerge(cr.cr_id)
    expect(refused.status).toBe(409)
    expect(refused.body).toMatchObject({ code: 'ref_missing', ref })
    expect(await attemptsOf(cr.cr_id)).toEqual([])
  })
})

describe('change requests that are not open', () => {
  test('refuses to merge a closed or merged change request with 409', async () => {
    const at = await makeManaged()
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    await app.request('POST', at.path(cr.cr_id, 'close'))
    expect((await at.refusedMerge(cr.cr_id)).body).toMatchObject({ code: 'not_open', status: 'closed' })
    expect(await at.tip('main')).toBe(cr.base_commit_sha!)
    await app.request('POST', at.path(cr.cr_id, 'reopen'))
    await at.merge(cr.cr_id)
    const again = await at.refusedMerge(cr.cr_id)
    expect(again.status).toBe(409)
    expect(again.body).toMatchObject({ code: 'not_open', status: 'merged', merge_commit_sha: cr.head_commit_sha })
  })
})

describe('invalid merge requests', () => {
  test.each([
    ['a short commit id', { expected_head_sha: 'abc' }],
    ['a message that is too long', { message: 'x'.repeat(16 * 1024 + 1) }],
    ['a message of the wrong type', { message: 1 }],
    ['a body that is no object', []],
    ['broken JSON', '{'],
  ])('refuses a merge with %s', async (_, body) => {
    const at = await makeManaged()
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    const refused = await at.refusedMerge(cr.cr_id, { body })
    expect(refused.status).toBe(400)
    expect(refused.body.code).toBe('invalid')
    expect((await at.get(cr.cr_id)).status).toBe('open')
  })
})

describe('a git host that refuses the merge', () => {
  test.each([
    ['pre-receive', 'echo "main is frozen until Monday" >&2; exit 1', 'main is frozen until Monday'],
    [
      'update',
      'test "$1" != refs/heads/main || { echo "error: GH006: Protected branch" >&2; exit 1; }',
      'Protected branch',
    ],
  ])('reports the message of a refusing %s hook, and changes nothing', async (name, script, words) => {
    const at = await makeExternal()
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    const hook = join(at.repo.dir, 'hooks', name)
    await mkdir(dirname(hook), { recursive: true })
    await writeFile(hook, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const refused = await at.refusedMerge(cr.cr_id)
    expect(refused.status).toBe(409)
    expect(refused.body.code).toBe('branch_protected')
    expect(refused.body.reason).toContain(words)
    expect(refused.body.error).toContain(words)
    expect(await at.get(cr.cr_id)).toEqual(cr)
    expect(await at.tip('main')).toBe(cr.base_commit_sha!)
    expect(await attemptsOf(cr.cr_id)).toMatchObject([{ state: 'abandoned' }])
    await rm(hook)
    expect((await at.merge(cr.cr_id)).status).toBe(200)
  })

  test('removes the token from a refusal that repeats it', async () => {
    const auth = { username: 'x-access-token', password: 'the-token-of-the-project' }
    const repo = await makeRepo({ main: { 'README.md': 'hello\n' } })
    const host = await serveHttpBackend(repo.dir, { auth })
    try {
      const made = await app.request<Project>('POST', '/v1/projects', {
        body: { repo_url: host.url, git_token: auth.password },
      })
      const at = testProject(app, { project: made.body, repo })
      const cr = await at.open('work', { 'a.txt': 'a\n' })
      const hook = join(repo.dir, 'hooks', 'pre-receive')
      await mkdir(dirname(hook), { recursive: true })
      await writeFile(hook, `#!/bin/sh\necho "${auth.password} may not push" >&2\nexit 1\n`, { mode: 0o755 })
      const refused = await at.refusedMerge(cr.cr_id)
      expect([refused.status, refused.body.code]).toEqual([409, 'branch_protected'])
      expect(refused.body.reason).toBe(withheldText)
      expect(await attemptsOf(cr.cr_id)).toMatchObject([{ state: 'abandoned', reason: withheldText }])
      expect(refused.text + JSON.stringify(await attemptsOf(cr.cr_id))).not.toContain(auth.password)
    } finally {
      await host.close()
      await repo.remove()
    }
  })

  test('answers 502 when the host is down, and leaves nothing behind', async () => {
    const outside = await app.externalProject()
    const at = testProject(app, outside)
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    await outside.host.close()
    const refused = await at.refusedMerge(cr.cr_id)
    expect(refused.status).toBe(502)
    expect(refused.body.code).toBe('repository_unreachable')
    expect(await attemptsOf(cr.cr_id)).toEqual([])
    expect((await at.get(cr.cr_id)).status).toBe('open')
  })
})

describe('merges by agents', () => {
  const forbidden = async (at: TestProject, crId: string, token: string) => {
    const refused = await at.refusedMerge(crId, { token })
    expect([refused.status, refused.body.code]).toEqual([403, 'agent_merge_forbidden'])
    expect((await at.get(crId)).status).toBe('open')
  }

  test('an agent cannot merge into the default branch, whoever opened the change request', async () => {
    const at = await makeManaged()
    const { token } = await app.makeSession(at.project)
    await forbidden(at, (await at.open('work', { 'a.txt': 'a\n' })).cr_id, token)
    await app.request('PATCH', `/v1/projects/${at.project.project_id}`, {
      body: { settings: { agent_merge: 'allow' } },
    })
    const cr = await at.open('more', { 'b.txt': 'b\n' })
    expect((await at.merge(cr.cr_id, { token })).status).toBe(200)
    expect((await auditOfObject(app, cr.cr_id)).at(-1)).toMatchObject({
      action: 'change_request.merge',
      actor_kind: 'agent',
    })
  })

  test('an agent can never merge its own change request, into any branch and with any setting', async () => {
    const at = await makeManaged()
    await app.request('PATCH', `/v1/projects/${at.project.project_id}`, {
      body: { settings: { agent_merge: 'allow' } },
    })
    const { session_id, token } = await app.makeSession(at.project)
    await gitText(at.repo, 'branch', 'staging', 'main')
    for (const base_ref of ['main', 'staging']) {
      const byBranch = await at.open(session_id, { [`${base_ref}.txt`]: 'x\n' }, { base_ref })
      const byOrigin = await at.open(`of-${base_ref}`, { 'y.txt': 'y\n' }, { base_ref, session_id })
      for (const cr of [byBranch, byOrigin]) await forbidden(at, cr.cr_id, token)
    }
  })

  test('an agent cannot bypass the rules by another spelling or name of a branch', async () => {
    const at = await makeManaged()
    const { session_id, token } = await app.makeSession(at.project)
    await app.deps.db
      .updateTable('project_sessions')
      .set({ branch_name: 'of-the-agent' })
      .where('session_id', '=', session_id)
      .execute()
    // On a case-insensitive file system these are one.
    for (const base_ref of ['MAIN', 'ｍain']) {
      await gitText(at.repo, 'branch', base_ref, 'main')
      await forbidden(at, (await at.open(`into-${base_ref}`, { 'a.txt': 'a\n' }, { base_ref })).cr_id, token)
    }
    await gitText(at.repo, 'branch', 'staging', 'main')
    for (const head of ['of-the-agent', 'OF-the-agent', session_id, session_id.toUpperCase()])
      await forbidden(at, (await at.open(head, { 'b.txt': 'b\n' }, { base_ref: 'staging' })).cr_id, token)
  })

  test('refuses an agent before it says anything else about the change request', async () => {
    const at = await makeManaged()
    const { token } = await app.makeSession(at.project)
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    await at.merge(cr.cr_id)
    expect((await at.refusedMerge(cr.cr_id, { token })).body.code).toBe('agent_merge_forbidden')
  })

  test('an agent can merge the work of others into other branches, and an unbound project token can merge all', async () => {
    const at = await makeManaged()
    const { token } = await app.makeSession(at.project)
    await gitText(at.repo, 'branch', 'staging', 'main')
    const cr = await at.open('work', { 'a.txt': 'a\n' }, { base_ref: 'staging' })
    expect((await at.merge(cr.cr_id, { token })).status).toBe(200)
    const main = await at.open('more', { 'b.txt': 'b\n' })
    const unbound = await app.makeToken({ project_id: at.project.project_id })
    expect((await at.merge(main.cr_id, { token: unbound })).status).toBe(200)
  })
})

describe('a head with an invalid manifest', () => {
  test('merges a head with an invalid manifest, unless the project forbids it', async () => {
    const at = await makeManaged()
    const patch = (manifest_gate: string) =>
      app.request('PATCH', `/v1/projects/${at.project.project_id}`, { body: { settings: { manifest_gate } } })
    await patch('on')
    const cr = await at.open('work', { 'svc.toml': 'svc_version = [' })
    const refused = await at.refusedMerge(cr.cr_id)
    expect(refused.status).toBe(422)
    expect(refused.body.code).toBe('manifest_invalid')
    expect(refused.body.issues).not.toBeEmpty()
    await patch('off')
    expect((await at.merge(cr.cr_id)).status).toBe(200)
  })
})

describe('repeating a merge', () => {
  const newKey = () => ({ 'idempotency-key': crypto.randomUUID() })

  test('the same key returns the first answer, and another key gets 409', async () => {
    const at = await makeManaged()
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    const headers = newKey()
    const [first, again] = [await at.merge(cr.cr_id, { headers }), await at.merge(cr.cr_id, { headers })]
    expect(again.status).toBe(200)
    expect(again.body).toEqual(first.body)
    const other = await at.refusedMerge(cr.cr_id, { headers: newKey() })
    expect(other.body.code).toBe('not_open')
  })

  test.each([true, false])('a retry after a crash returns the recorded merge (fast-forward: %p)', async (isAhead) => {
    const at = await makeManaged()
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    if (!isAhead) await commit(at.repo, 'main', { 'b.txt': 'b\n' })
    const headers = newKey()
    const first = await at.merge(cr.cr_id, { headers })
    await app.deps.db
      .updateTable('idempotency_keys')
      .set({ status: null, body: null })
      .where('key', '=', headers['idempotency-key'])
      .execute()
    const again = await at.merge(cr.cr_id, { headers })
    expect(again.status).toBe(200)
    expect(again.body).toEqual(first.body)
    expect(await attemptsOf(cr.cr_id)).toHaveLength(1)
  })

  test('another user with the same key is told that the change request is merged', async () => {
    const at = await makeManaged()
    const cr = await at.open('work', { 'a.txt': 'a\n' })
    const headers = newKey()
    await at.merge(cr.cr_id, { headers })
    const { token } = await app.makeUser('member')
    const refused = await app.request<Refusal>('POST', at.path(cr.cr_id, 'merge'), { token, headers })
    expect(refused.body.code).toBe('not_open')
  })
})
