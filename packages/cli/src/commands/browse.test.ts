/** Commands for the repository and the account. */
import { expect, test } from 'bun:test'
import { aComparison } from '../testing/browse.ts'
import { ids, startService, svc } from '../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }
const sha = (digit: string) => digit.repeat(40)

test('svc branches ls marks the default branch', async () => {
  await using service = startService()
  const { stdout } = await svc(['branches', 'ls'], { service, env })
  expect(stdout).toBe(`main\t${sha('b')}\tdefault\ngreeting\t${sha('a')}\t\n`)
})

test('svc compare compares two branches, or one with the default branch', async () => {
  await using service = startService({
    compareRefs: () => ({ ...aComparison(), can_merge: false, conflicts: ['a.txt'] }),
  })
  const { stdout, stderr } = await svc(['compare', 'main..greeting'], { service, env })
  for (const part of ['1 ahead, 2 behind', 'conflict: a.txt', 'Add a greeting', 'page.html'])
    expect(stdout).toContain(part)
  expect(stderr).toContain('svc cr open --fill --head greeting')
  await svc(['compare', 'release...greeting'], { service, env })
  await svc(['compare', 'greeting'], { service, env })
  expect(service.of('compareRefs').map(({ query }) => query)).toEqual([
    ...[{ base: 'main', head: 'greeting' }, { base: 'release', head: 'greeting' }, { head: 'greeting' }],
  ])
  expect((await svc(['compare', 'a..b..c'], { service, env })).code).toBe(2)
})

test('svc file prints a file of a branch exactly and lists a folder', async () => {
  await using service = startService()
  expect((await svc(['file', 'show', 'greeting:a.txt'], { service, env })).stdout).toBe('hello\n')
  await svc(['file', 'show', 'docs/a.md'], { service, env })
  expect(service.of('getFile').map(({ query }) => query)).toEqual([
    { ref: 'greeting', path: 'a.txt' },
    { path: 'docs/a.md' },
  ])
  expect((await svc(['file', 'ls', 'greeting:src'], { service, env })).stdout).toBe('main.ts\tfile\t12\n')
  expect((await svc(['file', 'ls'], { service, env })).code).toBe(0)
  expect(service.of('listTree').map(({ query }) => query)).toEqual([{ ref: 'greeting', path: 'src' }, { path: '' }])
  const binary = { ref: 'main', sha: sha('b'), path: 'a.png', type: 'file', blob_sha: sha('c'), size: 4, binary: true }
  await using pictures = startService({
    getFile: () => ({ ...binary, encoding: 'base64', content: 'AAECAw==', truncated: false }),
  })
  const refused = await svc(['file', 'show', 'a.png'], { service: pictures, env })
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('a.png is not a text file (4 bytes)')])
})

test('svc browsers lists browser sessions and revokes one by the start of its id', async () => {
  await using service = startService()
  expect((await svc(['browsers', 'ls'], { service })).stdout).toContain('Firefox')
  expect((await svc(['browsers', 'revoke', '5555'], { service })).code).toBe(0)
  expect(service.of('endDashboardSession')[0]!.params).toEqual({ dashboardSessionId: ids.cr })
  expect((await svc(['browsers', 'revoke', 'ffff'], { service })).code).toBe(1)
})

test('svc password shows whether a password is set and opens the page that sets it', async () => {
  await using service = startService()
  expect((await svc(['password'], { service })).stdout).toMatch(/password: +set\n/)
  expect((await svc(['password', '--web'], { service })).stdout).toBe(`${service.url}/account/profile\n`)
})
