/** A place of backups that is lost, or that belongs to another server: nothing is written there, and the operator learns of it. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cp, mkdir, mkdtemp, readdir, rename } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { document } from './document.ts'
import { program, removeFolder, run, Server, ServerProcess, until } from './harness.ts'

setDefaultTimeout(300_000)

let server: Server
let dir: string
let place: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-place-'))
  place = join(dir, 'disk/our backups')
  server = await Server.start({ SVC_BACKUP_DIR: place, SVC_BACKUP_EVERY: '1m', SVC_SANDBOX_DRIVER: 'none' })
})
afterAll(async () => {
  await server?.end()
  await removeFolder(dir)
})

const selfHost = (args: string[], env: Record<string, string> = server.env) =>
  run([program, 'self-host', ...args], { env, cwd: dir })

async function listed(): Promise<string[]> {
  const { code, stdout } = await selfHost(['backups', place, '--json'])
  if (code !== 0) return []
  return (JSON.parse(stdout) as { backups: { backup_id: string }[] }).backups.map(({ backup_id }) => backup_id)
}

interface Finding {
  name: string
  state: string
  says: string
  mend: string | null
}

function backupsIn({ groups }: { groups: { name: string; findings: Finding[] }[] }): Finding {
  return groups.find(({ name }) => name === 'data')!.findings.find(({ name }) => name === 'backups')!
}

async function metric(name: string): Promise<number | null> {
  const text = await (await server.api('/metrics', { token: null })).text()
  const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]
  return value === undefined ? null : Number(value)
}

test('a first backup needs no ceremony, and the next one comes after the time that SVC_BACKUP_EVERY says', async () => {
  const first = await until('the first backup', async () => (await listed()).at(0))
  await until('the second backup', async () => (await listed()).length > 1)
  expect(await listed()).toContain(first)
  expect(await metric('svc_backup_failed')).toBe(0)
})

test('a scheduled backup into a folder that has vanished is refused, and the doctor, the page and the metrics show it', async () => {
  await rename(join(dir, 'disk'), join(dir, 'unmounted'))
  const refusal = `${place} has no backups any more; the last one that this server knows there is`
  // The failure is recorded before the log says it.
  await until('the refusal', async () => server.output.includes(refusal) && (await metric('svc_backup_failed')) === 1)
  expect(existsSync(join(dir, 'disk'))).toBe(false)
  const finding = { name: 'backups', state: 'missing', mend: expect.stringContaining(refusal) }
  const doctor = await selfHost(['doctor', '--json'])
  expect(backupsIn(JSON.parse(doctor.stdout) as Parameters<typeof backupsIn>[0])).toMatchObject(finding)
  expect(backupsIn(await server.send('GET', '/v1/doctor'))).toMatchObject(finding)
})

test('a mount point without its disk is no place for a new backup, until the operator says so', async () => {
  await mkdir(place, { recursive: true })
  const refused = await selfHost(['backup', place])
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('Its disk may not be mounted')
  expect(refused.stderr).toContain(`svc self-host backup '${place}' --claim`)
  expect(await readdir(place)).toEqual([])
  const begun = await document<{ backups: number }>(selfHost(['backup', place, '--claim', '--json']))
  expect(begun.backups).toBe(1)
})

class Copy extends ServerProcess {
  async boot(env: Record<string, string>): Promise<void> {
    if (!(await this.launch([program, 'server'], env))) throw new Error(this.output)
  }
}

test('a restored copy that was resumed does not write to the place of its original, unless its operator claims it', async () => {
  const { SVC_BACKUP_DIR: _, SVC_BACKUP_EVERY: __, ...rest } = server.env
  const home = join(dir, 'copy')
  await cp(server.env.SVC_MASTER_KEY_FILE!, join(home, 'master.key'), { recursive: true })
  const env: Record<string, string> = { ...rest, HOME: home, SVC_PORT: '0', SVC_DATA_DIR: join(home, 'data') }
  Object.assign(env, { SVC_MASTER_KEY_FILE: join(home, 'master.key'), SVC_CONFIG_FILE: join(home, 'config.json') })
  await document(selfHost(['restore', place, '--json'], env))
  const settings = ['CONFIG_FILE', 'DATA_DIR', 'MASTER_KEY_FILE'] as const
  // Without the settings in front, it would be a backup of the original.
  const claim = `: ${settings.map((name) => `SVC_${name}=${env[`SVC_${name}`]} `).join('')}svc self-host backup '${place}' --claim`
  const resumed = await selfHost(['resume'], { ...env, SVC_BACKUP_DIR: place })
  expect(resumed.stderr + resumed.stdout).toContain(claim)
  const refused = await selfHost(['backup', place], env)
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(claim)])
  const copy = new Copy(home)
  await copy.boot({ ...env, SVC_BACKUP_DIR: place, SVC_BACKUP_EVERY: '6h' })
  try {
    const found = await until('the failed backup', async () => {
      const { stdout } = await selfHost(['doctor', '--json'], { ...env, SVC_BACKUP_DIR: place })
      const { state, says, mend } = backupsIn(JSON.parse(stdout) as Parameters<typeof backupsIn>[0])
      return mend?.includes('has the backups of') === true ? { state, says, mend } : null
    })
    expect(found.mend).toContain(`the data folder ${server.env.SVC_DATA_DIR} on `)
    const inLog = `: SVC_DATA_DIR='${env.SVC_DATA_DIR}' SVC_MASTER_KEY_FILE='${env.SVC_MASTER_KEY_FILE}' svc self-host backup '${place}' --claim`
    await until('the log', () => copy.output.includes(inLog))
    const shown = await selfHost(['doctor'], { ...env, SVC_BACKUP_DIR: place })
    expect(shown.stdout).toContain(claim)
    const before = await listed()
    await document(selfHost(['backup', place, '--claim', '--json'], env))
    expect(await listed()).toHaveLength(before.length + 1)
    await until('the original to be refused', async () => {
      const { state, says, mend } = backupsIn(await server.send('GET', '/v1/doctor'))
      const isOfCopy = says.startsWith(`${place} has the backups of another server, of the data folder ${home}`)
      return isOfCopy && state === 'missing' && mend?.includes('has the backups of')
    })
    expect(await metric('svc_backup_failed')).toBe(1)
  } finally {
    await copy.kill('SIGTERM')
  }
})

test('another installation does not count the backups of this one as its own, and cannot claim their place', async () => {
  const other = await Server.start({ SVC_BACKUP_DIR: place, SVC_BACKUP_EVERY: '6h', SVC_SANDBOX_DRIVER: 'none' })
  try {
    const says = `${place} has the backups of another installation.`
    await until('the refusal', () => other.output.includes(says))
    const claimed = await selfHost(['backup', place, '--claim'], other.env)
    expect([claimed.code, claimed.stderr]).toEqual([1, expect.stringContaining(says)])
    expect(backupsIn(await other.send('GET', '/v1/doctor'))).toMatchObject({
      state: 'missing',
      mend: expect.stringContaining(says),
    })
  } finally {
    await other.end()
  }
})
