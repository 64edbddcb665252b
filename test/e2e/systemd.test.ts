/**
 * The units of `svc self-host unit` in a real systemd: a restart of the service, or its crash, interrupts no agent. First the
 * one of a user, then the one of the system, which the systemd of the test has the rights for.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Session } from '@svc/contract'
import { freePort } from '@svc/git/testing'
import { makeFirstCommit, program, removeFolder, root, run, ServerProcess, until } from './harness.ts'

setDefaultTimeout(300_000)

const systemd = '/lib/systemd/systemd'
const namespaces = ['--pid', '--mount', '--cgroup', '--fork', '--kill-child']
const canRun = existsSync(systemd) && spawnSync('unshare', [...namespaces, 'true']).status === 0
if (!canRun) console.log('The unit for systemd is not tested: that needs systemd and the right to make namespaces.')

/** A systemd of a user, in namespaces of its own. It only has the units of the test, so it starts nothing else. */
const boot = `
  mount --make-rprivate / && mount -t proc proc /proc && mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system
  ${systemd} --user --unit=boot.target
`

let home: string
let units: string
let env: Record<string, string>
let manager: ChildProcess
let server: ServerProcess
beforeAll(async () => {
  if (!canRun) return
  home = await mkdtemp(join(tmpdir(), 'svc-systemd-'))
  units = join(home, '.config/systemd/user')
  await mkdir(join(units, 'svc.service.d'), { recursive: true })
  await mkdir(join(home, 'runtime'), { mode: 0o700 })
  env = {
    ...{ PATH: process.env.PATH ?? '', HOME: home, XDG_RUNTIME_DIR: join(home, 'runtime') },
    ...{ SYSTEMD_UNIT_PATH: units, SYSTEMD_LOG_TARGET: 'null' },
  }
  const port = await freePort()
  await svc('self-host', 'env', 'set', `SVC_PORT=${port}`, 'SVC_WARM_SANDBOXES=0', 'SVC_SANDBOX_LEASE_SECONDS=60')
  await Bun.write(join(units, 'svc.service'), await svc('self-host', 'unit'))
  const log = `StandardOutput=append:${join(home, 'server.log')}\nStandardError=inherit\n`
  // Only the first process of a machine may change the user of a service.
  const user = 'User=\n'
  await Bun.write(join(units, 'svc.service.d/test.conf'), `[Service]\n${user}Environment="PATH=${env.PATH}"\n${log}`)
  for (const name of ['boot', 'basic', 'shutdown'])
    await Bun.write(join(units, `${name}.target`), '[Unit]\nDefaultDependencies=no\n')
  manager = spawn('unshare', [...namespaces, 'sh', '-c', boot], { env, cwd: home, stdio: 'ignore' })
  await until(
    'systemd to answer',
    async () => (await inside('systemctl', '--user', 'is-active', 'boot.target')).code === 0,
  )
  server = new ServerProcess(home)
  server.url = `http://127.0.0.1:${port}`
})
afterAll(async () => {
  if (!canRun) return
  manager.kill('SIGKILL')
  await removeFolder(home)
})

async function svc(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run([program, ...args], { env, cwd: home })
  if (code !== 0) throw new Error(`svc ${args.join(' ')}: ${stderr}`)
  return stdout
}

/** A command in the namespaces of systemd. */
async function inside(...command: string[]) {
  const children = await readFile(`/proc/${manager.pid}/task/${manager.pid}/children`, 'utf8')
  return run(['nsenter', `--target=${children.trim()}`, '--pid', '--mount', '--cgroup', ...command], { env, cwd: home })
}

async function systemctl(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await inside('systemctl', '--user', ...args)
  if (code !== 0) throw new Error(`systemctl ${args.join(' ')}: ${stderr}`)
  return stdout.trim()
}

const mainPid = () => systemctl('show', '--property=MainPID', '--value', 'svc')

/** Waits for the server of the service, which is another process than `before`. */
async function ready(before = '0'): Promise<string> {
  await until('the service to be ready', async () => {
    const answer = await fetch(`${server.url}/v1/ready`).catch(() => null)
    return answer?.ok === true && (await mainPid()) !== before
  })
  return mainPid()
}

test.skipIf(!canRun)(
  'a restart and a crash of the service interrupt no agent, an upgrade is left to systemd, and --sessions ends all',
  async () => {
    await systemctl('start', 'svc')
    const first = await ready()
    const config = JSON.parse(await readFile(join(home, '.config/svc/config.json'), 'utf8')) as {
      tokens: Record<string, { token: string }>
    }
    server.token = config.tokens[server.url]!.token
    const { project_id: project } = JSON.parse(await svc('projects', 'create', '--name', 'unit', '--json')) as {
      project_id: string
    }
    await makeFirstCommit(server, project)
    const sessions = `/v1/projects/${project}/sessions`
    const { session_id: id } = await server.send<Session>('POST', sessions, { model: 'svc-scripted-demo' })
    const session = () => server.send<Session>('GET', `${sessions}/${id}`)
    await until('the session to run', async () => (await session()).status === 'running')
    const { sandbox } = await session()

    await Bun.write(join(units, 'svc.service'), await svc('self-host', 'unit', '--system'))
    await systemctl('daemon-reload')
    await systemctl('restart', 'svc')
    const second = await ready(first)
    await answers('after-restart')
    const mounts = (await inside('cat', `/proc/${second}/mountinfo`)).stdout
    expect(mounts).toMatch(/ \/usr ro,/)
    await startsAnother()

    const upgraded = join(home, 'upgraded')
    await mkdir(join(upgraded, 'dist'), { recursive: true })
    await copyFile(program, join(upgraded, 'dist/svc'))
    await symlink(join(root, 'node_modules'), join(upgraded, 'node_modules'))
    const refused = await inside(join(upgraded, 'dist/svc'), 'self-host', 'upgrade', '--yes')
    expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('systemd runs the server (svc.service')])
    expect(await mainPid()).toBe(second)

    await inside('kill', '-KILL', second)
    await ready(second)
    await answers('after-crash')

    await systemctl('stop', 'svc')
    const ended = await inside(program, 'self-host', 'stop', '--sessions')
    expect([ended.code, ended.stderr]).toEqual([0, expect.stringContaining('Ended 1 session.')])

    /** A sandbox starts under the protection of the service of the system, too. */
    async function startsAnother(): Promise<void> {
      const { session_id: other } = await server.send<Session>('POST', sessions, { model: 'svc-scripted-demo' })
      await until('another session to run', async () => {
        const { status, error } = await server.send<Session>('GET', `${sessions}/${other}`)
        if (status === 'failed') throw new Error(`The session failed: ${error}`)
        return status === 'running'
      })
      await server.send('POST', `${sessions}/${other}/stop`)
    }

    async function answers(mark: string): Promise<void> {
      const text = `Do this.\n\n\`\`\`svc-script\necho ${mark}-$((20 + 1))\n\`\`\``
      await until('the prompt to be taken', async () => {
        const { status } = await server.api(`${sessions}/${id}/prompt`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ text }),
        })
        return status === 202
      })
      await until(`the agent to say ${mark}`, async () =>
        (await (await server.api(`${sessions}/${id}/transcript`)).text()).includes(`${mark}-21`),
      )
      expect(await session()).toMatchObject({ status: 'running', error: null, sandbox })
    }
  },
)
