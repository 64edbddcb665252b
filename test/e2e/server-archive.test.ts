/** `svc-server-<platform>.tar.gz` of a release, unpacked where nothing else of the service is. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Session } from '@svc/contract'
import { freePort } from '@svc/git/testing'
import { gatewayOf, makeFirstCommit, removeFolder, root, run, ServerProcess, until } from './harness.ts'

/** Without Node.js, unless it is beside git. */
const folders = (process.env.PATH ?? '').split(':')
const path = folders.filter((folder) => !existsSync(join(folder, 'node')) || existsSync(join(folder, 'git'))).join(':')

let dir: string
let env: Record<string, string>
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-archive-'))
  for (const name of ['home', 'release', 'unpacked']) await mkdir(join(dir, name))
  env = { PATH: path, HOME: join(dir, 'home'), SVC_WARM_SANDBOXES: '0' }
  env.SVC_PORT = String(await freePort())
}, 120_000)
afterAll(async () => {
  await svc('self-host', 'stop', '--sessions')
  await removeFolder(dir)
})

const svc = (...args: string[]) => run([join(dir, 'unpacked/svc-server/bin/svc'), ...args], { env, cwd: env.HOME! })

async function document<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await svc(...args, '--json')
  if (code !== 0) throw new Error(`svc ${args.join(' ')}: ${stderr}`)
  return JSON.parse(stdout) as T
}

test('the release has an archive of the server', async () => {
  const write = `await (await import('./scripts/release.mjs')).writeServer(${JSON.stringify(join(dir, 'release'))}, { level: 1 })`
  const written = await run(['node', '--input-type=module', '-e', write], { cwd: root })
  expect([written.code, written.stderr]).toEqual([0, ''])
  expect(await readdir(join(dir, 'release'))).toEqual([`svc-server-${process.platform}-${process.arch}.tar.gz`])
}, 240_000)

test('the archive unpacked in an empty folder is a server: it starts, takes a push, and stops', async () => {
  const [name] = await readdir(join(dir, 'release'))
  const unpacked = await run(['tar', '-xzf', join(dir, 'release', name!)], { cwd: join(dir, 'unpacked') })
  expect([unpacked.code, await readdir(join(dir, 'unpacked'))]).toEqual([0, ['svc-server']])
  const started = await svc('self-host', 'start')
  const url = `http://127.0.0.1:${env.SVC_PORT}`
  expect([started.code, started.stdout, started.stderr]).toEqual([
    ...[0, expect.stringContaining(`The server is running: ${url}`), expect.any(String)],
  ])
  // It has signed in the client, also on another port than the usual one.
  expect(started.stderr).not.toContain('To sign in there')
  const server = new ServerProcess(dir)
  server.url = url
  const config = (await Bun.file(join(env.HOME!, '.config/svc/config.json')).json()) as Config
  server.token = config.tokens[url]!.token
  const { project_id } = await document<{ project_id: string }>('projects', 'create', '--name', 'unpacked')
  await makeFirstCommit(server, project_id)
  const pushed = await run(['git', 'ls-remote', gatewayOf(server, { project_id }), 'main'])
  expect(pushed.stdout).toContain('refs/heads/main')
  if (Bun.which('bwrap') !== null) await expectAgentAnswers(server, project_id)

  const stopped = await svc('self-host', 'stop', '--sessions')
  expect([stopped.code, stopped.stdout]).toEqual([0, expect.stringContaining('Stopped')])
  expect(await fetch(`${url}/v1/health`).catch(() => null)).toBeNull()
}, 240_000)

interface Config {
  tokens: Record<string, { token: string }>
}

/** The agent runtime comes with the archive. */
async function expectAgentAnswers(server: ServerProcess, project: string): Promise<void> {
  const sessions = `/v1/projects/${project}/sessions`
  const prompt = 'Do this.\n\n```svc-script\necho unpacked-$((20 + 1))\n```'
  const body = { model: 'svc-scripted-demo', initial_prompt: prompt }
  const { session_id: id } = await server.send<Session>('POST', sessions, body)
  await until('the agent to answer', async () => {
    const { status, error } = await server.send<Session>('GET', `${sessions}/${id}`)
    if (status === 'failed') throw new Error(`The session failed: ${error}`)
    return (await (await server.api(`${sessions}/${id}/transcript`)).text()).includes('unpacked-21')
  })
}
