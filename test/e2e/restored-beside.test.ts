/** A restored copy beside its running original, by the commands that the client prints, pasted into a shell. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, mkdtemp, readFile, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@svc/git/testing'
import { program, removeFolder, run } from './harness.ts'

setDefaultTimeout(400_000)

let dir: string
let copy: string
let env: Record<string, string>
let port: number
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-beside-'))
  copy = join(dir, 'the copy')
  port = await freePort()
  await mkdir(join(dir, 'bin'))
  await symlink(program, join(dir, 'bin/svc'))
  env = { PATH: `${join(dir, 'bin')}:${process.env.PATH ?? ''}`, HOME: dir, SVC_SANDBOX_DRIVER: 'none' }
})
afterAll(async () => {
  await paste(`SVC_DATA_DIR='${copy}' svc self-host stop`)
  await paste('svc self-host stop')
  await removeFolder(dir)
})

/** As a person types or pastes it. */
const paste = (command: string) => run(['bash', '-c', command], { env, cwd: dir })

async function works(command: string): Promise<{ stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await paste(command)
  expect([command, code, stderr]).toEqual([command, 0, expect.any(String)])
  return { stdout, stderr }
}

/** The printed command that ends in these words, with all that is before it. */
function printed(text: string, words: string): string {
  const [, command] =
    new RegExp(`(?:^|: | · |, then )((?:[A-Z_]+=(?:'[^']*'|\\S*) )*svc ${words})(?: ·|,|$)`, 'm').exec(text) ?? []
  if (command === undefined) throw new Error(`No "svc ${words}" in:\n${text}`)
  return command
}

const statusOf = async (command: string) =>
  JSON.parse((await works(`${command} --json`)).stdout) as {
    running: boolean
    server: { url: string; pid: number; data_dir: string } | null
  }

async function hostOfClient(): Promise<string> {
  const who = JSON.parse((await works('svc whoami --json')).stdout) as { host: string; url: string }
  return `${who.host} ${who.url}`
}

const answers = async (url: string) => (await fetch(`${url}/v1/ready`)).json() as Promise<{ held: object | null }>

test('a copy restored beside its running original is found by the printed commands and takes nothing over', async () => {
  await works(`svc self-host env set SVC_PORT=${port} SVC_PUBLIC_URL=http://localhost:${port}`)
  await works('svc self-host start')
  await works('svc projects create --name kept')
  const original = await statusOf('svc self-host status')
  const client = await hostOfClient()
  expect(client).toBe(`selfhost http://localhost:${port}`)
  const config = () => readFile(join(dir, '.config/svc/config.json'), 'utf8')
  const before = await config()
  await works('svc self-host backup backups')

  const restored = await works(`SVC_DATA_DIR='${copy}' svc self-host restore backups`)
  await works(printed(restored.stderr, 'self-host check'))
  const start = printed(restored.stderr, 'self-host start')
  // The original has the port of the settings.
  expect(start).toMatch(/SVC_PORT=\d+ SVC_PUBLIC_URL= /)
  expect(restored.stderr).toContain('The saved settings in ')
  const started = await works(`SVC_BACKUP_DIR='${join(dir, 'backups')}' ${start}`)
  expect(started.stderr).toContain('it answers reads only, and nothing acts')
  // Each print of a command is the same one.
  expect(printed(started.stderr, 'self-host start')).toBe(start)
  const resume = printed(restored.stderr, 'self-host resume')
  expect(printed(started.stderr, 'self-host resume')).toBe(resume)
  await works(printed(started.stderr, 'self-host check'))
  const ownerLink = printed(started.stderr, 'self-host owner-link')
  expect((await works(ownerLink)).stdout).toMatch(/\/sign-in#/)

  // Both run, and each command means one of them.
  const beside = await statusOf(`SVC_DATA_DIR='${copy}' svc self-host status`)
  expect([beside.server!.data_dir, beside.server!.url === original.server!.url]).toEqual([copy, false])
  expect((await answers(beside.server!.url)).held).not.toBeNull()
  expect((await answers(original.server!.url)).held).toBeNull()
  expect((await statusOf('svc self-host status')).server!.pid).toBe(original.server!.pid)
  const doctor = await paste(`SVC_DATA_DIR='${copy}' svc self-host doctor`)
  expect(doctor.stdout).toContain('! backups: this server makes none while it is held')
  expect(printed(doctor.stdout, 'self-host resume')).toBe(`SVC_DATA_DIR='${copy}' svc self-host resume`)
  const status = await works(`SVC_DATA_DIR='${copy}' svc self-host status`)
  expect(status.stdout).toMatch(/held: +restored from a backup of \S+: it answers reads only, and nothing acts\n/)
  expect(printed(status.stderr, 'self-host resume')).toBe(`SVC_DATA_DIR='${copy}' svc self-host resume`)
  expect((await works('svc self-host status')).stdout).not.toContain('held')
  // They share the file of the master key, which the original needs.
  const keyFile = join(dir, '.config/svc/master.key')
  const key = await readFile(keyFile, 'utf8')
  const rotated = await paste(`SVC_DATA_DIR='${copy}' svc self-host rotate-key`)
  expect([rotated.code, rotated.stderr]).toEqual([1, expect.stringContaining('This server is held after a restore')])
  expect(rotated.stderr).toContain('svc self-host resume')
  expect(await readFile(keyFile, 'utf8')).toBe(key)

  expect(await config()).toBe(before)
  // The client signs in to the copy to look around, and out again.
  await works(`${ownerLink} | svc login --host copy --link -`)
  expect((await works('svc projects ls --host copy')).stdout).toContain('kept')
  await works('svc self-host storage --host copy')
  const refused = await paste('svc projects create --name refused --host copy')
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('svc self-host resume')])
  await works('svc logout --host copy --revoke')
  await works('svc hosts use selfhost')
  await works('svc hosts rm copy --yes')
  const signedOut = await config()

  // A second start changes nothing.
  await works(start)
  expect([await hostOfClient(), await config()]).toEqual([client, signedOut])
  await works('svc projects create --name later')

  const stop = printed(started.stderr, 'self-host stop')
  await works(stop)
  expect((await statusOf(`SVC_DATA_DIR='${copy}' svc self-host status`)).running).toBe(false)
  expect((await statusOf('svc self-host status')).running).toBe(true)

  // The original is turned off, and the copy takes its place.
  await works(start)
  await works('svc self-host stop')
  const lifted = await works(resume)
  expect(printed(lifted.stderr, 'self-host start')).toBe(start)
  const resumed = await works(start)
  expect(resumed.stdout).toContain('already running')
  expect(resumed.stderr).toContain('svc login --host selfhost')
  const after = JSON.parse(await config()) as {
    hosts: Record<string, { url: string }>
    tokens: Record<string, { token: string }>
  }
  expect(after.hosts.selfhost!.url).toBe(beside.server!.url)
  expect((await answers(beside.server!.url)).held).toBeNull()
  // What the original did after the backup is not there.
  const authorization = `Bearer ${after.tokens[original.server!.url]!.token}`
  const listed = await fetch(`${beside.server!.url}/v1/projects`, { headers: { authorization } })
  const text = await listed.text()
  expect([text.includes('kept'), text.includes('later')]).toEqual([true, false])

  // The original is to start again some day, and finds the key of the copy.
  const changed = await works(`SVC_DATA_DIR='${copy}' svc self-host rotate-key`)
  expect(changed.stderr).toContain(`A server on ${original.server!.data_dir} used a master key in the same folder.`)
  const [, kept] = /copy (\S+) to a file of another name/.exec(changed.stderr) ?? []
  expect(await readFile(kept!, 'utf8')).toBe(key)
  await works(`cp ${kept} ${join(dir, 'original.key')}`)
  await works(stop)
  await works(`SVC_MASTER_KEY_FILE=${join(dir, 'original.key')} svc self-host start`)
})
