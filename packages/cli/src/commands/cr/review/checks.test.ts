import { describe, expect, test } from 'bun:test'
import { aCheck, theChecks } from '../../../testing/check.ts'
import { ids, startService, svc } from '../../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }
const failed = theChecks({
  state: 'failed',
  checks: [aCheck(), aCheck({ name: 'lint', status: 'failed', exit_code: 1, reason: 'It ended with exit code 1.' })],
})
const running = theChecks({ state: 'running', checks: [aCheck({ status: 'running', ended_at: null })] })

describe('svc cr checks', () => {
  test('cr checks shows each result and exits with 1 when a check failed', async () => {
    await using service = startService({ getChecks: () => failed })
    const { code, stdout, stderr } = await svc(['cr', 'checks', '3'], { service, env })
    expect(code).toBe(1)
    expect(stdout).toContain('failed: lint')
    expect(stdout).toContain('unit\tpassed\t30.0 s\tnpm test')
    expect(stdout).toContain('lint\tfailed')
    expect(stderr).toContain('svc cr checks 3 --log')
    const { code: ofOne } = await svc(['cr', 'checks', '3', 'unit'], { service, env })
    expect(ofOne).toBe(0)
    expect((await svc(['cr', 'checks', '3', '--json'], { service, env })).json()).toEqual(failed)
  })

  test('cr checks waits, reruns and prints logs', async () => {
    let looks = 0
    await using service = startService({ getChecks: () => (++looks < 3 ? running : theChecks()) })
    const { code, stdout } = await svc(['cr', 'checks', '3', 'unit', '--rerun', '--wait', '--log'], { service, env })
    expect([code, looks]).toEqual([0, 3])
    expect(stdout).toContain('12 tests passed')
    expect(service.of('rerunChecks').map(({ body }) => body)).toEqual([{ name: 'unit' }])
  })

  test('cr checks says why no checks ran', async () => {
    const reason = 'It conflicts with its base.'
    await using service = startService({ getChecks: () => theChecks({ state: 'not_run', reason, checks: [] }) })
    const { code, stdout } = await svc(['cr', 'checks', '3'], { service, env })
    expect([code, stdout]).toEqual([0, `Checks  not run: ${reason}\n`])
    const { code: unknown } = await svc(['cr', 'checks', '3', '--lines', 'x'], { service, env })
    expect(unknown).toBe(2)
  })
})

describe('svc cr merge', () => {
  test('cr merge warns about failed or running checks and merges', async () => {
    await using service = startService({ getChecks: () => failed })
    const { code, stderr } = await svc(['cr', 'merge', '3'], { service, env })
    expect(code).toBe(0)
    expect(stderr).toContain('Checks failed: lint')
    expect(service.of('mergeChangeRequest')).toHaveLength(1)
  })

  test('cr merge prints nothing about checks that passed', async () => {
    await using service = startService()
    const { stderr } = await svc(['cr', 'merge', '3'], { service, env })
    expect(stderr).not.toContain('Checks')
  })
})
