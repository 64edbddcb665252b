import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { aDeploy, anApp } from '../../testing/app.ts'
import { ids, startService, svc, token } from '../../testing.ts'

let deploys = [aDeploy()]
const service = startService({
  listApps: () => ({
    apps: [
      anApp(),
      anApp({
        ...{ slug: 'api', state: 'failed', live: null, url: 'http://api--app.localhost:8420' },
        reason: 'The build ended with exit code 3.',
      }),
    ],
    errors: [{ path: 'apps.2.command', message: 'is missing', severity: 'error', line: 9, column: 1 }],
    provider: 'local',
  }),
  getApp: () => anApp({ deploys }),
  readAppLogs: ({ query }) =>
    query.follow === '1'
      ? following()
      : {
          deploy: aDeploy(),
          lines: [{ at: '2026-11-21T11:00:01.000Z', stream: 'build', text: 'built \u001b[31mred' }],
          truncated: true,
        },
})
function following(): Response {
  const line = { at: '2026-11-21T11:00:01.000Z', stream: 'run', text: 'listening' }
  const events = [
    `event: deploy\ndata: ${JSON.stringify(aDeploy())}\n\n`,
    `id: x.1\nevent: line\ndata: ${JSON.stringify(line)}\n\n`,
  ]
  return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } })
}
afterAll(() => service[Symbol.asyncDispose]())
beforeEach(() => (deploys = [aDeploy()]))
const env = { SVC_API_URL: service.url, SVC_CLI_TOKEN: token, SVC_PROJECT_ID: ids.project }

describe('svc apps', () => {
  test('apps ls shows state, commit and URL, and errors on stderr', async () => {
    const { code, stdout, stderr } = await svc(['apps', 'ls'], { env })
    expect(code).toBe(0)
    expect(stdout).toMatch(/site\s+running\s+c{12}\s.*http:\/\/site--app\.localhost:8420/)
    expect(stdout).toMatch(/api\s+failed\s+none\s.*The build ended with exit code 3\./)
    expect(stderr).toContain('svc.toml:9:1  apps.2.command is missing')
  })

  test('apps show lists the deploys with hash and commit', async () => {
    const { stdout } = await svc(['apps', 'show', 'site'], { env })
    expect(stdout).toContain('http://site--app.localhost:8420')
    expect(stdout).toMatch(/#2\s+running\s+c{12}\s+b{12}\s+default branch/)
  })

  test('apps deploy prints the queued deploy; --wait waits for its end and exits with 1 if it failed', async () => {
    const asked = await svc(['apps', 'deploy', 'site'], { env })
    expect(asked.stdout).toContain('Deploy #3 of site at cccccccccccc is queued')
    expect(service.of('deployApp').at(-1)?.headers.get('idempotency-key')).toBeString()
    const waited = await svc(['apps', 'deploy', 'site', '--wait'], { env })
    expect(waited).toMatchObject({ code: 0, stdout: expect.stringContaining('serves at http://site--app') })
    deploys = [aDeploy({ number: 3, status: 'failed', ended_at: '2026-11-21T11:00:01.000Z', error: 'No such file.' })]
    const failed = await svc(['apps', 'deploy', 'site', '--wait'], { env })
    expect(failed.code).toBe(1)
    expect(failed.stderr).toContain('Deploy #3 failed: No such file.')
    expect(failed.stderr).toContain('Deploy #2 keeps serving.')
  })

  test('apps rollback accepts a deploy number or nothing else', async () => {
    await svc(['apps', 'rollback', 'site', '--to', '#1'], { env })
    expect(service.of('rollbackApp').at(-1)?.body).toEqual({ deploy: 1 })
    await svc(['apps', 'rollback', 'site'], { env })
    expect(service.of('rollbackApp').at(-1)?.body).toEqual({})
    expect(await svc(['apps', 'rollback', 'site', '--to', 'yesterday'], { env })).toMatchObject({ code: 2 })
  })

  test('apps logs prints lines without terminal control characters', async () => {
    const { stdout, stderr } = await svc(['apps', 'logs', 'site'], { env })
    expect(stdout).toContain('11:00:01 build built ')
    expect(stdout).not.toContain('\u001b[31mred')
    expect(stderr).toContain('earlier lines are omitted')
  })

  test('apps logs --follow continues, and with --json each event is a line', async () => {
    const { stdout } = await svc(['apps', 'logs', 'site', '--follow'], { env })
    expect(stdout).toContain('11:00:01 run   listening')
    const lines = (await svc(['apps', 'logs', 'site', '--follow', '--json'], { env })).stdout.trim().split('\n')
    expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual(['deploy', 'line'])
  })

  test('apps open prints the URL', async () => {
    expect((await svc(['apps', 'open', 'site'], { env })).stdout).toContain('svc_ticket=ticket')
  })
})
