import { expect, test } from 'bun:test'
import { anAuditRow, ids, startService, svc } from '../testing.ts'

test('svc audit shows who changed what, where and from which address', async () => {
  await using service = startService()
  expect((await svc(['audit'], { service })).stdout).toBe(
    `${anAuditRow().at}\tada@example.com\tchange_request.merge\tchange_request ${ids.cr}\t127.0.0.1\n`,
  )
  const filtered = ['--action', 'project', '--project', ids.project, '--member', 'Bo', '--limit', '5', '--json']
  expect((await svc(['audit', ...filtered], { service })).code).toBe(0)
  expect(service.of('listAudit')[1]?.query).toEqual({
    action: 'project',
    project_id: ids.project,
    actor_user_id: ids.token,
    limit: '5',
  })
})

test('svc audit follows pages up to the limit', async () => {
  await using service = startService({
    listAudit: ({ query }) =>
      Response.json(
        Array.from({ length: Number(query.limit) }, () => anAuditRow()),
        { headers: { link: '</v1/x?cursor=next>; rel="next"' } },
      ),
  })
  const ran = await svc(['audit', '--limit', '2500', '--json'], { service })
  expect(ran.json<unknown[]>()).toHaveLength(2500)
  expect(service.of('listAudit').map(({ query }) => [query.limit, query.cursor])).toEqual([
    ['1000', undefined],
    ['1000', 'next'],
    ['500', 'next'],
  ] as never)
  expect((await svc(['audit', '--limit', '0'], { service })).code).toBe(2)
})

test('svc audit names a person who left the account', async () => {
  const left = { actor_user_id: ids.sandbox, actor_name: 'cleo@example.com' }
  await using service = startService({ listAudit: () => [anAuditRow(left)] })
  expect((await svc(['audit'], { service })).stdout).toContain('\tcleo@example.com\t')
})

test("svc audit attributes an agent's change to the agent", async () => {
  await using service = startService({ listAudit: () => [anAuditRow({ actor_kind: 'agent', address: null })] })
  expect((await svc(['audit'], { service })).stdout).toContain('ada@example.com (agent)')
})
