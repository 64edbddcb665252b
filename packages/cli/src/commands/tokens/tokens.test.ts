import { expect, test } from 'bun:test'
import { aToken, ids, now, startService, svc, token } from '../../testing.ts'

test('tokens create prints only the token to stdout', async () => {
  await using service = startService()
  const ran = await svc(['tokens', 'create', '--name', 'ci', '--project', ids.project], { service })
  expect(ran.stdout).toBe(`${token}\n`)
  expect(ran.stderr).not.toContain(token)
  expect(service.of('mintProjectToken')[0]).toMatchObject({ params: { projectId: ids.project }, body: { name: 'ci' } })
  await svc(['tokens', 'create', '--name', 'laptop', '--expires', '12h'], { service })
  expect(service.of('mintUserToken')[0]?.body).toEqual({
    name: 'laptop',
    expires_at: new Date(now + 12 * 3_600_000).toISOString(),
  })
})

test.each(['yesterday', '2020-01-01', '0d', '-1d', ''])('tokens create refuses --expires %p', async (expires) => {
  await using service = startService()
  const ran = await svc(['tokens', 'create', '--name', 'x', `--expires=${expires}`], { service })
  expect([ran.code, service.received]).toEqual([2, []])
})

test('tokens ls marks the token in use, and revoke asks before revoking it', async () => {
  await using service = startService({
    listUserTokens: () => [aToken({ token_id: ids.token, name: 'this' }), aToken()],
  })
  expect((await svc(['tokens', 'ls'], { service })).stdout).toMatch(/^\*\t77777777/)
  const own = await svc(['tokens', 'revoke', 'this'], { service })
  expect(own.code).toBe(2)
  expect(own.stderr).toContain('svc tokens revoke this --yes')
  expect((await svc(['tokens', 'revoke', 'this', '--yes'], { service })).code).toBe(0)
  expect((await svc(['tokens', 'revoke', ids.cr.slice(0, 6)], { service })).code).toBe(0)
  expect(service.of('revokeUserToken').map(({ params }) => params.tokenId)).toEqual([ids.token, ids.cr])
})

test('tokens ls of a project names whose each token is, and who is no member', async () => {
  const of = (name: string, is_member: boolean) => ({
    ...aToken({ name: `ci of ${name}`, project_id: ids.project }),
    ...{ created_by: ids.user, created_by_name: name, is_member },
  })
  await using service = startService({ listProjectTokens: () => [of('Ada', true), of('Carl', false)] })
  const { stdout } = await svc(['tokens', 'ls', '--project', ids.project], { service })
  expect(
    stdout.split('\n').map((line) => line.split('\t').filter((_, column) => column === 2 || column === 7)),
  ).toEqual([['ci of Ada', 'Ada'], ['ci of Carl', 'Carl (no member)'], []])
})

test('tokens revoke refuses an argument that matches no token or several', async () => {
  await using service = startService({ listUserTokens: () => [aToken(), aToken({ token_id: ids.token })] })
  expect((await svc(['tokens', 'revoke', 'laptop'], { service })).stderr).toContain('2 tokens match')
  expect((await svc(['tokens', 'revoke', ids.sandbox], { service })).stderr).toContain('revoked already')
})
