/** A server that backs itself up. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, mkdtemp, readFile, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { browserPath, openBrowser } from './browser.ts'
import { program, removeFolder, root, run, Server, ServerProcess, until } from './harness.ts'

setDefaultTimeout(180_000)

const screens = join(root, 'dist/screens')

let server: Server
let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-scheduled-'))
  server = await Server.start({
    ...{ SVC_BACKUP_DIR: join(dir, 'backups'), SVC_BACKUP_EVERY: '6h', SVC_BACKUP_KEEP: '30' },
    ...{ SVC_BACKUP_KEY_FILE: join(dir, 'backups.key'), SVC_SANDBOX_DRIVER: 'none' },
  })
})
afterAll(async () => {
  await server?.end()
  await removeFolder(dir)
})

test('a server backs itself up, encrypted, and the doctor and the metrics show when', async () => {
  const { backups } = await until('the first backup', async () => {
    const { code, stdout } = await run([program, 'self-host', 'backups', join(dir, 'backups'), '--json'])
    if (code !== 0) return null
    const listed = JSON.parse(stdout) as { backups: { created_at: string; encrypted: boolean }[] }
    return listed.backups.length > 0 ? listed : null
  })
  expect(backups).toMatchObject([{ encrypted: true }])
  const [, seconds] = await until('the metric', async () => {
    const text = await (await server.api('/metrics', { token: null })).text()
    return /^svc_backup_last_timestamp_seconds (\S+)$/m.exec(text)
  })
  expect(Number(seconds)).toBe(Math.floor(Date.parse(backups[0]!.created_at) / 1000))
  const doctor = await run([program, 'self-host', 'doctor', '--json'], { env: server.env, cwd: server.dir })
  expect(dataFindings(doctor.stdout)).toMatchObject([
    { name: 'backups', state: 'weak', says: expect.stringContaining('is on the disk of the data') },
    { name: 'master key', state: 'good' },
    { name: 'backup key', state: 'good' },
  ])
  // The running server holds its keys in memory, and the next start fails.
  const key = server.env.SVC_MASTER_KEY_FILE!
  await rename(key, `${key}.aside`)
  const byHand = await run([program, 'self-host', 'backup', '~/by-hand'], {
    env: { ...server.env, HOME: dir },
    cwd: server.dir,
  })
  await rename(`${key}.aside`, key)
  expect([byHand.code, byHand.stderr]).toEqual([
    0,
    expect.stringContaining(`A restore of this backup needs the master key: there is none at ${key}`),
  ])
  expect((await run([program, 'self-host', 'backups', join(dir, 'by-hand')])).code).toBe(0)
  const other = await run([program, 'self-host', 'doctor'], {
    env: { ...server.env, SVC_BACKUP_KEEP: '3' },
    cwd: server.dir,
  })
  expect(other.stderr).toContain('The next svc self-host start would change settings of the running server:')
  expect(other.stderr).toContain('SVC_BACKUP_KEEP:')
})

test('a backup by another user, without the settings of the server, is encrypted for the key of the running server', async () => {
  const {
    SVC_BACKUP_DIR: _,
    SVC_BACKUP_EVERY: __,
    SVC_BACKUP_KEEP: ___,
    SVC_BACKUP_KEY_FILE: key,
    ...rest
  } = server.env
  const env: Record<string, string> = { ...rest, HOME: dir }
  delete env.SVC_MASTER_KEY_FILE
  const backUp = async (place: string, more: Record<string, string> = {}) => {
    const args = ['self-host', 'backup', join(dir, place), '--json']
    const { stdout } = await run([program, ...args], { env: { ...env, ...more }, cwd: server.dir })
    return JSON.parse(stdout) as object
  }
  expect(await backUp('by-root')).toMatchObject({ encrypted: true, key_file: key })
  expect(await backUp('plain', { SVC_BACKUP_KEY_FILE: '' })).toMatchObject({ encrypted: false, key_file: null })
  const again = await run([program, 'self-host', 'backup', join(dir, 'plain')], { env, cwd: server.dir })
  expect(again.stderr).toContain('This backup is not encrypted, although SVC_BACKUP_KEY_FILE is set')
})

test('the process of a backup ends with its server, also when that is killed', async () => {
  const input = `${JSON.stringify({ place: join(dir, 'cut'), keyFile: null, keep: null })}\n`
  const begin = () =>
    Bun.spawn([program, 'server', '--backup', '--while-stdin-is-open'], {
      ...{ env: server.env, cwd: server.dir, stdin: 'pipe', stdout: 'pipe', stderr: 'ignore' },
    })
  // The server writes one line, and its end closes the pipe.
  const left = begin()
  left.stdin.write(input)
  await left.stdin.end()
  await left.exited
  expect(left.signalCode).toBe('SIGTERM')
  const kept = begin()
  kept.stdin.write(input)
  await kept.stdin.flush()
  const report = JSON.parse(await new Response(kept.stdout).text()) as { backup_id: string }
  expect([await kept.exited, report.backup_id]).toEqual([0, expect.any(String)])
  await kept.stdin.end()
})

function dataFindings(document: string): object[] {
  const { groups } = JSON.parse(document) as { groups: { name: string; findings: object[] }[] }
  return groups.find(({ name }) => name === 'data')!.findings
}

class Restored extends ServerProcess {
  async boot(env: Record<string, string>): Promise<void> {
    if (!(await this.launch([program, 'server'], env))) throw new Error(this.output)
  }
}

test.skipIf(!browserPath)('the pages of a restored server say that it is read-only', async () => {
  const {
    SVC_BACKUP_DIR: from = '',
    SVC_BACKUP_KEY_FILE: key = '',
    SVC_BACKUP_EVERY: _,
    SVC_BACKUP_KEEP: __,
    ...rest
  } = server.env
  const env = {
    ...rest,
    HOME: dir,
    SVC_PORT: '0',
    SVC_DATA_DIR: join(dir, 'data'),
    SVC_CONFIG_FILE: join(dir, 'config'),
  }
  const done = await run([program, 'self-host', 'restore', from, '--key', key], { env, cwd: dir })
  expect([done.code, done.stdout]).toEqual([0, expect.stringContaining('✓ Restored: ')])
  const copy = new Restored(dir)
  await copy.boot(env)
  const browser = await openBrowser()
  try {
    const link = await run([program, 'self-host', 'owner-link'], { env, cwd: dir })
    const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage()
    await page.goto(link.stdout.trim())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('This server was restored and is read-only').waitFor()
    await mkdir(screens, { recursive: true })
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [1440, 900, 360]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 900 })
        await page.screenshot({ path: join(screens, `held-${colorScheme}-${width}.png`) })
      }
    await page.evaluate(await readFile(require.resolve('axe-core/axe.min.js'), 'utf8'))
    expect(await page.evaluate('axe.run().then(({ violations }) => violations.map(({ id }) => id))')).toEqual([])
    const refused = await copy.api('/v1/projects', { method: 'POST', token: server.token })
    expect([refused.status, await refused.json()]).toMatchObject([503, { held: true }])
    const doctor = await run([program, 'self-host', 'doctor', '--json'], { env, cwd: dir })
    expect(dataFindings(doctor.stdout)).toMatchObject([
      { name: 'backups' },
      { name: 'master key' },
      { name: 'held', state: 'weak' },
    ])

    const resumed = await run([program, 'self-host', 'resume'], { env, cwd: dir })
    expect([resumed.code, resumed.stdout]).toEqual([0, expect.stringContaining('✓ Resumed')])
    await until('the server to act', async () => {
      return (await copy.send<{ held: object | null }>('GET', '/v1/ready')).held === null
    })
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.reload()
    await page.getByRole('link', { name: 'Projects' }).first().waitFor()
    expect(await page.getByText('This server was restored').count()).toBe(0)
  } finally {
    await browser.close()
    await copy.kill('SIGTERM')
  }
})
