import { afterAll, describe, expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { aChangeRequest, ids, startService, svc, temporaryFolder, token } from '../../testing.ts'
import { aTrigger } from '../../testing/trigger.ts'

const service = startService({
  listTriggers: () => ({
    triggers: [aTrigger(), aTrigger({ slug: 'triage', type: 'webhook', enabled: false, next_fire_at: null })],
    errors: [
      { path: 'triggers.2.cron', message: 'never occurs: no date matches', severity: 'error', line: 9, column: 8 },
    ],
  }),
  disableTrigger: () => ({ change_request: aChangeRequest({ number: 7 }), merged: false }),
})
afterAll(() => service[Symbol.asyncDispose]())
const env = { SVC_API_URL: service.url, SVC_CLI_TOKEN: token, SVC_PROJECT_ID: ids.project }

describe('svc triggers', () => {
  test('triggers ls shows the schedule, and errors on stderr', async () => {
    const { code, stdout, stderr } = await svc(['triggers', 'ls'], { env })
    expect(code).toBe(0)
    expect(stdout).toMatch(/nightly\s+enabled\s+0 3 \* \* \* UTC/)
    expect(stdout).toMatch(/triage\s+disabled\s+webhook/)
    expect(stderr).toContain('svc.toml:9:8  triggers.2.cron never occurs: no date matches')
  })

  test('triggers info shows the results of earlier slots', async () => {
    const { stdout } = await svc(['triggers', 'info', 'nightly'], { env })
    expect(stdout).toContain('0 3 * * * UTC')
    expect(stdout).toMatch(/cron\s+fired\s+44444444/)
  })

  test('triggers fire sends the message and prints the session', async () => {
    const { stdout } = await svc(['triggers', 'fire', 'nightly', '--message', 'Hurry'], { env })
    expect(stdout).toContain(ids.session)
    expect(service.of('fireTrigger').at(-1)).toMatchObject({ body: { message: 'Hurry' }, params: { slug: 'nightly' } })
  })

  test('triggers disable by an agent says that a user must merge the change', async () => {
    const { stdout, stderr } = await svc(['triggers', 'disable', 'nightly'], { env })
    expect(stdout).toContain('Opened #7')
    expect(stderr).toContain('svc cr merge 7')
  })
})

describe('svc manifest validate', () => {
  test('manifest validate finds svc.toml in a parent folder, prints the position of each error, and needs no server', async () => {
    await using temporary = await temporaryFolder()
    const folder = temporary.path
    await mkdir(join(folder, 'deep/er'), { recursive: true })
    await writeFile(join(folder, 'svc.toml'), '[runtime]\nmodle = "x"\n[[checks]]\nname = "a"\n')
    const { code, stdout, stderr } = await svc(['manifest', 'validate'], { cwd: join(folder, 'deep/er') })
    expect(code).toBe(1)
    expect(stdout).toContain('svc.toml:2:1  warning  runtime.modle is not known: did you mean model?')
    expect(stdout).toContain('svc.toml:3:1  error    checks.0.command is missing')
    expect(stderr).toContain('has errors')
  })

  test('manifest validate accepts warnings, reads stdin, and supports --json', async () => {
    const found = await svc(['manifest', 'validate', '-', '--json'], { stdin: 'nmae = 1\n' })
    expect(found.code).toBe(0)
    expect(found.json<object>()).toMatchObject({ valid: true, issues: [{ path: 'nmae', line: 1, column: 1 }] })
  })
})
