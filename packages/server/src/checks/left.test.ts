/** Checks whose sandbox outlives their server, with the fake driver: what the next server finds and goes on with. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { ChangeRequest, ChangeRequestChecks, CheckLogLine, ProjectEventPage } from '@svc/contract'
import type { FakeApp } from '@svc/sandbox/testing'
import { type TestProject, testProject } from '../change-requests/testing.ts'
import type { Deps } from '../deps.ts'
import { detectDefaultBranch } from '../projects/default-branch.ts'
import { getProject } from '../projects/store.ts'
import { letDie, makeSessionApp, secondServer, type SecondServer, type SessionApp, until } from '../sessions/testing.ts'
import { detectChecks } from './trees.ts'

let first: SessionApp
let next: SecondServer | null
let ran: FakeApp[]
let project: TestProject
let projectId: string
let cr: ChangeRequest

beforeEach(async () => {
  ran = []
  next = null
  first = await makeSessionApp({
    outlives: true,
    onApp() {
      const run: FakeApp = { state: 'building', lines: ['one'] }
      ran.push(run)
      return run
    },
  })
  const made = await first.managedProject({ 'svc.toml': '[[checks]]\nname = "unit"\ncommand = "run"\n' })
  project = testProject(first, made)
  projectId = made.project.project_id
  cr = await project.open('work', { 'b.txt': 'b\n' })
  await until('it runs', async () => (await tend(first.deps), ran.length === 1))
  await until('its first line is stored', async () => (await logOf()).includes('one'))
}, 120_000)
afterEach(async () => {
  await next?.close()
  await first.close()
})

async function tend(deps: Deps): Promise<void> {
  await detectDefaultBranch(deps, (await getProject(deps.db, projectId))!)
  await detectChecks(deps, new AbortController().signal)
  await deps.checks.reconcile()
}

const checksOf = async () =>
  (await first.request<ChangeRequestChecks>('GET', project.path(cr.cr_id, 'checks'))).body.checks

async function logOf(): Promise<string[]> {
  const [check] = await checksOf()
  const path = project.path(cr.cr_id, `checks/${check?.run_id}/log`)
  return (await first.request<{ lines: CheckLogLine[] }>('GET', path)).body.lines.map(({ text }) => text)
}

const sandboxes = async () =>
  (await first.driver.list()).map(({ sandboxId }) => sandboxId).filter((id) => id.startsWith('check-'))

/** The first server stops and leaves its check, and nothing of it is there until the next one starts. */
async function stopFirst(): Promise<string> {
  expect(await first.deps.checks.close({ endsSandboxes: false })).toBe(1)
  const [sandboxId = ''] = await sandboxes()
  await letDie(first.deps)
  return sandboxId
}

/** The check at the next server, once it has ended there. */
async function endsAtNext() {
  next = await secondServer(first, {}, { sandboxes: first.deps.sandboxes })
  const { deps } = next
  return until('the check has ended', async () => {
    await tend(deps)
    const [check] = await checksOf()
    return check?.status === 'running' || check?.status === 'queued' ? null : check!
  })
}

async function events(): Promise<string[]> {
  const headers = { accept: 'application/json' }
  const { body } = await first.request<ProjectEventPage>('GET', `/v1/projects/${projectId}/events`, { headers })
  return body.events.map(({ type }) => type).filter((type) => type.startsWith('check.'))
}

test.each([
  ['after the next server came', false],
  ['while no server was there', true],
])('a check that ends %s has its result and its whole log once', async (_, endsAlone) => {
  await stopFirst()
  ran[0]!.lines!.push('two', 'three')
  const end = () => Object.assign(ran[0]!, { state: 'failed', error: 'It ended with exit code 7.', exitCode: 7 })
  if (endsAlone) end()
  else void until('the next server has read it', async () => (await logOf()).includes('three')).then(end)
  expect(await endsAtNext()).toMatchObject({ status: 'failed', exit_code: 7, reason: 'It ended with exit code 7.' })
  const [begin, ...lines] = await logOf()
  expect(begin).toStartWith('attempt 1 on the files')
  expect(lines).toEqual(['one', 'two', 'three'])
  expect(await events()).toEqual(['check.started', 'check.finished'])
  expect(ran).toHaveLength(1)
  await until('its sandbox has ended', async () => (await sandboxes()).length === 0)
})

test('reruns a check whose sandbox ended while no server was running, and says so', async () => {
  await first.driver.stop(await stopFirst())
  first.driver.options.onApp = () => {
    ran.push({ state: 'done', exitCode: 0 })
    return ran.at(-1)!
  }
  expect(await endsAtNext()).toMatchObject({ status: 'passed', exit_code: 0 })
  const [, ...lines] = await logOf()
  expect(lines).toEqual([
    'one',
    expect.stringMatching(/^attempt 1 .*, restarted because the server that ran it stopped$/),
  ])
})

test('the next server ends a check that no change request needs any more', async () => {
  await stopFirst()
  await first.request('POST', project.path(cr.cr_id, 'close'))
  next = await secondServer(first, {}, { sandboxes: first.deps.sandboxes })
  const { deps } = next
  await until('its sandbox has ended', async () => (await tend(deps), (await sandboxes()).length === 0))
  expect(ran).toHaveLength(1)
})

test('a server that runs no checks does not adopt one', async () => {
  await stopFirst()
  next = await secondServer(first, {}, { sandboxes: first.deps.sandboxes })
  const { atOnce } = first.deps.config.checks
  first.deps.config.checks.atOnce = 0
  try {
    await next.deps.checks.reconcile()
    expect(await sandboxes()).toEqual([])
  } finally {
    first.deps.config.checks.atOnce = atOnce
  }
})
