import { describe, expect, test } from 'bun:test'
import { aChangeRequest, ids, sha, startService, svc } from '../../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }

describe('svc cr verify', () => {
  const merged = () => ({ change_requests: [aChangeRequest({ status: 'merged' })] })

  test('cr verify exits with 0 when the repeated merge is the same', async () => {
    await using service = startService({ listChangeRequests: merged })
    const { code, stdout, stderr } = await svc(['cr', 'verify', '3'], { service, env })
    expect(code).toBe(0)
    expect(stdout).toContain('Verified #3 Add a greeting')
    expect(stdout).toContain(sha('c'))
    expect(stderr).not.toContain('error')
  })

  test('cr verify exits with 1 and prints both results when they differ', async () => {
    const found = {
      verified: false,
      kind: 'merge-commit',
      expected: { tree: sha('d'), commit: sha('c') },
      got: { tree: sha('d'), commit: sha('e') },
      git_version: '2.39.5',
      reason: 'Repeating it gives the same content in a different commit.',
    }
    await using service = startService({ listChangeRequests: merged, verifyChangeRequest: () => found })
    const asText = await svc(['cr', 'verify', '3'], { service, env })
    expect(asText.code).toBe(1)
    expect(asText.stdout).toContain(sha('e'))
    expect(asText.stderr).toContain('could not be verified')
    expect(asText.stderr).toContain('same content in a different commit')
    const asJson = await svc(['cr', 'verify', '3', '--json'], { service, env })
    expect(asJson.code).toBe(1)
    expect(asJson.json<object>()).toEqual(found)
    expect(asJson.problem()).toMatchObject({ code: 'not_verified' })
  })
})
