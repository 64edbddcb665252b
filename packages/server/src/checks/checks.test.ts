/** Checks of change requests with the fake driver: which are wanted, on what, by whom they are run, and what is left when something dies. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { ChangeRequest, ChangeRequestChecks, CheckLogLine, ErrorBody, ProjectEventPage } from '@svc/contract'
import { commit, type Files } from '@svc/git/testing'
import type { FakeApp, FakeAppSpec } from '@svc/sandbox/testing'
import { type TestProject, testProject } from '../change-requests/testing.ts'
import { armFailpoints, parseFailpoints } from '../failpoint.ts'
import { detectDefaultBranch } from '../projects/default-branch.ts'
import { getProject } from '../projects/store.ts'
import type { Deps } from '../deps.ts'
import { letDie, letLive, makeSessionApp, secondServer, type SessionApp, until } from '../sessions/testing.ts'
import { detectChecks } from './trees.ts'

let server: SessionApp
/** The sandboxes so far, newest last. A test can change the state of each. */
let ran: (FakeApp & { spec: FakeAppSpec; files: string[] })[]
/** The behavior of the next sandboxes. */
let behaves: (spec: FakeAppSpec) => FakeApp
const onApp = (spec: FakeAppSpec, tar: Uint8Array) => {
  const files = Bun.spawnSync(['tar', '-t', '-f', '-'], { stdin: tar }).stdout.toString().split('\n').filter(Boolean)
  const run = { ...behaves(spec), spec, files }
  ran.push(run)
  return run
}

const mebibyte = 1024 * 1024
const quotas = {
  ...{ repositoryBytes: 1024 * mebibyte, pushBytes: 1024 * mebibyte, unfinishedWorkBytes: mebibyte },
  ...{ transcriptBytes: mebibyte, checkLogBytes: 256 * 1024, appArchiveBytes: mebibyte, sessionsBytes: 2 ** 40 },
}

beforeAll(async () => {
  server = await makeSessionApp({ onApp, configure: { quotas } })
}, 120_000)
afterAll(() => server.close())
beforeEach(() => {
  ran = []
  behaves = () => ({ state: 'done', exitCode: 0 })
})
afterEach(() => armFailpoints([]))

const entry = (name: string, command = `run ${name}`) => `[[checks]]\nname = "${name}"\ncommand = "${command}"\n`
const failing: FakeApp = { state: 'failed', error: 'It ended with exit code 1 after 0.1 s.', exitCode: 1 }

interface CheckProject extends TestProject {
  id: string
  push(files: Files, branch?: string): Promise<string>
  checks(cr: ChangeRequest): Promise<ChangeRequestChecks>
  /** Runs the jobs once. */
  tend(deps?: Deps): Promise<void>
  becomes(cr: ChangeRequest, ...states: ChangeRequestChecks['state'][]): Promise<ChangeRequestChecks>
  rerun(
    cr: ChangeRequest,
    body?: object,
    token?: string,
  ): ReturnType<typeof server.request<ChangeRequestChecks & ErrorBody>>
  log(cr: ChangeRequest, runId: string): Promise<{ lines: CheckLogLine[]; truncated: boolean }>
  events(): Promise<string[]>
}

async function makeProject(manifest = entry('unit'), files: Files = {}): Promise<CheckProject> {
  const made = await server.managedProject({ 'svc.toml': manifest, 'a.txt': 'a\n', ...files })
  const base = testProject(server, made)
  const id = made.project.project_id
  const checks = async (cr: ChangeRequest) =>
    (await server.request<ChangeRequestChecks>('GET', base.path(cr.cr_id, 'checks'))).body
  const tend = async (deps: Deps = server.deps) => {
    await detectDefaultBranch(deps, (await getProject(deps.db, id))!)
    await detectChecks(deps, new AbortController().signal)
    await deps.checks.reconcile()
  }
  return {
    ...base,
    id,
    checks,
    tend,
    push: (more, branch = 'main') => commit(made.repo, branch, more),
    becomes: (cr, ...states) =>
      until(`the checks are ${states.join(' or ')}`, async () => {
        // The read first: it looks where the branches are.
        await checks(cr)
        await tend()
        const found = await checks(cr)
        return states.includes(found.state) ? found : null
      }),
    rerun: (cr, body, token) =>
      server.request('POST', base.path(cr.cr_id, 'checks/rerun'), {
        ...(body === undefined ? {} : { body }),
        ...(token === undefined ? {} : { token }),
      }),
    log: async (cr, runId) =>
      (
        await server.request<{ lines: CheckLogLine[]; truncated: boolean }>(
          'GET',
          base.path(cr.cr_id, `checks/${runId}/log`),
        )
      ).body,
    events: async () => {
      const { body } = await server.request<ProjectEventPage>('GET', `/v1/projects/${id}/events`, {
        headers: { accept: 'application/json' },
      })
      return body.events.flatMap(({ type, data }) =>
        type === 'check.started' || type === 'check.finished'
          ? [`${type} #${data.number} ${data.check} ${data.status}`]
          : [],
      )
    },
  }
}

describe('checks of a change request', () => {
  test('runs on the files of the merge result, without secrets or credentials of the service', async () => {
    const project = await makeProject(entry('unit'), {
      '.gitattributes': 'tests export-ignore\n',
      'tests/t.txt': 't\n',
    })
    await server.request('POST', `/v1/projects/${project.id}/secrets`, {
      body: { name: 'KEY', value: 'top-secret-value' },
    })
    const cr = await project.open('work', { 'b.txt': 'b\n' })
    await project.push({ 'c.txt': 'c\n' })
    behaves = () => ({ state: 'done', exitCode: 0, lines: ['12 tests', 'top-secret-value'] })
    const found = await project.becomes(cr, 'passed')
    expect(found.checks).toMatchObject([
      { name: 'unit', command: 'run unit', status: 'passed', exit_code: 0, reason: null, attempt: 1 },
    ])
    const [run] = ran
    expect(run?.files.toSorted()).toEqual(
      ['.gitattributes', 'a.txt', 'b.txt', 'c.txt', 'svc.toml', 'tests/', 'tests/t.txt'].toSorted(),
    )
    expect(run?.spec).toMatchObject({
      slug: 'unit',
      build: 'run unit',
      command: null,
      env: {},
      commit: found.tree_sha!,
    })
    expect(JSON.stringify(run?.spec)).not.toContain('top-secret')
    const { lines } = await project.log(cr, found.checks[0]!.run_id!)
    expect(lines.map(({ text }) => text)).toContain('12 tests')
    // It was given no secret, so its log does not say whether a text is one.
    expect(lines.map(({ text }) => text)).toContain('top-secret-value')
    expect(await project.events()).toEqual(['check.started #1 unit running', 'check.finished #1 unit passed'])
  })

  test('runs the checks of the default branch, and says when the change request changes checks', async () => {
    const project = await makeProject(entry('unit') + entry('lint'))
    behaves = ({ slug }) => (slug === 'lint' ? failing : { state: 'done', exitCode: 0 })
    const cr = await project.open('work', { 'svc.toml': entry('unit', 'true'), 'b.txt': 'b\n' })
    const found = await project.becomes(cr, 'failed')
    expect(found.checks.map(({ name, command, status }) => [name, command, status])).toEqual([
      ['unit', 'run unit', 'passed'],
      ['lint', 'run lint', 'failed'],
    ])
    const preview = await server.request<{ effects: { checks: unknown; words: string[] } }>(
      'GET',
      `${project.path(cr.cr_id, 'merge-preview')}?include=effects`,
    )
    expect(preview.body.effects.checks).toEqual([
      { name: 'lint', change: 'removed' },
      { name: 'unit', change: 'changed' },
    ])
    // A failed check does not block a merge.
    expect((await project.merge(cr.cr_id)).status).toBe(200)
    const after = await project.checks(cr)
    expect([after.state, after.checks.length]).toEqual(['failed', 2])
  })

  test('does not run with conflicts or nothing to merge, and says so', async () => {
    const project = await makeProject()
    const cr = await project.open('work', { 'a.txt': 'mine\n' })
    await project.push({ 'a.txt': 'theirs\n' })
    expect(await project.becomes(cr, 'not_run')).toMatchObject({
      checks: [],
      reason: expect.stringContaining('conflicts'),
    })
    await project.push({ 'a.txt': 'a\n' })
    await project.becomes(cr, 'passed')
    await Bun.spawn(['git', '-C', project.repo.dir, 'branch', 'empty', 'main']).exited
    const opened = await server.request<ChangeRequest>('POST', project.path(), {
      body: { title: 'Nothing', head_ref: 'empty' },
    })
    const empty = opened.body
    expect(await project.becomes(empty, 'not_run')).toMatchObject({
      reason: expect.stringContaining('already contains all of its commits'),
    })
  })

  test('a project without checks has none', async () => {
    const project = await makeProject('[project]\nname = "x"\n')
    const cr = await project.open('work', { 'b.txt': 'b\n' })
    await project.tend()
    expect(await project.checks(cr)).toMatchObject({ state: 'none', checks: [] })
    expect((await project.rerun(cr)).status).toBe(404)
  })
})

describe('results of checks', () => {
  test('a result belongs to a command on a tree, stays as long as the tree, and is shared', async () => {
    const project = await makeProject()
    const cr = await project.open('work', { 'b.txt': 'b\n' })
    const first = await project.becomes(cr, 'passed')
    // The same files by another change request.
    const twin = await project.open('twin', { 'b.txt': 'b\n' })
    expect((await project.becomes(twin, 'passed')).checks[0]?.run_id).toBe(first.checks[0]!.run_id)
    expect(ran).toHaveLength(1)
    // Other files, another run; another command, too.
    await project.push({ 'c.txt': 'c\n' })
    expect((await project.checks(cr)).state).toBe('running')
    const second = await project.becomes(cr, 'passed')
    expect(second.tree_sha).not.toBe(first.tree_sha)
    await project.push({ 'svc.toml': entry('unit', 'run it otherwise') })
    await until('the other command has passed', async () => {
      const { state, checks } = await project.becomes(cr, 'running', 'passed')
      return state === 'passed' && checks[0]?.command === 'run it otherwise'
    })
  })

  test('cancels a check that no change request needs any more, and runs it again when one does', async () => {
    const project = await makeProject()
    behaves = () => ({ state: 'building' })
    const cr = await project.open('work', { 'b.txt': 'b\n' })
    const sandboxes = async () => (await server.driver.list()).filter(({ sandboxId }) => sandboxId.startsWith('check-'))
    // The sandbox of an earlier test may still be ending.
    await until(
      'it alone runs',
      async () => (await project.tend(), ran.length === 1 && (await sandboxes()).length === 1),
    )
    await server.request('POST', project.path(cr.cr_id, 'close'))
    await until('its sandbox is gone', async () => (await project.tend(), (await sandboxes()).length === 0))
    expect(await project.checks(cr)).toMatchObject({ state: 'not_run', checks: [{ status: 'cancelled' }] })
    await server.request('POST', project.path(cr.cr_id, 'reopen'))
    behaves = () => ({ state: 'done', exitCode: 0 })
    await project.becomes(cr, 'passed')
    expect(ran).toHaveLength(2)
  })

  test('reruns one check by name, or all that did not pass', async () => {
    const project = await makeProject(entry('unit') + entry('lint'))
    behaves = ({ slug }) => (slug === 'lint' ? failing : { state: 'done', exitCode: 0 })
    const cr = await project.open('work', { 'b.txt': 'b\n' })
    await project.becomes(cr, 'failed')
    behaves = () => ({ state: 'done', exitCode: 0 })
    const again = await project.rerun(cr)
    expect([again.status, again.body.state]).toEqual([202, 'running'])
    expect(again.body.checks.map(({ status }) => status)).toEqual(['passed', 'queued'])
    expect((await project.becomes(cr, 'passed')).checks.map(({ attempt }) => attempt)).toEqual([1, 2])
    await project.rerun(cr, { name: 'unit' })
    expect((await project.becomes(cr, 'passed')).checks.map(({ attempt }) => attempt)).toEqual([2, 2])
    expect((await project.rerun(cr, { name: 'other' })).status).toBe(404)
    const agent = await server.makeSession(project.project)
    expect((await project.rerun(cr, { name: 'unit' }, agent.token)).status).toBe(202)
    const seen = await server.request('GET', project.path(cr.cr_id, 'checks'), { token: agent.token })
    expect(seen.status).toBe(200)
    await project.becomes(cr, 'passed')
    await server.request('POST', project.path(cr.cr_id, 'close'))
    expect((await project.rerun(cr)).status).toBe(409)
  })

  test('one change request cannot read results of another', async () => {
    const project = await makeProject()
    const one = await project.open('one', { 'b.txt': 'b\n' })
    const two = await project.open('two', { 'c.txt': 'c\n' })
    const found = await project.becomes(one, 'passed')
    await project.becomes(two, 'passed')
    const path = project.path(two.cr_id, `checks/${found.checks[0]!.run_id}/log`)
    expect((await server.request('GET', path)).status).toBe(404)
  })
})

describe('failures of checks', () => {
  test('says why a sandbox could not be created and what fixes it', async () => {
    const project = await makeProject()
    server.driver.failures.push('no-isolation')
    const cr = await project.open('work', { 'b.txt': 'b\n' })
    const [check] = (await project.becomes(cr, 'failed')).checks
    expect(check).toMatchObject({ status: 'error', exit_code: null, reason: expect.stringContaining('bubblewrap') })
  })

  test('fails a check with the reason when the only server runs no checks', async () => {
    const { config } = server.deps
    const before = { databaseUrl: config.databaseUrl, checks: config.checks }
    Object.assign(config, { databaseUrl: null, checks: { ...config.checks, atOnce: 0 } })
    try {
      const project = await makeProject()
      const cr = await project.open('work', { 'b.txt': 'b\n' })
      const [check] = (await project.becomes(cr, 'failed')).checks
      expect(check).toMatchObject({ status: 'error', reason: expect.stringContaining('SVC_CHECKS_AT_ONCE=0') })
    } finally {
      Object.assign(config, before)
    }
  })

  test('reports a sandbox that ended by itself', async () => {
    const project = await makeProject()
    behaves = () => ({ state: 'building' })
    const cr = await project.open('work', { 'b.txt': 'b\n' })
    await until('it runs', async () => (await project.tend(), ran.length === 1))
    const sandbox = (await server.driver.list()).find(({ sandboxId }) => sandboxId.startsWith('check-'))
    await server.driver.crash(sandbox!.sandboxId, 'The kernel ended it.')
    expect((await project.becomes(cr, 'failed')).checks[0]).toMatchObject({
      ...{ status: 'error', reason: 'The kernel ended it.' },
    })
  })

  test('runs no more checks at once than the account may, and gives each account its turn', async () => {
    const { perAccount, atOnce } = server.deps.config.checks
    Object.assign(server.deps.config.checks, { perAccount: 2, atOnce: 10 })
    const other = await secondServer(server, { onApp })
    try {
      const project = await makeProject(['a', 'b', 'c', 'd', 'e'].map((name) => entry(name)).join(''))
      behaves = () => ({ state: 'building' })
      const cr = await project.open('work', { 'b.txt': 'b\n' })
      await project.tend()
      await Promise.all([other.deps.checks.reconcile(), server.deps.checks.reconcile(), other.deps.checks.reconcile()])
      await until('two run', () => ran.length === 2)
      expect((await project.checks(cr)).checks.filter(({ status }) => status === 'running')).toHaveLength(2)
      behaves = () => ({ state: 'done', exitCode: 0 })
      for (const run of ran) Object.assign(run, behaves(run.spec))
      await project.becomes(cr, 'passed')
      expect(ran).toHaveLength(5)
    } finally {
      Object.assign(server.deps.config.checks, { perAccount, atOnce })
      await other.close()
    }
  })

  test('another server runs the check of a server that died once more, then it fails', async () => {
    const project = await makeProject()
    behaves = () => ({ state: 'building' })
    const cr = await project.open('work', { 'b.txt': 'b\n' })
    const dead = [await secondServer(server, { onApp }), await secondServer(server, { onApp })]
    try {
      await detectDefaultBranch(server.deps, (await getProject(server.deps.db, project.id))!)
      await detectChecks(server.deps, new AbortController().signal)
      for (const [index, one] of dead.entries()) {
        await one.deps.checks.reconcile()
        await until('it runs there', () => ran.length === index + 1)
        await letDie(one.deps)
      }
      const [check] = (await project.becomes(cr, 'failed')).checks
      expect(check).toMatchObject({ status: 'error', reason: expect.stringContaining('interrupted 2 times') })
      // Late writes of dead servers change nothing.
      for (const run of ran) Object.assign(run, { state: 'done', exitCode: 0 })
      await Promise.all(dead.map((one) => one.deps.checks.reconcile()))
      expect((await project.checks(cr)).checks[0]?.status).toBe('error')
    } finally {
      for (const one of dead) await one.close()
    }
  })

  test('a server continues its checks after a suspension, whatever its heartbeat says', async () => {
    const project = await makeProject()
    behaves = () => ({ state: 'building' })
    const cr = await project.open('work', { 'b.txt': 'b\n' })
    await until('it runs', async () => (await project.tend(), ran.length === 1))
    try {
      await letDie(server.deps)
      for (let look = 0; look < 3; look++) await server.deps.checks.reconcile()
      Object.assign(ran[0]!, { state: 'done', exitCode: 0 })
      await project.becomes(cr, 'passed')
      expect(ran).toHaveLength(1)
    } finally {
      await letLive(server.deps)
    }
  })

  test('a stopping server leaves its check to the next one without counting an attempt', async () => {
    const project = await makeProject()
    behaves = () => ({ state: 'building' })
    const cr = await project.open('work', { 'b.txt': 'b\n' })
    for (let round = 1; round <= 4; round++) {
      const stops = await secondServer(server, { onApp })
      if (round === 1) {
        await detectDefaultBranch(stops.deps, (await getProject(stops.deps.db, project.id))!)
        await detectChecks(stops.deps, new AbortController().signal)
      }
      await stops.deps.checks.reconcile()
      await until('it runs there', () => ran.length === round)
      await stops.close()
    }
    behaves = () => ({ state: 'done', exitCode: 0 })
    await project.becomes(cr, 'passed')
  })

  test.each(['check.after_claim', 'check.after_sandbox', 'check.after_files', 'check.before_end', 'check.after_end'])(
    'a failure at %s ends the check and leaves nothing behind',
    async (name) => {
      const points = parseFailpoints(`${name}=throw@1`)
      if (typeof points === 'string') throw new Error(points)
      const project = await makeProject()
      const cr = await project.open('work', { 'b.txt': 'b\n' })
      armFailpoints(points)
      const found = await project.becomes(cr, 'passed', 'failed')
      if (found.state === 'failed') {
        expect(found.checks[0]?.reason).toContain('internal error')
        await project.rerun(cr)
        await project.becomes(cr, 'passed')
      }
      await until('its sandbox has ended', async () =>
        (await server.driver.list()).every(({ sandboxId }) => !sandboxId.startsWith('check-')),
      )
    },
  )
})

describe('quotas of checks', () => {
  test('truncates the log of a check with a mark and keeps the newest lines', async () => {
    behaves = () => ({
      state: 'done',
      exitCode: 0,
      lines: Array.from({ length: 1_000 }, (_, n) => `${n} ${'x'.repeat(1_000)}`),
    })
    const project = await makeProject()
    const cr = await project.open('work', { 'b.txt': 'b\n' })
    const { checks } = await project.becomes(cr, 'passed')
    const log = await project.log(cr, checks[0]!.run_id!)
    expect(log.truncated).toBeTrue()
    expect(log.lines[0]).toMatchObject({ stream: 'svc', text: expect.stringContaining('Earlier lines were removed') })
    expect(log.lines.at(-1)!.text).toStartWith('999 ')
    expect(Buffer.byteLength(JSON.stringify(log.lines))).toBeLessThan(quotas.checkLogBytes + 1024)
  })

  test('refuses files of a check or an app that exceed the quota, with the size', async () => {
    const project = await makeProject()
    const cr = await project.open('work', { 'large.bin': 'x'.repeat(2 * mebibyte) })
    const { checks } = await project.becomes(cr, 'failed')
    expect(checks[0]).toMatchObject({ status: 'error', reason: expect.stringContaining('exceed 1 MiB') })
    expect(ran).toEqual([])
  })
})
