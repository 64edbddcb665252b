import { expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { readStatus } from './pod-status.ts'

const versions: [string, Record<string, string>][] = [
  ['2', { 'memory.events': 'low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n' }],
  ['1', { 'memory/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n' }],
]

test.each(versions)('reads control groups of version %s', async (_, files) => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-groups-'))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  expect(readStatus(folder)).toEqual({ memoryKills: 2 })
  await rm(folder, { recursive: true, force: true })
})

test('without control groups nothing is known', () => {
  expect(readStatus('/nonexistent')).toEqual({ memoryKills: 0 })
})
