/** A short run of `npm run torture -- fleet`, in a network of its own: a few of its harms, the same ones for the same seed. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { run } from '../e2e/harness.ts'

const harms = ['server killed', 'daemon killed', 'two servers cut', 'PostgreSQL paused']

test('three servers lose nothing while a server dies, packets are dropped and PostgreSQL pauses', async () => {
  const flags = ['--rounds', '5', '--seed', '7', '--brief', '--only', harms.join(',')]
  const ran = await run([process.execPath, join(import.meta.dir, 'fleet.ts'), ...flags])
  expect(ran.stdout + ran.stderr).toContain('\n0 problems')
  expect(ran.code).toBe(0)
  for (const harm of harms) expect(ran.stdout).toContain(` ${harm}: `)
}, 300_000)
