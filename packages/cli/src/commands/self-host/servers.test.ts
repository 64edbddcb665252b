import { expect, test } from 'bun:test'
import { ServiceError } from '@svc/contract/errors'
import { ids, now, startService, svc } from '../../testing.ts'

const project = {
  ...{ error: null, project_id: ids.project, slug: 'app', server: 'server-2' },
  ...{ missing: [], is_stale: false, lost_merges: [] },
}

test('self-host take-over goes on until every project was looked at, and says where each is', async () => {
  let asked = 0
  await using service = startService({
    takeOverServer: () => ({
      server: 'server-1',
      projects: [{ ...project, slug: `app-${++asked}`, outcome: 'taken' as const }],
      remaining: 2 - asked,
    }),
  })
  const { code, stdout } = await svc(['self-host', 'take-over', 'server-1', '--yes'], { service })
  expect([code, stdout]).toEqual([0, '✓ app-1 at server-2.\n✓ app-2 at server-2.\n'])
  expect(service.of('takeOverServer').map(({ body }) => body)).toEqual([
    { accept_loss: false },
    { accept_loss: false, after: ids.project },
  ])
})

test('self-host take-over lists what would be lost, and exits with 1', async () => {
  const missing = [{ ref: 'refs/heads/main', acknowledged: 'a'.repeat(40), copy: null }]
  await using service = startService({
    takeOverServer: () => ({
      server: 'server-1',
      projects: [{ ...project, outcome: 'would-lose' as const, missing }],
      remaining: 0,
    }),
  })
  const { code, stdout, stderr } = await svc(['self-host', 'take-over', 'server-1', '--yes'], { service })
  expect(code).toBe(1)
  expect(stdout).toContain('acknowledged changes would be lost. --accept-loss takes it without them.')
  expect(stdout).toContain('refs/heads/main: aaaaaaaaaaaa was acknowledged; the copy has nothing')
  expect(stderr).toContain('1 of 1 project has no new home yet')
})

test('self-host take-over names the change requests whose merge is lost, and how to merge them again', async () => {
  const lost = { cr_id: ids.cr, number: 4, title: 'Feature', base_ref: 'main', head_ref: 'feat' }
  const of = { ...project, lost_merges: [lost] }
  await using service = startService({
    takeOverServer: ({ body }: { body: unknown }) => ({
      server: 'server-1',
      projects: [
        { ...of, outcome: JSON.stringify(body).includes('true') ? ('taken' as const) : ('would-lose' as const) },
      ],
      remaining: 0,
    }),
  })
  const words = ['self-host', 'take-over', 'server-1', '--yes']
  const refused = await svc(words, { service })
  expect([refused.code, refused.stdout]).toEqual([
    1,
    expect.stringContaining('! #4 Feature was merged, and would not be in main.\n'),
  ])
  const taken = await svc([...words, '--accept-loss'], { service })
  expect([taken.code, taken.stdout]).toEqual([
    0,
    expect.stringContaining('! #4 Feature was merged, and is not in main.\n'),
  ])
  expect(taken.stdout).toContain('svc cr open --head feat --base main --fill --project app')
})

test('self-host take-over of a server without copies says to start it again if its disk is intact', async () => {
  const projects = [{ ...project, server: null, outcome: 'no-copy' as const }]
  await using service = startService({ takeOverServer: () => ({ server: 'server-1', projects, remaining: 0 }) })
  const { code, stdout } = await svc(['self-host', 'take-over', 'server-1', '--yes'], { service })
  expect(code).toBe(1)
  expect(stdout).toContain('no server has a copy. If the disk of server-1 is intact, start server-1 again.')
})

test('self-host take-over asks first on a terminal, and needs --yes without one', async () => {
  await using service = startService({})
  const { code, stderr } = await svc(['self-host', 'take-over', 'server-1'], { service })
  expect([code, service.of('takeOverServer')]).toEqual([2, []])
  expect(stderr).toContain('--yes')
})

test('self-host take-over of an unknown server says so before it asks', async () => {
  await using service = startService({
    listServers: () => ({ servers: [] }),
    takeOverServer: () => {
      throw new ServiceError('not_found', 'No server with the name server-9 has ever used this database.')
    },
  })
  const { code, stderr } = await svc(['self-host', 'take-over', 'server-9'], { service, terminal: true })
  expect([code, stderr]).toEqual([1, expect.stringContaining('No server with the name server-9')])
  expect(stderr).not.toContain('Take over the projects')
})

const lacking = {
  ...{ project_id: ids.project, slug: 'website', home: 'server-1', replica: null as string | null },
  ...{ behind: null as number | null, being_made: false, changes_refused: false, error: null as string | null },
}

test('self-host copies shows what lacks a copy, and exits with 1', async () => {
  const projects = [
    { ...lacking, slug: 'none' },
    { ...lacking, slug: 'old', replica: 'server-2' },
    { ...lacking, slug: 'stopped', replica: 'server-3', behind: 0 },
    { ...lacking, slug: 'other', replica: 'server-3', behind: 0 },
    { ...lacking, slug: 'late', replica: 'server-2', behind: 3, error: 'server-2 answered: full' },
  ]
  await using service = startService({
    listUncopiedProjects: () => ({ mode: 'sync' as const, count: 5, projects }),
    listServers: () => ({ servers: [] }),
  })
  const { code, stdout, stderr } = await svc(['self-host', 'copies'], { service })
  expect(code).toBe(1)
  expect(stderr.split('svc self-host take-over server-3')).toHaveLength(2)
  expect(stderr).not.toContain('take-over server-2')
  expect(stdout).toMatch(
    /none\s+server-1\s+none\n.*old\s+server-1\s+server-2, of an earlier home\n[^]*3 changes behind/,
  )
  expect(stdout).toEndWith('! late: the last attempt to copy it failed: server-2 answered: full\n')
  expect(stderr).toContain('5 projects without a current copy')
  expect(stderr).toContain('Mend the reason on the server that it names')
})

test('self-host copies shows a current copy that takes no changes, whose server runs', async () => {
  const error = 'server-2 does not answer.'
  const projects = [{ ...lacking, replica: 'server-2', behind: 0, changes_refused: true, error }]
  await using service = startService({
    listUncopiedProjects: () => ({ mode: 'sync' as const, count: 1, projects }),
    listServers: () => ({ servers: [] }),
  })
  const { code, stdout, stderr } = await svc(['self-host', 'copies'], { service })
  expect(code).toBe(1)
  expect(stdout).toMatch(
    /website\s+server-1\s+server-2, which takes no changes\n! website: .*: server-2 does not answer\./,
  )
  expect(stderr).toContain('Changes of 1 project are refused, because the copy cannot be written.')
  expect(stderr).not.toContain('take-over')
})

test('self-host copies says to start or to take over a home that does not run', async () => {
  await using service = startService({
    listUncopiedProjects: () => ({
      ...{ mode: 'sync' as const, count: 1 },
      projects: [{ ...lacking, home: 'server-9' }],
    }),
    listServers: () => ({ servers: [{ ...draining, name: 'server-9', running: false, projects: 1 }] }),
  })
  const { code, stderr } = await svc(['self-host', 'copies'], { service })
  expect(code).toBe(1)
  expect(stderr).toContain(
    'server-9 does not run. Start it again, or if it is gone for good: svc self-host take-over server-9',
  )
  expect(stderr).toContain('Their home does not run: start it, or take it over.')
  expect(stderr).not.toContain('A running home makes one')
})

test('self-host copies shows copies that are being made, which is no error', async () => {
  const moved = { ...lacking, slug: 'moved', replica: 'server-2' }
  await using service = startService({
    listUncopiedProjects: () => ({ mode: 'sync' as const, count: 1, projects: [{ ...moved, being_made: true }] }),
  })
  const { code, stdout } = await svc(['self-host', 'copies'], { service })
  expect(code).toBe(0)
  expect(stdout).toMatch(/moved\s+server-1\s+being made\n/)
})

test('self-host copies is content when every project has one', async () => {
  await using service = startService({
    listUncopiedProjects: () => ({ mode: 'sync' as const, count: 0, projects: [] }),
  })
  const { code, stdout } = await svc(['self-host', 'copies'], { service })
  expect([code, stdout]).toEqual([0, '✓ Every project has a current copy\n'])
})

const facts = {
  sandboxes: 'ready' as const,
  sandbox_problem: null,
  clock_ahead_seconds: null as number | null,
  disk_low: false,
  different_settings: [],
  copies: 0,
  copies_to_move: 0,
  unmovable: [],
}
const draining = {
  ...{ name: 'server-1', peer_url: 'http://10.0.0.7:8420', running: true, reachable: null, keeps_projects: true },
  ...{ draining: true, last_seen: null, moves: [], ...facts },
}

const others = ['server-2', 'server-3'].map((name) => ({ ...draining, name, draining: false, projects: 1 }))

const move = {
  ...{ move_id: '77777777-7777-4777-8777-777777777777', project_id: ids.project, project_slug: 'website' },
  ...{ from: 'server-1', to: 'server-2', phase: 'copying' as const, cause: 'request' as const, force: false },
  ...{ waits_for: null, error: null, requested_at: '2026-03-07T10:00:00.000Z', ended_at: null as string | null },
}
const ended_at = '2026-03-07T10:01:00.000Z'

test('self-host servers shows moves by the name of their project', async () => {
  await using service = startService({})
  const { stdout } = await svc(['self-host', 'servers'], { service })
  expect(stdout).toMatch(/website\s+server-1\s+server-2\s+copied/)
  expect(stdout).not.toContain(ids.project)
})

test('self-host servers --projects lists where each project and its copy are', async () => {
  const at = { project_id: ids.project, deleted: false, home: 'server-1', copy: 'server-2' }
  const projects = [
    { ...at, slug: 'website' },
    { ...at, slug: 'old', deleted: true, copy: null },
  ]
  await using service = startService({ listServers: () => ({ servers: [], projects }) })
  const { stdout } = await svc(['self-host', 'servers', '--projects'], { service })
  expect(service.of('listServers').map(({ query }) => query)).toEqual([{ include: 'projects' }])
  expect(stdout).toMatch(/website\s+server-1\s+server-2[^]*old \(deleted\)\s+server-1\s+none/)
})

test('self-host servers names what is wrong with each server', async () => {
  const server = {
    ...{ peer_url: 'http://10.0.0.7:8420', running: true, reachable: true, keeps_projects: true, ...facts },
    ...{ draining: false, last_seen: null, moves: [], projects: 0 },
  }
  const broken = { sandboxes: 'missing' as const, sandbox_problem: 'bubblewrap is not installed.' }
  const different_settings = [{ name: 'SVC_PREVIEW_DOMAIN', value: '', here: 'previews.example' }]
  await using service = startService({
    listServers: () => ({
      servers: [
        { ...server, name: 'server-1' },
        { ...server, ...broken, name: 'server-2', different_settings },
        { ...server, name: 'server-3', clock_ahead_seconds: -300 },
        { ...server, name: 'server-4', disk_low: true },
      ],
    }),
  })
  const { code, stdout, stderr } = await svc(['self-host', 'servers'], { service })
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /server-1\s+running\s+0[^]*server-2\s+running, no sandboxes\s+0[^]*server-3\s+running, wrong clock\s+0[^]*server-4\s+running, full disk/,
  )
  expect(stderr).toContain('The clock of server-3 is 300 seconds behind that of the database. The other servers refuse')
  expect(stderr).toContain('The disk of server-4 is almost full, so it gets no projects')
  expect(stderr).toContain(
    'server-2 cannot start sandboxes, so it gets no projects while another server can: bubblewrap',
  )
  expect(stderr).toContain(
    'SVC_PREVIEW_DOMAIN is not set on server-2, and previews.example on the server that answered.',
  )
})

test('self-host servers shows on a terminal how many seconds ago a server was seen, its whole name and its whole address', async () => {
  const seen = (name: string, secondsAgo: number) => ({
    ...{ ...draining, draining: false, projects: 1, name, running: secondsAgo < 20 },
    ...{ peer_url: `https://${name}.example:8421`, last_seen: new Date(now - secondsAgo * 1000).toISOString() },
  })
  const servers = [seen('server-of-the-first-room', 1), seen('server-2', 40), seen('server-3', 130)]
  await using service = startService({ listServers: () => ({ servers }) })
  const { stdout, stderr } = await svc(['self-host', 'servers'], { service, terminal: true, columns: 80 })
  expect(stdout).toMatch(/server-of-the-first-room .* 1 s ago +https:\/\/server-of-the-first-room\.example:8421\n/)
  expect(stdout).toMatch(/server-2 .* 40 s ago .*\n.*server-3 .* 2 minutes ago .*\n/)
  for (const name of ['server-2', 'server-3'])
    expect(stderr).toContain(
      `${name} does not run. Start it again, or if it is gone for good: svc self-host take-over ${name}\n`,
    )
  expect(stderr).not.toContain('first-room')
})

test('self-host move --wait follows the move to its end', async () => {
  let asked = 0
  await using service = startService({
    moveProject: () => ({ server: 'server-1', move }),
    getProjectHome: () =>
      ++asked < 3
        ? { server: 'server-1', move: { ...move, phase: 'frozen' as const } }
        : { server: 'server-2', move: { ...move, phase: 'done' as const, ended_at } },
  })
  const { code, stdout } = await svc(['self-host', 'move', 'website', 'server-2', '--wait'], { service })
  expect([code, stdout, asked]).toEqual([0, '✓ website is at server-2\n', 3])
})

test('self-host move --wait prints each phase once, and goes on after the server did not answer', async () => {
  const waits_for = 'An agent works.'
  const answers = [
    { server: 'server-1', move: { ...move, phase: 'copied' as const, waits_for } },
    new ServiceError('unavailable', 'The project is moving.'),
    { server: 'server-1', move: { ...move, phase: 'copied' as const, waits_for } },
    { server: 'server-1', move: { ...move, phase: 'frozen' as const } },
    { server: 'server-2', move: { ...move, phase: 'done' as const, ended_at } },
  ]
  await using service = startService({
    moveProject: () => ({ server: 'server-1', move }),
    getProjectHome: () => {
      const answer = answers.shift()!
      if (answer instanceof ServiceError) throw answer
      return answer
    },
  })
  const { code, stdout, stderr } = await svc(['self-host', 'move', 'website', 'server-2', '--wait'], { service })
  expect([code, stdout]).toEqual([0, '✓ website is at server-2\n'])
  const lines = stderr.split('\n').filter((line) => !line.startsWith('Reconnecting'))
  expect(lines.slice(1)).toEqual(['copying', `copied: ${waits_for}`, 'frozen', ''])
})

test('self-host move --wait follows a move to the same server that runs already, and no other', async () => {
  let asked = 0
  await using service = startService({
    moveProject: () => {
      throw new ServiceError('conflict', 'This project is moving already.')
    },
    getProjectHome: () =>
      ++asked % 2 === 1
        ? { server: 'server-1', move }
        : { server: 'server-2', move: { ...move, phase: 'done' as const, ended_at } },
  })
  const followed = await svc(['self-host', 'move', 'website', 'server-2', '--wait'], { service })
  expect([followed.code, followed.stdout, asked]).toEqual([0, '✓ website is at server-2\n', 2])
  for (const args of [['server-3', '--wait'], ['server-2']]) {
    const refused = await svc(['self-host', 'move', 'website', ...args], { service })
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('This project is moving already.')])
  }
})

test('self-host move --wait fails with the reason when the project stays', async () => {
  await using service = startService({
    moveProject: () => ({ server: 'server-1', move }),
    getProjectHome: () => ({
      server: 'server-1',
      move: { ...move, phase: 'failed' as const, error: 'An agent worked for too long.', ended_at },
    }),
  })
  const { code, stdout, stderr } = await svc(['self-host', 'move', 'website', 'server-2', '--wait'], { service })
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('website stays at server-1.')
  expect(stderr).toContain('An agent worked for too long.')
})

test('self-host drain says of a server that does not answer what it cannot do, and where to look', async () => {
  const drain = async (server: { running?: boolean; reachable?: boolean }, ...flags: string[]) => {
    await using service = startService({
      drainServer: () => ({ name: 'server-1', draining: flags.length === 0 }),
      listServers: () => ({ servers: [{ ...draining, projects: 0, ...server }, ...others] }),
    })
    return await svc(['self-host', 'drain', 'server-1', ...flags], { service })
  }
  const paused = await drain({ reachable: false }, '--off')
  expect([paused.code, paused.stdout]).toEqual([0, '✓ The drain of server-1 has ended\n'])
  expect(paused.stderr).toContain('server-1 does not answer, so it takes no projects until it does.')
  expect(paused.stderr).toContain('Look at its process on its machine: svc self-host status')
  expect((await drain({ running: false })).stderr).toContain('server-1 does not run, so it hands over no projects')
  expect((await drain({ reachable: true }, '--off')).stderr).not.toContain('server-1 does not')
})

test('self-host drain says whose clock it waits for, once', async () => {
  const drain = async (clocks: { of: number | null; others: (number | null)[] }, ...flags: string[]) => {
    let left = 3
    await using service = startService({
      drainServer: () => ({ name: 'server-1', draining: true }),
      listServers: () => ({
        servers: [
          { ...draining, projects: Math.max(0, --left), clock_ahead_seconds: clocks.of },
          ...others.map((each, n) => ({ ...each, clock_ahead_seconds: clocks.others[n]! })),
        ],
      }),
    })
    const { code, stderr } = await svc(['self-host', 'drain', 'server-1', ...flags], { service })
    expect(code).toBe(0)
    return stderr.split('\n').filter((line) => line.includes('The clock of'))
  }
  for (const flags of [[], ['--wait']]) {
    expect(await drain({ of: -300, others: [null, null] }, ...flags)).toEqual([
      '! The clock of server-1 is 300 seconds behind that of the database, so the drain waits until it is right. Synchronize it on that machine: timedatectl set-ntp true',
    ])
    expect(await drain({ of: null, others: [90, 90] }, ...flags)).toEqual([
      expect.stringContaining('The clock of server-2 is 90 seconds ahead of that of the database, so the drain waits'),
    ])
    expect(await drain({ of: null, others: [90, null] }, ...flags)).toEqual([])
  }
})

test('self-host drain --off names the moves that go on, and how to end them', async () => {
  const move = {
    ...{ move_id: ids.session, project_id: ids.project, project_slug: 'website', from: 'server-1', to: 'server-2' },
    ...{ phase: 'copied' as const, cause: 'drain' as const, waits_for: 'server-2 is not running.', error: null },
    ...{ force: false, requested_at: '2026-11-21T11:00:00.000Z', ended_at: null },
  }
  await using service = startService({
    drainServer: () => ({ name: 'server-1', draining: false }),
    listServers: () => ({ servers: [{ ...draining, draining: false, projects: 1, moves: [move] }, ...others] }),
  })
  const { code, stderr } = await svc(['self-host', 'drain', 'server-1', '--off'], { service })
  expect([code, stderr]).toEqual([0, expect.stringContaining('website still moves to server-2.')])
  expect(stderr).toContain('svc self-host move website --cancel')
})

test('self-host drain --wait ends with the last project, and fails when the drain was ended', async () => {
  let left = 3
  await using emptied = startService({
    listServers: () => ({
      servers: [{ ...draining, projects: Math.max(0, --left), copies_to_move: left + 2 }, ...others],
    }),
  })
  const done = await svc(['self-host', 'drain', 'server-1', '--wait'], { service: emptied })
  expect([done.code, done.stdout, left]).toEqual([0, '✓ server-1 keeps no project\n', -2])
  expect(done.stderr).toContain('Stop it now, on its machine, with what started it: svc self-host stop, systemctl, or')
  await using ended = startService({
    listServers: () => ({ servers: [{ ...draining, projects: 2, draining: false }] }),
  })
  const refused = await svc(['self-host', 'drain', 'server-1', '--wait'], { service: ended })
  expect([refused.code, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toContain('The drain of server-1 was ended. It keeps 2 projects.')
})

test('self-host servers and drain --wait do without what servers of earlier versions do not say', async () => {
  const { copies: _, copies_to_move: __, ...earlier } = { ...draining, projects: 0 }
  await using service = startService({ listServers: () => Response.json({ servers: [earlier] }) })
  expect((await svc(['self-host', 'servers'], { service })).stdout).not.toContain('undefined')
  const { code, stdout } = await svc(['self-host', 'drain', 'server-1', '--wait'], { service })
  expect([code, stdout]).toEqual([0, '✓ server-1 keeps no project\n'])
})

test('self-host drain --wait goes on after an answer 503', async () => {
  let asked = 0
  await using service = startService({
    listServers: () => {
      if (++asked === 2) throw new ServiceError('unavailable', 'The database does not answer.')
      return { servers: [{ ...draining, projects: asked < 3 ? 1 : 0 }, ...others] }
    },
  })
  const { code, stdout } = await svc(['self-host', 'drain', 'server-1', '--wait'], { service })
  expect([code, stdout]).toEqual([0, '✓ server-1 keeps no project\n'])
})

test('self-host drain --wait fails when no other running server can take what is left', async () => {
  const wait = async (left: object, running: object[]) => {
    const servers = [{ ...draining, projects: 0, ...left }, ...running]
    await using service = startService({ listServers: () => ({ servers }) })
    const { code, stdout, stderr } = await svc(['self-host', 'drain', 'server-1', '--wait'], { service })
    expect([code, stdout]).toEqual([1, ''])
    return stderr
  }
  const stopped = { ...others[0]!, running: false, keeps_projects: false }
  expect(await wait({ projects: 1 }, [stopped])).toContain('that could take the 1 project of server-1.')
  // The only other one is the home of the projects, so it cannot have their copies.
  expect(await wait({ copies_to_move: 2 }, others.slice(0, 1))).toContain('that could take the 2 copies of server-1.')
})

test('self-host drain --wait fails with the reason once only projects are left that cannot move', async () => {
  const of = (project_slug: string) => ({ project_id: ids.project, project_slug, reason: 'It has no repository.' })
  let left = 4
  await using service = startService({
    listServers: () => ({
      servers: [{ ...draining, projects: Math.max(2, --left), unmovable: [of('blog'), of('website')] }, ...others],
    }),
  })
  const { code, stdout, stderr } = await svc(['self-host', 'drain', 'server-1', '--wait'], { service })
  expect([code, stdout, left]).toEqual([1, '', 2])
  expect(stderr).toContain('server-1 cannot hand over blog, website: It has no repository.')
  expect(stderr).toContain('svc self-host take-over server-1')
})

test('self-host drain --wait fails at once when the server does not run', async () => {
  const server = { ...draining, running: false, keeps_projects: false, projects: 2 }
  await using service = startService({ listServers: () => ({ servers: [server] }) })
  const { code, stdout, stderr } = await svc(['self-host', 'drain', 'server-1', '--wait'], { service })
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('server-1 does not run, so it cannot hand over its 2 projects.')
  expect(stderr).toContain('svc self-host take-over server-1')
})

test('self-host drain --wait waits for a server that restarts', async () => {
  const seen = [
    { running: true, projects: 1 },
    { running: false, projects: 1 },
    { running: true, projects: 0 },
  ]
  await using service = startService({
    listServers: () => ({ servers: [{ ...draining, ...seen.shift()! }, ...others] }),
  })
  const { code, stdout } = await svc(['self-host', 'drain', 'server-1', '--wait'], { service })
  expect([code, stdout]).toEqual([0, '✓ server-1 keeps no project\n'])
})

test('self-host move --cancel says where the project stays, and takes the project alone', async () => {
  await using service = startService({})
  const { code, stdout } = await svc(['self-host', 'move', 'website', '--cancel'], { service })
  expect([code, stdout]).toEqual([0, '✓ website stays at server-1\n'])
  const wrong = await svc(['self-host', 'move', 'website', 'server-2', '--cancel'], { service })
  expect([wrong.code, service.of('cancelMove')]).toEqual([2, [expect.anything()]])
  expect(wrong.stderr).toContain('svc self-host move website --cancel')
})
