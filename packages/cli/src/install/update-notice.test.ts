import { expect, test } from 'bun:test'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ids, now, type Service, startService, svc, temporaryFolder, token } from '../testing.ts'
import { isNewer } from './update-notice.ts'

const newer = () => startService({ getHealth: () => ({ status: 'ok', version: '99.0.0' }) })

/** A client whose active host is the service, with a persistent configuration folder. */
async function clientOf(service: Service, folder: string, more: Record<string, string> = {}) {
  const file = join(folder, 'config.json')
  await mkdir(folder, { recursive: true })
  const config = { active_host: 'a', hosts: { a: { url: service.url } }, tokens: { [service.url]: { token } } }
  await writeFile(file, JSON.stringify(config), { mode: 0o600 })
  const env = { SVC_CONFIG_FILE: file, SVC_PROJECT_ID: ids.project, ...more }
  return (args: string[], terminal = true) => svc(args, { env, terminal })
}

test('shows an update notice once a day, on stderr, after the output', async () => {
  await using service = newer()
  await using folder = await temporaryFolder()
  const run = await clientOf(service, folder.path)
  const first = await run(['cr', 'ls'])
  expect(first.stderr).toContain('svc 99.0.0 is available')
  expect(first.stderr).toContain('svc update')
  expect(first.stdout).not.toContain('99.0.0')
  expect((await run(['cr', 'ls'])).stderr).not.toContain('99.0.0')
  expect(service.of('getHealth')).toHaveLength(1)
  expect(service.of('getHealth')[0]!.headers.get('authorization')).toBeNull()
  const noted = join(folder.path, 'update-check.json')
  expect(JSON.parse(await readFile(noted, 'utf8'))).toEqual({ checked_at: new Date(now).toISOString() })
  await writeFile(noted, JSON.stringify({ checked_at: new Date(now - 86_400_001).toISOString() }))
  expect((await run(['cr', 'ls'])).stderr).toContain('svc 99.0.0 is available')
})

test('shows no update notice in a pipe, with --json, in CI, in a sandbox, or for svc version', async () => {
  await using service = newer()
  await using folder = await temporaryFolder()
  const run = await clientOf(service, folder.path)
  await run(['cr', 'ls'], false)
  await run(['cr', 'ls', '--json'])
  await run(['version'])
  await (
    await clientOf(service, folder.path, { CI: 'true' })
  )(['cr', 'ls'])
  await (
    await clientOf(service, folder.path, { SVC_SESSION_ID: ids.session })
  )(['cr', 'ls'])
  expect(service.of('getHealth')).toEqual([])
})

test.each([
  ['the same version', () => ({ status: 'ok', version: '0.0.1' })],
  ['another program', () => new Response('<html>')],
  ['something hostile', () => Response.json({ version: '99.0.0\x1b[2J' })],
  ['nothing yet', () => new Promise(() => {})],
])('ignores a version reply that is %s', async (_, getHealth) => {
  await using service = startService({ getHealth })
  await using folder = await temporaryFolder()
  const run = await clientOf(service, folder.path)
  const ran = await run(['cr', 'ls'])
  expect(ran.code).toBe(0)
  expect(ran.stderr).not.toContain('is available')
})

test('compares versions by their numbers', () => {
  expect(isNewer('0.10.0', '0.9.9')).toBeTrue()
  expect(isNewer('0.1.0', '0.1.0-dev')).toBeTrue()
  expect(isNewer('0.1.0', '0.1.0')).toBeFalse()
  expect(isNewer('0.1.0-dev', '0.1.0')).toBeFalse()
})
