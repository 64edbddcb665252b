import { expect, test } from 'bun:test'
import { ServiceError } from '@svc/contract/errors'
import { aMember, ids, startService, svc } from '../../testing.ts'

test('members add prints only the sign-in link to stdout', async () => {
  await using service = startService()
  const ran = await svc(['members', 'add', 'cy@example.com', '--role', 'viewer'], { service })
  expect(ran.stdout).toBe('http://127.0.0.1:8420/sign-in#abc\n')
  expect(ran.stderr).toContain('Invited cy@example.com as viewer')
  expect(service.of('addMember')[0]).toMatchObject({
    params: { accountId: ids.account },
    body: { email: 'cy@example.com', role: 'viewer' },
  })
})

test('members add with a token prints no link and says where to create one', async () => {
  await using service = startService({
    addMember: () => ({ member: aMember(), invitation_id: ids.sandbox, sign_in: null }),
  })
  const ran = await svc(['members', 'add', 'ada@example.com'], { service })
  expect([ran.code, ran.stdout]).toEqual([0, ''])
  expect(ran.stderr).toContain(`on the Members page: ${service.url}/account/members\n`)
})

test.each([
  [['role', 'bo@example.com', 'admin'], 'changeRole'],
  [['role', 'Bo', 'admin'], 'changeRole'],
  [['role', ids.token, 'admin'], 'changeRole'],
  [['rm', 'BO@example.com', '--yes'], 'removeMember'],
])('svc members %p finds the member', async (args, name) => {
  await using service = startService()
  expect((await svc(['members', ...args], { service })).code).toBe(0)
  expect(service.of(name)[0]?.params).toEqual({ accountId: ids.account, userId: ids.token })
})

test('members refuses an ambiguous name and suggests to add an unknown one', async () => {
  await using service = startService({
    listMembers: () => [aMember(), aMember({ user_id: ids.token, email: 'other@example.com' })],
  })
  expect((await svc(['members', 'rm', 'Ada', '--yes'], { service })).stderr).toContain('2 members match "Ada"')
  expect((await svc(['members', 'role', 'cy@x.org', 'admin'], { service })).stderr).toContain(
    'svc members add cy@x.org',
  )
})

test('members exits with 2 for wrong usage', async () => {
  expect(await svc(['members', 'add', 'nobody'])).toMatchObject({ code: 2 })
  const role = await svc(['members', 'role', 'ada@example.com', 'admni'])
  expect(role.code).toBe(2)
  expect(role.stderr).toContain('svc members role ada@example.com admin')
  await using service = startService()
  const rm = await svc(['members', 'rm', 'bo@example.com'], { service })
  expect(rm.code).toBe(2)
  expect(rm.stderr).toContain('svc members rm bo@example.com --yes')
  expect(service.of('removeMember')).toEqual([])
})

test("members finds an account by its id or by a name of the caller's accounts", async () => {
  await using service = startService({
    listMembers: () => {
      throw new ServiceError('forbidden', 'You are not a member of this account.')
    },
  })
  const byId = await svc(['members', 'ls', '--account', ids.sandbox], { service })
  expect([byId.code, service.of('listMembers')[0]?.params.accountId]).toEqual([1, ids.sandbox])
  expect((await svc(['members', 'ls', '--account', 'Hoem'], { service })).stderr).toContain(`Home (${ids.account})`)
})

test('members ls shows pending invitations to owners and admins', async () => {
  const invitation = { invitation_id: ids.sandbox, email: 'cy@example.com', name: 'Cy', role: 'viewer' as const }
  const made = { ...invitation, created_at: '2026-03-07T10:00:00.000Z', expires_at: '2026-03-14T10:00:00.000Z' }
  await using service = startService({
    listInvitations: () => ({ invitations: [{ ...made, invited_by: null, has_link: false }] }),
  })
  const { stdout } = await svc(['members', 'ls'], { service })
  expect(stdout.split('\n').find((line) => line.includes('cy@example.com'))).toContain('invited')
  await using other = startService({
    listInvitations: () => {
      throw new ServiceError('forbidden', 'Your role here is member.')
    },
  })
  const seen = await svc(['members', 'ls'], { service: other })
  expect([seen.code, seen.stdout.includes('member')]).toEqual([0, true])
})
