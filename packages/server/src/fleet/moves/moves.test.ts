/** Projects move between real servers while they are used, and whichever server dies, each stays whole at one home. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeRepo, serveHttpBackend } from '@svc/git/testing'
import { until } from '../../testing-until.ts'
import { type Fleet, type FleetServer, makeFleet } from '../testing-fleet.ts'
import { TestProjectOfFleet } from './testing-moves.ts'

setDefaultTimeout(300_000)

let fleet: Fleet
let ada: FleetServer
let bob: FleetServer

beforeAll(async () => {
  fleet = await makeFleet(['ada', 'bob'])
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  await boot(ada)
})
afterAll(() => fleet.close())

async function boot(server: FleetServer, failpoints = ''): Promise<void> {
  const { url, errors } = await server.boot(failpoints === '' ? {} : { SVC_FAILPOINTS: failpoints })
  if (url === null) throw new Error(await errors())
}

async function restart(server: FleetServer, failpoints = ''): Promise<void> {
  await server.kill('SIGKILL')
  await boot(server, failpoints)
}

/** With both servers running and the project at ada. */
async function projectAtAda(): Promise<{ project: TestProjectOfFleet; main: string }> {
  await bob.kill('SIGKILL')
  const project = await until('ada makes it', async () => {
    const made = await TestProjectOfFleet.make(fleet, ada)
    const [row] = await fleet.query<{ home: string }>('select home from projects where project_id = $1', [made.id])
    return row?.home === 'ada' ? made : null
  })
  // Its pushes wait for their copies there.
  await boot(bob)
  const main = await project.commit()
  expect(await project.push(ada, main, 'main')).toMatchObject({ code: 0 })
  await project.hide(ada, 'refs/svc/wip/some-session', await project.commit(main))
  return { project, main }
}

test('an external project moves with its mirror: unfinished work and kept commits, too', async () => {
  await restart(ada)
  await bob.kill('SIGKILL')
  const origin = await makeRepo({ main: { a: '1\n' } })
  const host = await serveHttpBackend(origin.dir)
  try {
    const project = await until('ada makes it', async () => {
      const made = await TestProjectOfFleet.make(fleet, ada, { repo_url: host.url })
      const [row] = await fleet.query<{ home: string }>('select home from projects where project_id = $1', [made.id])
      return row?.home === 'ada' ? made : null
    })
    const main = (await project.branches(ada)).get('main')!
    await project.hide(ada, 'refs/svc/wip/some-session', await project.commit(), 'mirrors')
    const refs = await project.refsOnDisk(ada, 'mirrors')
    expect(refs.join('\n')).toContain(main)
    await boot(bob)
    await project.move(bob, bob)
    expect(await project.ended()).toMatchObject({ phase: 'done', home: 'bob' })
    expect((await project.refsOnDisk(bob, 'mirrors')).toSorted()).toEqual(refs.toSorted())
    const commit = await project.commit()
    expect(await project.push(ada, commit, 'topic')).toMatchObject({ code: 0 })
    expect((await project.git(`--git-dir=${origin.dir}`, 'rev-parse', 'refs/heads/topic')).output).toBe(commit)
  } finally {
    await host.close()
    await origin.remove()
  }
})

async function expectWhole(project: TestProjectOfFleet, home: FleetServer, refs: string[]): Promise<void> {
  const now = await project.refsOnDisk(home)
  expect(now).toEqual(expect.arrayContaining(refs))
  for (const server of [ada, bob]) {
    const commit = await project.commit()
    const branch = `after-${server.name}-${commit.slice(0, 8)}`
    expect(await project.push(server, commit, branch)).toMatchObject({ code: 0 })
    for (const other of [ada, bob]) expect((await project.branches(other)).get(branch)).toBe(commit)
  }
}

test('a project moves under pushes and merges: all that was acknowledged is there, and nothing failed', async () => {
  const { project, main } = await projectAtAda()
  const acknowledged: { branch: string; commit: string }[] = []
  const merged: string[] = []
  const failures: unknown[] = []
  let isOver = false
  const front = (n: number) => (n % 2 === 0 ? ada : bob)
  const pushes = async (worker: string) => {
    for (let n = 0; !isOver; n++) {
      const commit = await project.commit(main)
      const branch = `${worker}-${n}`
      const pushed = await project.push(front(n), commit, branch)
      if (pushed.code === 0) acknowledged.push({ branch, commit })
      else failures.push(pushed.errors)
    }
  }
  const merges = async () => {
    for (let n = 0; !isOver; n++) {
      const branch = `merged-${n}`
      const pushed = await project.push(front(n), await project.commit(main), branch)
      if (pushed.code !== 0) failures.push(pushed.errors)
      const opened = await project.request<{ cr_id: string }>(front(n + 1), 'POST', '/change-requests', {
        title: branch,
        head_ref: branch,
      })
      const { status, body } = await project.request<{ change_request: { merge_commit_sha: string } }>(
        front(n),
        'POST',
        `/change-requests/${opened.body.cr_id}/merge`,
      )
      if (status === 200) merged.push(body.change_request.merge_commit_sha)
      else failures.push([opened, body])
    }
  }
  const load = Promise.all([pushes('one'), merges()])
  await until('the load runs', () => acknowledged.length > 1 && merged.length > 0)
  const moves = [bob, ada, bob]
  for (const to of moves) {
    const before = merged.length + acknowledged.length
    await project.move(front(acknowledged.length), to)
    expect(await project.ended()).toMatchObject({ phase: 'done', home: to.name })
    await until('the load goes on', () => merged.length + acknowledged.length > before + 2)
  }
  isOver = true
  await load
  expect(failures).toEqual([])
  const branches = await project.branches(ada)
  for (const { branch, commit } of acknowledged) expect([branch, branches.get(branch)]).toEqual([branch, commit])
  await project.git('fetch', '-q', `${ada.url}/v1/projects/${project.id}/git`, 'main')
  for (const sha of merged) expect((await project.git('merge-base', '--is-ancestor', sha, 'FETCH_HEAD')).code).toBe(0)
  const crs = await fleet.query<{ status: string }>('select status from change_requests where project_id = $1', [
    project.id,
  ])
  expect(crs.filter(({ status }) => status === 'merged')).toHaveLength(merged.length)
  await expectWhole(project, bob, [])
  expect((await project.refsOnDisk(bob)).join('\n')).toContain('refs/svc/wip/some-session')
}, 180_000)

const ofSource = ['move.after_close', 'move.before_freeze', 'move.after_freeze']
const ofTarget = ['move.after_pass', 'move.before_last_pass', 'move.before_switch', 'move.after_switch']

test.each([...ofSource.map((point) => [point, 'ada']), ...ofTarget.map((point) => [point, 'bob'])])(
  'killed at %s, %s comes back and the move is completed',
  async (point, name) => {
    const { project } = await projectAtAda()
    const [victim, other] = name === 'ada' ? [ada, bob] : [bob, ada]
    const refs = await project.refsOnDisk(ada)
    await restart(victim!, `${point}=kill@1`)
    await until('both are known', async () => {
      const { servers } = (await (await fleet.request(ada, 'GET', '/v1/servers')).json()) as {
        servers: { running: boolean }[]
      }
      return servers.filter(({ running }) => running).length === 2
    })
    await project.move(other!, bob)
    await until(`${name} has ended`, async () => !(await isUp(victim!)))
    await restart(victim!)
    expect(await project.ended()).toMatchObject({ phase: 'done', home: 'bob' })
    await expectWhole(project, bob, refs)
  },
)

async function isUp(server: FleetServer): Promise<boolean> {
  return fetch(`${server.url}/health`).then(
    () => true,
    () => false,
  )
}

test('a home that was killed while it closed the project opens it again, also while the target is away', async () => {
  const { project } = await projectAtAda()
  const refs = await project.refsOnDisk(ada)
  await restart(ada, 'move.after_close=kill@1')
  await project.move(bob, bob)
  await until('ada has ended', async () => !(await isUp(ada)))
  expect(await project.lastMove()).toMatchObject({ phase: 'copied', home_state: 'closing' })
  await bob.kill('SIGKILL')
  await boot(ada)
  await until('the project is open', async () => (await project.lastMove()).home_state === 'open')
  await until('the move waits', async () => (await project.lastMove()).waits_for === 'bob is not running.')
  expect(await project.lastMove()).toMatchObject({ phase: 'copied', home: 'ada', home_state: 'open' })
  await boot(bob)
  expect(await project.ended()).toMatchObject({ phase: 'done', home: 'bob' })
  await expectWhole(project, bob, refs)
})

test('a frozen project whose target does not come back opens again where it is', async () => {
  const { project } = await projectAtAda()
  const refs = await project.refsOnDisk(ada)
  await restart(bob, 'move.before_switch=kill@1')
  await project.move(ada, bob)
  await until('bob has ended', async () => !(await isUp(bob)))
  const errors = new Set<string | null>()
  // As if that time had passed, three times.
  await until('the move has failed', async () => {
    await fleet.query(
      `update project_moves set phase_at = now() - interval '1 hour',
      progress_at = now() - interval '1 hour' where project_id = $1 and ended_at is null`,
      [project.id],
    )
    const { phase, error } = await project.lastMove()
    errors.add(error)
    return phase === 'failed'
  })
  expect(await project.ended()).toMatchObject({ phase: 'failed', home: 'ada', home_state: 'open' })
  expect([...errors]).toContain('The project did not get from ada to bob within 45 seconds.')
  await boot(bob)
  await expectWhole(project, ada, refs)
})

test('a push that waits for the end of a move is asked for its credential before', async () => {
  const file = join(fleet.dir, 'at-push')
  const { project, main } = await projectAtAda()
  await restart(bob, `move.before_switch=pause:${file}@1`)
  await project.move(ada, bob)
  await until('bob is about to switch', () => existsSync(file))
  const handshake = `/v1/projects/${project.id}/git/info/refs?service=git-receive-pack`
  const pushing = project.push(ada, await project.commit(main), 'waited')
  const waiting = pushing.then(() => 'pushed')
  for (const server of [ada, bob])
    expect(await Promise.race([waiting, fetch(`${server.url}${handshake}`).then(({ status }) => status)])).toBe(401)
  await rm(file)
  expect(await pushing).toMatchObject({ code: 0 })
  expect(await project.ended()).toMatchObject({ phase: 'done', home: 'bob' })
})

test('what a failed move has put in place goes, and a later move to the same server succeeds', async () => {
  const { project } = await projectAtAda()
  const refs = await project.refsOnDisk(ada)
  await restart(bob, 'move.before_switch=throw')
  await project.move(ada, bob)
  expect(await project.ended()).toMatchObject({
    phase: 'failed',
    home: 'ada',
    error: 'bob failed to take the project.',
  })
  const left = join(fleet.dir, 'bob', 'repositories', `${project.id}.git`)
  expect(existsSync(left)).toBe(true)
  // As if that time had passed.
  await fleet.query(`update project_moves set ended_at = now() - interval '1 hour' where project_id = $1`, [project.id])
  await until('bob has set it aside', () => !existsSync(left))
  await restart(bob)
  await project.move(ada, bob)
  expect(await project.ended()).toMatchObject({ phase: 'done', home: 'bob' })
  await expectWhole(project, bob, refs)
})

test('a source that sleeps through the switch acknowledges nothing when it wakes', async () => {
  const file = join(fleet.dir, 'at-switch')
  const atMerge = join(fleet.dir, 'at-merge')
  const { project, main } = await projectAtAda()
  await restart(ada, `merge.after_push=pause:${atMerge}@1`)
  await restart(bob, `move.before_switch=pause:${file}@1`)
  expect((await project.push(ada, await project.commit(main), 'topic')).code).toBe(0)
  const opened = await project.request<{ cr_id: string }>(ada, 'POST', '/change-requests', {
    title: 'Asleep',
    head_ref: 'topic',
  })
  const merging = project.request<{ code: string }>(ada, 'POST', `/change-requests/${opened.body.cr_id}/merge`)
  await until('the merge has written', () => existsSync(atMerge))
  // Forced, so that it does not wait for the merge.
  await project.move(bob, bob, true)
  await until('bob is about to switch', () => existsSync(file))
  await ada.kill('SIGSTOP')
  await rm(file)
  expect(await project.ended()).toMatchObject({ phase: 'done', home: 'bob' })
  await rm(atMerge)
  await ada.kill('SIGCONT')
  const refused = await merging
  expect([refused.status, refused.body.code]).toEqual([503, 'unavailable'])
  // Whether the copy has that merge, the row and the branch agree about it.
  await until('the merge is settled', async () => {
    const [cr] = await fleet.query<{ status: string }>('select status from change_requests where cr_id = $1', [
      opened.body.cr_id,
    ])
    const main = (await project.branches(bob)).get('main')
    await project.git('fetch', '-q', `${bob.url}/v1/projects/${project.id}/git`, 'main')
    await project.git('fetch', '-q', `${bob.url}/v1/projects/${project.id}/git`, 'topic')
    const { code } = await project.git('merge-base', '--is-ancestor', 'FETCH_HEAD', main!)
    return (code === 0) === (cr!.status === 'merged')
  })
})

test('a move that waits for a merge can be cancelled, or forced by a second request', async () => {
  const atMerge = join(fleet.dir, 'at-long-merge')
  const { project, main } = await projectAtAda()
  await restart(ada, `merge.after_push=pause:${atMerge}@1`)
  expect(await project.request(bob, 'DELETE', '/home/move')).toMatchObject({
    status: 409,
    body: { error: 'This project is not moving.' },
  })
  expect((await project.push(ada, await project.commit(main), 'topic')).code).toBe(0)
  const change = { title: 'Long', head_ref: 'topic' }
  const opened = await project.request<{ cr_id: string }>(ada, 'POST', '/change-requests', change)
  const merging = project.request(ada, 'POST', `/change-requests/${opened.body.cr_id}/merge`)
  await until('the merge has written', () => existsSync(atMerge))
  await project.move(bob, bob)
  await until('the move waits', async () => (await project.lastMove()).waits_for?.startsWith('Requests ') === true)
  expect(await project.request(bob, 'POST', '/home', { server: 'bob' })).toMatchObject({
    status: 409,
    body: {
      error: 'This project is moving to bob already.',
      hint: expect.stringMatching(/svc self-host move \S+ bob --wait,/),
    },
  })
  expect(await project.request(bob, 'DELETE', '/home/move')).toMatchObject({
    status: 200,
    body: { server: 'ada', move: { phase: 'failed', error: 'It was cancelled.' } },
  })
  expect(await project.ended()).toMatchObject({ home: 'ada', home_state: 'open' })
  await until('the target has removed its copy', async () => (await coming(bob)).length === 0)
  await project.move(ada, bob)
  await project.move(ada, bob, true)
  expect(await project.ended()).toMatchObject({ phase: 'done', home: 'bob' })
  await rm(atMerge)
  expect((await merging).status).toBe(503)
})

test('a move that is cancelled while its home saves work closes nothing', async () => {
  const [atSave, atClose] = [join(fleet.dir, 'at-save'), join(fleet.dir, 'at-close')]
  const { project } = await projectAtAda()
  await restart(ada, `move.before_close=pause:${atSave}@1,move.after_close=pause:${atClose}@1`)
  await project.move(ada, bob)
  await until('the work is saved', () => existsSync(atSave))
  expect(await project.request(bob, 'DELETE', '/home/move')).toMatchObject({ status: 200 })
  await rm(atSave)
  await project.move(ada, bob)
  await until('a move closes the project', () => existsSync(atClose))
  expect(await project.lastMove()).toMatchObject({ phase: 'copied', home_state: 'closing' })
  await rm(atClose)
  expect(await project.ended()).toMatchObject({ phase: 'done', home: 'bob' })
})

test('a move whose target cannot write its data folder says so', async () => {
  const { project } = await projectAtAda()
  const room = join(fleet.dir, 'bob', 'moving')
  await rm(room, { recursive: true, force: true })
  await writeFile(room, '')
  try {
    await project.move(ada, bob)
    await until('the reason', async () => (await project.lastMove()).waits_for?.includes('failed at bob') === true)
    expect(await project.request(ada, 'DELETE', '/home/move')).toMatchObject({ status: 200 })
  } finally {
    await rm(room)
  }
})

test('the log says when the reason why a move waits could not be recorded', async () => {
  const { project } = await projectAtAda()
  await bob.kill('SIGKILL')
  const { errors } = await bob.boot({ SVC_FAILPOINTS: 'move.after_pass=throw' })
  // A sequence counts what a transaction undoes.
  await fleet.query(`create sequence refused; create function refuse() returns trigger language plpgsql as
    $$ begin perform nextval('refused'); raise exception 'no reason is taken'; end $$;
    create trigger refuse before update on project_moves for each row when (new.waits_for is not null) execute function refuse()`)
  try {
    await project.move(ada, bob)
    await until('its second step has failed', async () => {
      const [row] = await fleet.query<{ n: number }>('select last_value::int as n from refused')
      return row!.n > 1
    })
    await bob.kill('SIGKILL')
    expect(await errors()).toContain('recording why a move waits failed; its step is repeated')
    expect(await errors()).not.toContain('undoing a move failed')
  } finally {
    await fleet.query('drop trigger refuse on project_moves; drop function refuse; drop sequence refused')
  }
  await boot(bob)
  expect(await project.ended()).toMatchObject({ phase: 'done', home: 'bob' })
})

/** The repositories that a server copies for moves. */
const coming = (server: FleetServer) => readdir(join(fleet.dir, server.name, 'moving')).catch(() => [])

test('a move waits while its target does not answer at the address that it names, and says so', async () => {
  const { project, main } = await projectAtAda()
  await fleet.query(`update server_instances set peer_url = 'http://127.0.0.1:9' where server_name = 'bob'`)
  await project.move(ada, bob)
  // As if the copy had taken that long.
  await fleet.query(`update project_moves set requested_at = now() - interval '1 hour' where project_id = $1`, [
    project.id,
  ])
  await until(
    'the move waits',
    async () => (await project.lastMove()).waits_for?.startsWith('bob does not answer at http://127.0.0.1:9,') === true,
  )
  expect(await project.lastMove()).toMatchObject({ phase: 'copied', home: 'ada', home_state: 'open' })
  expect((await project.push(ada, await project.commit(main), 'meanwhile')).code).toBe(0)
  await fleet.query(`update server_instances set peer_url = $1 where server_name = 'bob'`, [bob.url])
  expect(await project.ended()).toMatchObject({ phase: 'done', home: 'bob' })
})
