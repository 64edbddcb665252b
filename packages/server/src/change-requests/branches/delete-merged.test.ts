/** Merged branches of sessions are deleted as late as SVC_KEEP_BRANCHES says, and no other branch is. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { randomUUID } from 'node:crypto'
import type { ChangeRequest, ChangeRequestDiff, Project, ProjectEvent, Session, SessionChanges } from '@svc/contract'
import type { Repository } from '@svc/git'
import { commit } from '@svc/git/testing'
import { sql } from 'kysely'
import { pointsOf } from '../../../../../test/torture/scenarios.ts'
import { armFailpoints, parseFailpoints } from '../../failpoint.ts'
import { retentionJobs } from '../../retention/delete-old.ts'
import { DeletionClock } from '../../retention/deletion-clock.ts'
import { makeSessionApp, type SessionApp, until } from '../../sessions/testing.ts'
import { reclaimStorage } from '../../storage/reclaim.ts'
import { projectPath } from '../../test-app.ts'
import { auditOfObject, gitText, type Refusal, testProject, type TestProject } from '../testing.ts'

setDefaultTimeout(300_000)

let app: SessionApp
let at: TestProject
const logged: { text: string; reason: string | undefined }[] = []
beforeAll(async () => {
  app = await makeSessionApp()
  at = testProject(app, app)
})
afterAll(() => app.close())
afterEach(() => armFailpoints([]))

const keepDays = {
  ...{ events: null, deliveries: null, checks: null, deploys: null, firings: null, transcripts: null, audit: null },
  branches: 30,
}

/** A run a day after the last one. */
async function runJob(deps = app.deps): Promise<void> {
  await sql`update session_branches set looked_at = looked_at - interval '1 day',
    deleting_at = deleting_at - interval '1 day'`.execute(deps.db)
  const warn = ({ reason }: { reason?: string }, text: string) => void logged.push({ text, reason })
  const log = Object.assign(Object.create(deps.log) as typeof deps.log, { warn })
  const jobs = retentionJobs({ ...deps, log, config: { ...deps.config, keepDays } }, new DeletionClock(deps))
  expect(jobs.map(({ name, scope }) => [name, scope])).toEqual([['delete old branches', 'home']])
  await jobs[0]!.run(new AbortController().signal, 'all')
}

type Place = Pick<TestProject, 'project' | 'repo' | 'path' | 'merge' | 'tip'>

const sessionPath = ({ project }: Place, id?: string, verb?: string) => projectPath(project, 'sessions', id, verb)
const sessionOf = async (place: Place, id: string) => (await app.request<Session>('GET', sessionPath(place, id))).body
const tipsOf = async (place: Place) =>
  (await gitText(place.repo, 'for-each-ref', '--format=%(refname:short)', 'refs/heads')).split('\n')
/** Those that the repository still has. */
const left = async (place: Place, ...branches: string[]) => {
  const tips = await tipsOf(place)
  return branches.filter((branch) => tips.includes(branch))
}
const audited = async (branch: string) =>
  (await auditOfObject(app, branch)).filter(({ action }) => action.startsWith('branch.'))

async function becomes(place: Place, id: string, status: Session['status']): Promise<Session> {
  return until(`the session is ${status}`, async () => {
    const found = await sessionOf(place, id)
    return found.status === status ? found : null
  })
}

/** Its branch is there, and it starts. */
async function create(place: Place, body: object = {}): Promise<Session> {
  const made = await app.request<Session>('POST', sessionPath(place), { body })
  expect(made.status).toBe(201)
  return made.body
}

async function stop(place: Place, id: string): Promise<void> {
  await app.request('POST', sessionPath(place, id, 'stop'))
  await becomes(place, id, 'stopped')
}

/** A change request of the branch of a session, merged so many days ago. */
async function land(place: Place, branch: string, days = 40): Promise<ChangeRequest> {
  await commit(place.repo, branch, { [`${branch}.txt`]: `${randomUUID()}\n` })
  const opened = await app.request<ChangeRequest>('POST', place.path(), {
    body: { title: 'Work', head_ref: branch, session_id: branch },
  })
  expect([opened.status, opened.text]).toEqual([201, opened.text])
  // A busy machine is still fetching from the host.
  const merged = await until('the merge is answered', async () => {
    const reply = await place.merge(opened.body.cr_id)
    return reply.status === 503 ? null : reply
  })
  expect([merged.status, merged.text]).toEqual([200, merged.text])
  await sql`update change_requests set merged_at = now() - make_interval(days => ${days}::integer)
    where cr_id = ${opened.body.cr_id}`.execute(app.deps.db)
  return opened.body
}

/** A stopped session whose branch was merged long ago. */
async function rested(place: Place, body: object = {}): Promise<{ branch: string; cr: ChangeRequest }> {
  const { session_id: branch } = await create(place, body)
  // A start that is interrupted may look for its branch until later.
  await becomes(place, branch, 'running')
  const cr = await land(place, branch)
  await stop(place, branch)
  return { branch, cr }
}

const filesIn = async (dir: string) =>
  (await readdir(dir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).length

async function storedBranches(): Promise<{ rows: number; oldest_at: string | null; keep_days: number | null }> {
  const { body } = await app.request<{ kept: { kind: string; rows: number; oldest_at: string; keep_days: number }[] }>(
    'GET',
    '/v1/storage',
  )
  return body.kept.find(({ kind }) => kind === 'branches')!
}

test('deletes branches that were merged long ago, with their rows and files, and their diffs stay readable', async () => {
  const before = await storedBranches()
  const merged = await rested(at)
  const deleted = await rested(at)
  await app.request('DELETE', sessionPath(at, deleted.branch))
  const young = await create(at)
  await land(at, young.session_id, 20)
  await stop(at, young.session_id)
  expect(await storedBranches()).toMatchObject({ rows: before.rows + 3, keep_days: null })
  const files = await filesIn(join(at.repo.dir, 'refs/heads'))

  await runJob()
  const { session_id: youngBranch } = young
  expect(await left(at, merged.branch, deleted.branch, youngBranch)).toEqual([youngBranch])
  expect(await filesIn(join(at.repo.dir, 'refs/heads'))).toBe(files - 2)
  expect((await storedBranches()).rows).toBe(before.rows + 1)
  expect(await audited(merged.branch)).toMatchObject([
    {
      ...{ action: 'branch.delete', actor_kind: 'service', session_id: null, after: null },
      before: { change_request: merged.cr.number, head_sha: await headOf(merged.cr) },
    },
  ])
  const { events } = (
    await app.request<{ events: ProjectEvent[] }>('GET', `${projectPath(at.project, 'events')}?limit=20`)
  ).body
  expect(events.filter(({ data }) => 'changed' in data && data.changed?.includes('head_branch'))).toMatchObject(
    [merged, deleted].map(({ cr }) => ({
      ...{ type: 'change_request.updated', actor: null },
      data: { cr_id: cr.cr_id, status: 'merged', head_ref: cr.head_ref },
    })),
  )

  // git and the server clean up later.
  await gitText(at.repo, 'gc', '--prune=now', '--quiet')
  await reclaimStorage({ ...app.deps, now: () => new Date(Date.now() + 90_000_000) }, new AbortController().signal)
  for (const { branch, cr } of [merged, deleted]) {
    const diff = await app.request<ChangeRequestDiff>('GET', at.path(cr.cr_id, 'diff'))
    expect(diff.body.files.map(({ path }) => path)).toEqual([`${branch}.txt`])
    expect((await at.get(cr.cr_id)).status).toBe('merged')
  }
  // Nothing is left to do.
  await runJob()
  expect(await audited(merged.branch)).toHaveLength(1)
})

const headOf = async ({ cr_id }: ChangeRequest) => (await at.get(cr_id)).head_commit_sha!

test('keeps every branch that something may need, and branches that people made', async () => {
  const moved = await rested(at)
  await commit(at.repo, moved.branch, { 'later.txt': 'x\n' })
  const head = await rested(at)
  await commit(at.repo, `${head.branch}-base`, { 'elsewhere.txt': 'x\n' })
  await app.request('POST', at.path(), {
    body: { title: 'Again', head_ref: head.branch, base_ref: `${head.branch}-base` },
  })
  const base = await rested(at)
  await at.open(`onto-${base.branch}`, { 'onto.txt': 'x\n' }, { base_ref: base.branch })
  const live = await create(at)
  await land(at, live.session_id)
  const parent = await rested(at)
  const child = await create(at, { base_ref: parent.branch })
  const unfinished = await rested(at)
  await sql`insert into session_wip (session_id, generation, commit_sha, base_sha, files, unpushed_commits)
    values (${unfinished.branch}, 1, ${await at.tip('main')}, null, 1, 0)`.execute(app.deps.db)
  // A person pushed this branch before the session.
  const given = randomUUID()
  await commit(at.repo, given, { 'given.txt': 'x\n' })
  await create(at, { session_id: given, branch_already_created: true })
  await land(at, given)
  await stop(at, given)
  await commit(at.repo, 'feature', { 'feature.txt': 'x\n' })
  await land(at, 'feature')
  const unmerged = await create(at)
  await stop(at, unmerged.session_id)

  await runJob()
  const kept = [moved, head, base, parent, unfinished].map(({ branch }) => branch)
  const sessions = [live, child, unmerged].map(({ session_id }) => session_id)
  expect(await tipsOf(at)).toEqual(expect.arrayContaining([...kept, ...sessions, given, 'feature', 'main']))
  for (const branch of [...kept, given]) expect((await sessionOf(at, branch)).branch_deleted_at).toBeNull()
  await stop(at, live.session_id)
  await stop(at, child.session_id)
  await runJob()
  expect(await left(at, live.session_id, parent.branch, head.branch)).toEqual([head.branch])
})

describe('a session whose branch was deleted', () => {
  test('says so, starts again from where its base is now, and its new branch is deleted as late as any', async () => {
    const { branch } = await rested(at)
    await runJob()
    const session = await sessionOf(at, branch)
    expect(Date.parse(session.branch_deleted_at!)).toBeGreaterThan(Date.now() - 60_000)
    const files = await app.request<Refusal>('GET', sessionPath(at, branch, 'files'))
    expect([files.status, files.body.error]).toEqual([404, 'Nothing of this session is saved: its branch is gone.'])

    const main = await commit(at.repo, 'main', { 'meanwhile.txt': `${randomUUID()}\n` })
    expect((await app.request('POST', sessionPath(at, branch, 'restart'))).status).toBe(202)
    const restarted = await becomes(at, branch, 'running')
    expect([await at.tip(branch), restarted.branch_deleted_at]).toEqual([main, null])
    const again = await land(at, branch, 10)
    await stop(at, branch)
    await runJob()
    expect(await tipsOf(at)).toContain(branch)
    await sql`update change_requests set merged_at = now() - interval '31 days' where cr_id = ${again.cr_id}`.execute(
      app.deps.db,
    )
    await runJob()
    expect(await tipsOf(at)).not.toContain(branch)
  })

  test('starts again from the default branch when its base is gone, too', async () => {
    const parent = await rested(at)
    const child = await rested(at, { base_ref: parent.branch })
    await runJob()
    const gone = { parent: (await left(at, parent.branch)).length, child: (await left(at, child.branch)).length }
    expect({ ...gone, logged: JSON.stringify(logged) }).toEqual({ parent: 0, child: 0, logged: '[]' })
    await app.request('POST', sessionPath(at, child.branch, 'restart'))
    await becomes(at, child.branch, 'running')
    expect(await at.tip(child.branch)).toBe(await at.tip('main'))
    await stop(at, child.branch)
  })
})

describe('a session that was cut from a deleted branch', () => {
  test('still shows what it changed', async () => {
    const parent = await rested(at)
    const child = await create(at, { base_ref: parent.branch })
    await becomes(at, child.session_id, 'running')
    await commit(at.repo, child.branch_name, { 'child.txt': 'x\n' })
    await stop(at, child.session_id)
    const changed = async () => {
      const { body } = await app.request<SessionChanges>('GET', sessionPath(at, child.session_id, 'changes'))
      return body.files.map(({ path }) => path)
    }
    expect(await changed()).toEqual(['child.txt'])
    await runJob()
    expect(await left(at, parent.branch, child.branch_name)).toEqual([child.branch_name])
    expect(await changed()).toEqual(['child.txt'])
  })

  test('starts again from the default branch after its own branch was deleted, too', async () => {
    const parent = await rested(at)
    const { session_id: child } = await create(at, { base_ref: parent.branch })
    await becomes(at, child, 'running')
    await stop(at, child)
    await runJob()
    await gitText(at.repo, 'update-ref', '-d', `refs/heads/${child}`)
    await app.request('POST', sessionPath(at, child, 'restart'))
    await becomes(at, child, 'running')
    expect(await at.tip(child)).toBe(await at.tip('main'))
    await stop(at, child)
  })
})

/** Runs the job up to this point, and the rest after `meanwhile`. */
async function during(point: string, meanwhile: () => Promise<void>): Promise<void> {
  const file = join(app.deps.config.dataDir, randomUUID())
  armFailpoints(parseFailpoints(`${point}=pause:${file}`) as never)
  const job = runJob()
  await until(`the job is at ${point}`, async () => existsSync(file))
  try {
    await meanwhile()
  } finally {
    await rm(file)
    await job
  }
}

describe('a deletion that meets something else', () => {
  test('lets a push win that comes just before it', async () => {
    const { branch } = await rested(at)
    await during('branches.after_claim', async () => {
      await commit(at.repo, branch, { 'late.txt': 'x\n' })
    })
    expect(await gitText(at.repo, 'show', `refs/heads/${branch}:late.txt`)).toBe('x')
    expect((await sessionOf(at, branch)).branch_deleted_at).toBeNull()
    expect(await audited(branch)).toEqual([])
  })

  test('makes a change request that is opened for the branch wait for its end', async () => {
    const { branch } = await rested(at)
    const body = { title: 'Again', head_ref: 'feature', base_ref: branch }
    await during('branches.after_claim', async () => {
      const refused = await app.request<Refusal>('POST', at.path(), { body })
      expect([refused.status, refused.body.error]).toEqual([
        503,
        'The server is deleting a branch of this change request, which was merged.',
      ])
    })
    const after = await app.request<Refusal>('POST', at.path(), { body })
    expect([after.status, after.body.code]).toEqual([400, 'ref_not_found'])
  })

  test('keeps it from becoming the default branch', async () => {
    const { branch } = await rested(at)
    const path = `/v1/projects/${at.project.project_id}`
    await during('branches.after_claim', async () => {
      const refused = await app.request<Refusal>('PATCH', path, { body: { default_branch: branch } })
      expect([refused.status, refused.body.code, refused.body.error]).toEqual([
        503,
        'unavailable',
        `The server is deleting the branch "${branch}", which was merged.`,
      ])
    })
    expect(await left(at, branch)).toEqual([])
  })

  test('gives a session that starts again meanwhile its branch', async () => {
    const { branch } = await rested(at)
    await during('branches.after_claim', async () => {
      expect((await app.request('POST', sessionPath(at, branch, 'restart'))).status).toBe(202)
    })
    const session = await becomes(at, branch, 'running')
    expect([session.branch_deleted_at, await at.tip(branch)]).toEqual([null, await at.tip('main')])
    await stop(at, branch)
  })

  test('does not keep a session from stopping that waits for its end', async () => {
    const { branch } = await rested(at)
    const phase = sql`select from session_phases where session_id = ${branch} and name = 'branch' and ms is null`
    await during('branches.after_claim', async () => {
      await app.request('POST', sessionPath(at, branch, 'restart'))
      await until('the session waits', async () => (await phase.execute(app.deps.db)).rows.length > 0)
      await stop(at, branch)
    })
    expect(await left(at, branch)).toEqual([])
    await app.request('POST', sessionPath(at, branch, 'restart'))
    await becomes(at, branch, 'running')
    await stop(at, branch)
  })

  test.each(pointsOf('branches'))('ends after a server that died at %s', async (point) => {
    const { branch } = await rested(at)
    armFailpoints(parseFailpoints(`${point}=throw`) as never)
    await runJob()
    armFailpoints([])
    await runJob()
    expect(await tipsOf(at)).not.toContain(branch)
    expect((await sessionOf(at, branch)).branch_deleted_at).not.toBeNull()
    const { rows } = await sql`select from session_branches where branch = ${branch}`.execute(app.deps.db)
    expect(rows).toEqual([])
  })
})

test('a session that starts again after a server died in the deletion of its branch can be opened as a change request', async () => {
  for (const point of pointsOf('branches')) {
    const { branch } = await rested(at)
    armFailpoints(parseFailpoints(`${point}=throw`) as never)
    await runJob()
    armFailpoints([])
    await app.request('POST', sessionPath(at, branch, 'restart'))
    await becomes(at, branch, 'running')
    await commit(at.repo, branch, { [`again-${branch}.txt`]: 'x\n' })
    const opened = await app.request('POST', at.path(), { body: { title: 'Again', head_ref: branch } })
    expect([point, opened.status, opened.text]).toEqual([point, 201, opened.text])
    await stop(at, branch)
  }
})

describe('a repository on a git host', () => {
  let host: Place & { repo: Repository }
  beforeAll(async () => {
    host = testProject(app, await app.externalProject())
  })

  test('loses merged branches by a push of the project, and keeps the diff', async () => {
    const { branch, cr } = await rested(host)
    await runJob()
    expect(await tipsOf(host)).toEqual(['main'])
    const diff = await app.request<ChangeRequestDiff>('GET', host.path(cr.cr_id, 'diff'))
    expect(diff.body.files.map(({ path }) => path)).toEqual([`${branch}.txt`])
    expect(await audited(branch)).toMatchObject([{ action: 'branch.delete', actor_kind: 'service' }])
    await app.request('POST', sessionPath(host, branch, 'restart'))
    await becomes(host, branch, 'running')
    expect(await host.tip(branch)).toBe(await host.tip('main'))
    await stop(host, branch)
  })

  test('lets a push win that comes just before', async () => {
    const { branch } = await rested(host)
    await during('branches.after_claim', async () => {
      await commit(host.repo, branch, { 'late.txt': 'x\n' })
    })
    expect(await tipsOf(host)).toContain(branch)
    expect((await sessionOf(host, branch)).branch_deleted_at).toBeNull()
  })

  test('keeps a branch whose merge is not in the base any more', async () => {
    const { branch } = await rested(host)
    const { stdout } = Bun.spawnSync(['git', '--git-dir', host.repo.dir, 'rev-parse', 'main~1'])
    const merged = await host.tip('main')
    await gitText(host.repo, 'update-ref', 'refs/heads/main', stdout.toString().trim())
    await runJob()
    expect(await tipsOf(host)).toContain(branch)
    await gitText(host.repo, 'update-ref', 'refs/heads/main', merged)
    await runJob()
    expect(await tipsOf(host)).not.toContain(branch)
  })

  test('says once that it refuses, is asked again a day later, and not before', async () => {
    const { branch } = await rested(host)
    const hook = join(host.repo.dir, 'hooks/pre-receive')
    await mkdir(dirname(hook), { recursive: true })
    await writeFile(hook, '#!/bin/sh\necho "branches stay here" >&2\nexit 1\n', { mode: 0o755 })
    logged.length = 0
    await runJob()
    await runJob()
    const refusal = 'a repository refuses to delete merged branches'
    expect(logged).toEqual([{ text: refusal, reason: expect.stringContaining('branches stay here') }])
    expect(await tipsOf(host)).toContain(branch)
    expect((await sessionOf(host, branch)).branch_deleted_at).toBeNull()
    await rm(hook)
    const [job] = retentionJobs({ ...app.deps, config: { ...app.deps.config, keepDays } }, new DeletionClock(app.deps))
    await job!.run(new AbortController().signal, 'all')
    expect(await tipsOf(host)).toContain(branch)
    await runJob()
    expect(await tipsOf(host)).not.toContain(branch)
  })
})

test('only the home of a project deletes its branches', async () => {
  const { branch } = await rested(at)
  const of = (project: Project) => sql`where project_id = ${project.project_id}`
  const before = await app.deps.db.selectFrom('projects').select(['project_id', 'home']).execute()
  await sql`update projects set home = 'elsewhere' ${of(at.project)}`.execute(app.deps.db)
  await runJob({ ...app.deps, home: 'here' })
  expect(await tipsOf(at)).toContain(branch)
  await sql`update projects set home = 'here' ${of(at.project)}`.execute(app.deps.db)
  await runJob({ ...app.deps, home: 'here' })
  expect(await tipsOf(at)).not.toContain(branch)
  const { home } = before.find(({ project_id }) => project_id === at.project.project_id)!
  await sql`update projects set home = ${home} ${of(at.project)}`.execute(app.deps.db)
})

/** How many transactions of this database wait for a lock. */
async function waiting(): Promise<number> {
  const { rows } = await sql`select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(app.deps.db)
  return rows.length
}

test('recording a branch that is gone does not deadlock with a change request that is opened for it', async () => {
  const id = at.project.project_id
  await sql`update projects set home = 'here' where project_id = ${id}`.execute(app.deps.db)
  logged.length = 0
  for (let round = 0; round < 5; round++) {
    const { branch } = await rested(at)
    const file = join(app.deps.config.dataDir, randomUUID())
    armFailpoints(parseFailpoints(`open.after_tips=pause:${file}`) as never)
    const opening = app.request('POST', at.path(), { body: { title: 'Again', head_ref: branch } })
    await until('the tips are read', async () => existsSync(file))
    await gitText(at.repo, 'update-ref', '-d', `refs/heads/${branch}`)
    let job = Promise.resolve()
    // Both wait for the project, the job first.
    await app.deps.db.transaction().execute(async (trx) => {
      await sql`select from projects where project_id = ${id} for update`.execute(trx)
      job = runJob({ ...app.deps, home: 'here' })
      await until('the job waits', async () => (await waiting()) === 1)
      armFailpoints([])
      await rm(file)
      await until('both wait', async () => (await waiting()) === 2)
    })
    const [opened] = await Promise.all([opening, job])
    expect([opened.status, logged]).toEqual([201, []])
  }
  await sql`update projects set home = null where project_id = ${id}`.execute(app.deps.db)
})

test('a change request is opened at once after a server died in the deletion of its branch', async () => {
  const { branch } = await rested(at)
  armFailpoints(parseFailpoints('branches.after_claim=throw') as never)
  await runJob()
  armFailpoints([])
  await commit(at.repo, branch, { [`again-${branch}.txt`]: 'x\n' })
  const opened = await app.request('POST', at.path(), { body: { title: 'Again', head_ref: branch } })
  expect([opened.status, opened.text]).toEqual([201, opened.text])
})
