import { expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { temporaryFolder } from '../testing.ts'
import { serverEnvironment } from './environment.ts'

test('an empty DATABASE_URL of the shell leaves the saved one, and another one replaces it', async () => {
  await using folder = await temporaryFolder()
  const config = join(folder.path, 'svc')
  await mkdir(config)
  await writeFile(join(config, 'self-host.env'), 'DATABASE_URL=postgresql://saved/svc\n')
  const urlWith = async (shell: Record<string, string>) => {
    const ctx = { io: { env: shell }, configPath: () => join(config, 'config.json') }
    return (await serverEnvironment(ctx as unknown as Context)).DATABASE_URL
  }
  expect(await urlWith({})).toBe('postgresql://saved/svc')
  expect(await urlWith({ DATABASE_URL: '' })).toBe('postgresql://saved/svc')
  expect(await urlWith({ DATABASE_URL: 'postgresql://other/svc' })).toBe('postgresql://other/svc')
})
