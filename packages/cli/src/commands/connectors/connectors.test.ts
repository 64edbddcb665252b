import { describe, expect, test } from 'bun:test'
import { ids, startService, svc, token } from '../../testing.ts'
import { aConnector, anApproval } from '../../testing/connector.ts'

const on = (service: ReturnType<typeof startService>) => ({
  env: { SVC_API_URL: service.url, SVC_CLI_TOKEN: token, SVC_PROJECT_ID: ids.project },
})

describe('svc connectors', () => {
  test('connectors ls and show print the state, the tools, and why there are none', async () => {
    const gone = aConnector({ slug: 'gone', status: 'failed', error: 'Nothing listens at its address.', tools: [] })
    await using service = startService({
      listConnectors: () => ({
        ...{ connectors: [aConnector(), gone], errors: [], provider: 'mcp', gateway_url: 'x', approvals_pending: 2 },
      }),
    })
    const ls = await svc(['connectors', 'ls'], on(service))
    expect(ls.code).toBe(0)
    expect(ls.stdout).toContain('tracker\tmcp\tready\t2\tallow reads, ask for the rest')
    expect(ls.stdout).toContain('gone\tmcp\tfailed\t0')
    expect(ls.stdout).toContain('Nothing listens at its address.')
    expect(ls.stderr).toContain('svc connectors approvals')
    const show = await svc(['connector', 'info', 'tracker'], on(service))
    expect(show.stdout).toContain('TRACKER_TOKEN, as bearer')
    expect(show.stdout).toContain('search\tallow\treads\tSearch')
    expect(show.stdout).toContain('ok\t120')
  })

  test('connectors policy sets and removes the policy of one tool or of all', async () => {
    await using service = startService()
    expect((await svc(['connectors', 'policy', 'tracker', 'block'], on(service))).code).toBe(0)
    expect((await svc(['connectors', 'policy', 'tracker', 'default', '--tool', 'create'], on(service))).code).toBe(0)
    expect(service.of('setConnectorPolicy').map(({ body }) => body)).toEqual([
      { policy: 'block' },
      { tools: { create: null } },
    ])
    const wrong = await svc(['connectors', 'policy', 'tracker', 'perhaps'], on(service))
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain('allow, ask, block, default')
  })

  test('connectors approvals lists calls, and approve and deny find one by the start of its id', async () => {
    await using service = startService()
    const listed = await svc(['connectors', 'approvals'], on(service))
    expect(listed.stdout).toContain('88888888\tpending\ttracker/create\t44444444')
    expect(listed.stdout).toContain('{"title":"A bug"}')
    const approved = await svc(['connectors', 'approve', '8888', '--always'], on(service))
    expect(approved.stdout).toContain('tracker/create is approved')
    expect((await svc(['connectors', 'deny', anApproval().approval_id], on(service))).code).toBe(0)
    expect(service.of('decideConnectorApproval').map(({ body }) => body)).toEqual([
      { decision: 'approve', always: true },
      { decision: 'deny', always: false },
    ])
    const none = await svc(['connectors', 'approve', '7777'], on(service))
    expect(none.code).toBe(1)
    expect(none.stderr).toContain('No waiting call matches "7777"')
  })

  test('connectors check prints the result', async () => {
    await using service = startService({
      checkConnector: () =>
        aConnector({ status: 'failed', error: 'It refused the credential.', hint: 'svc secrets set' }),
    })
    const { code, stdout, stderr } = await svc(['connectors', 'check', 'tracker'], on(service))
    expect([code, stdout]).toEqual([0, '✗ tracker: It refused the credential.\n'])
    expect(stderr).toContain('svc secrets set')
  })
})
