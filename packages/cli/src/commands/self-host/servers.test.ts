import { expect, test } from 'bun:test'
import { ids, startService, svc } from '../../testing.ts'

const project = { project_id: ids.project, slug: 'app', server: 'server-2', missing: [], is_stale: false }

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
  expect(stderr).toContain('1 of 1 projects have no new home yet')
})

test('self-host take-over asks first on a terminal, and needs --yes without one', async () => {
  await using service = startService({})
  const { code, stderr } = await svc(['self-host', 'take-over', 'server-1'], { service })
  expect([code, service.of('takeOverServer')]).toEqual([2, []])
  expect(stderr).toContain('--yes')
})

test('self-host copies shows what lacks a copy, and exits with 1', async () => {
  const of = { project_id: ids.project, home: 'server-1' }
  const projects = [
    { ...of, slug: 'none', replica: null, behind: null },
    { ...of, slug: 'old', replica: 'server-2', behind: null },
    { ...of, slug: 'late', replica: 'server-2', behind: 3 },
  ]
  await using service = startService({ listUncopiedProjects: () => ({ mode: 'sync' as const, count: 3, projects }) })
  const { code, stdout, stderr } = await svc(['self-host', 'copies'], { service })
  expect(code).toBe(1)
  expect(stdout).toMatch(/none\s+server-1\s+none\n.*old\s+server-1\s+server-2, of an earlier home\n.*3 changes behind/)
  expect(stderr).toContain('3 projects have no current copy')
})

test('self-host copies is content when every project has one', async () => {
  await using service = startService({
    listUncopiedProjects: () => ({ mode: 'sync' as const, count: 0, projects: [] }),
  })
  const { code, stdout } = await svc(['self-host', 'copies'], { service })
  expect([code, stdout]).toEqual([0, '✓ Every project has a current copy\n'])
})
