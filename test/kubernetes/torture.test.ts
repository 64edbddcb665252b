/** A short run of `npm run torture -- fleet --sandboxes kubernetes`. Without a cluster it is skipped and counted. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { root, run } from '../e2e/harness.ts'

setDefaultTimeout(900_000)

/** It makes a cluster of its own. */
const isSkipped = process.env['SVC_TEST_KUBERNETES'] !== '1' || process.env['SVC_TEST_KUBECONFIG'] !== undefined
const harms = ['pod deleted', 'API server killed', 'server restarted without the cluster', 'server lost']

test.skipIf(isSkipped)(
  'three servers lose nothing while pods, the API server and its links end, and nothing is left in the cluster',
  async () => {
    const flags = ['--sandboxes', 'kubernetes', '--rounds', '5', '--seed', '3', '--brief', '--only', harms.join(',')]
    const ran = await run([process.execPath, join(root, 'test/torture/fleet.ts'), ...flags])
    expect(ran.stdout + ran.stderr).toContain('\n0 problems')
    expect(ran.code).toBe(0)
    for (const harm of harms) expect(ran.stdout).toContain(` ${harm}: `)
  },
)
