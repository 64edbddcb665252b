import { describe, expect, test } from 'bun:test'
import { ids, startService, svc } from '../../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }

describe('svc cr origin', () => {
  test('prints the call and the prompt behind each line, the commit of a person, and what may be behind the rest', async () => {
    await using service = startService()
    const { code, stdout } = await svc(['cr', 'origin', '3', 'a.ts'], { service, env })
    expect(code).toBe(0)
    expect(stdout).toMatch(/a\.ts, line 3\n\s+edit a\.ts .*\n\s+for "Add a greeting\."\n/)
    expect(stdout).toMatch(/a\.ts, line 4\n\s+Ada committed it in d{10}: By hand\n/)
    expect(stdout).toMatch(
      /line 9\n\s+No tool call is known\..*\n\s+may come from a call that names this file:\n\s+bash node/,
    )
  })

  test('prints one line, and says when it is not changed', async () => {
    await using service = startService()
    const one = await svc(['cr', 'origin', '3', 'a.ts:4', '--json'], { service, env })
    expect(one.json<{ lines: { start: number }[] }>().lines.map(({ start }) => start)).toEqual([4])
    const none = await svc(['cr', 'origin', '3', 'a.ts:5'], { service, env })
    expect(none.stdout).toBe('')
    expect(none.stderr).toContain('Line 5 is not changed.')
  })
})
