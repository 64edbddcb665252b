import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isClientAlone } from './require-server.ts'

let home = ''
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'svc-installed-'))
  await mkdir(join(home, 'bin'))
})
afterAll(() => rm(home, { recursive: true, force: true }))

test('the program that install.sh wrote is a client, and one beside its database and runtime is a server', async () => {
  const program = join(home, 'bin/svc')
  expect(isClientAlone(program, [])).toBe(false)
  await writeFile(join(home, 'install.json'), '{}')
  expect(isClientAlone(program, [])).toBe(true)
  // With an agent runtime of the machine and a PostgreSQL of its operator, it can be a server.
  expect(isClientAlone(program, [process.execPath])).toBe(false)
  await mkdir(join(home, 'node_modules'))
  expect(isClientAlone(program, [])).toBe(false)
})
