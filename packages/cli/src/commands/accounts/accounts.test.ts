import { expect, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ids, startService, svc, aProject } from '../../testing.ts'

const home = { account_id: ids.account, slug: 'home-11111111', name: 'Home', plan: 'selfhost', role: 'owner' } as const
const labs = { account_id: ids.token, slug: 'labs-22222222', name: 'Labs', plan: 'team', role: 'admin' } as const

test('svc accounts use sets the account that later commands use', async () => {
  await using service = startService({
    listAccounts: () => ({ accounts: [home, labs] }),
    createProject: () => aProject({ account_id: labs.account_id }),
  })
  const folder = await mkdtemp(join(tmpdir(), 'svc-cli-'))
  const env = { SVC_CONFIG_FILE: join(folder, 'config.json') }
  expect((await svc(['accounts', 'ls'], { service, env })).stdout).toMatch(/\*\s+Home[^]*\n\s+Labs/)
  const used = await svc(['accounts', 'use', 'Labs'], { service, env })
  expect([used.code, used.stdout]).toEqual([0, '✓ Using Labs\n'])
  expect(JSON.parse(await readFile(env.SVC_CONFIG_FILE, 'utf8'))).toMatchObject({
    accounts: { [new URL(service.url).origin]: labs.account_id },
  })
  expect((await svc(['accounts', 'ls'], { service, env })).stdout).toMatch(/Home[^]*\n\*\s+Labs/)
  expect((await svc(['whoami'], { service, env })).stdout).toMatch(/account:\s+Labs/)
  await svc(['members', 'ls'], { service, env })
  expect(service.of('listMembers').at(-1)?.params).toEqual({ accountId: labs.account_id })
  await svc(['members', 'ls', '--account', 'Home'], { service, env })
  expect(service.of('listMembers').at(-1)?.params).toEqual({ accountId: ids.account })
  await svc(['projects', 'create', '--name', 'app'], { service, env })
  expect(service.of('createProject').at(-1)?.body).toMatchObject({ account_id: labs.account_id })
  await rm(folder, { recursive: true })
})

test('svc accounts creates and edits an account', async () => {
  await using service = startService({ createAccount: () => labs, updateAccount: () => ({ ...labs, plan: 'pro' }) })
  const made = await svc(['accounts', 'create', 'Labs', '--plan', 'team'], { service })
  expect([made.code, service.of('createAccount')[0]?.body]).toEqual([0, { name: 'Labs', plan: 'team' }])
  expect(made.stderr).toContain(`svc accounts use ${labs.account_id}`)
  const edited = await svc(['accounts', 'edit', labs.account_id, '--plan', 'pro'], { service })
  expect(edited.stdout).toContain('Labs has the plan pro')
  expect((await svc(['accounts', 'edit'], { service })).code).toBe(2)
})

test("an unknown account name is refused with a list of the caller's accounts", async () => {
  await using service = startService({ listAccounts: () => ({ accounts: [home] }) })
  const ran = await svc(['accounts', 'use', 'Lab'], { service })
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining(`Your accounts: Home (${ids.account})`)])
})
