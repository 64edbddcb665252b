/** A scaffolded project works: shipped as it is, its agent, its skill and its tool are those of a real session. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { git, Server, until } from './harness.ts'

let server: Server
beforeAll(async () => {
  server = await Server.start()
}, 120_000)
afterAll(() => server.end())

interface Session {
  session_id: string
  status: string
  error: string | null
  agent_name: string
  sandbox_url: string | null
}

test('svc <name>, a commit and svc ship lead to a session', async () => {
  expect((await server.svc(['my-app', '--yes'])).code).toBe(0)
  const folder = join(server.dir, 'my-app')
  await git(folder, 'add', '--all')
  await git(folder, 'commit', '--quiet', '-m', 'First commit')
  const shipped = await server.svc(['ship'], { cwd: folder })
  expect([shipped.code, shipped.stdout]).toEqual([0, expect.stringContaining('Shipped main')])
  // The link is not a part of the project.
  expect(await git(folder, 'status', '--porcelain')).toBe('')

  const { session_id } = await server.json<Session>(['sessions', 'new', '--no-wait', '--model', 'svc-scripted-demo'], {
    cwd: folder,
  })
  const session = await until('the session to run', async () => {
    const { session } = await server.json<{ session: Session }>(['sessions', 'info', session_id], { cwd: folder })
    if (session.status === 'failed') throw new Error(`The session failed: ${session.error}`)
    return session.status === 'running' ? session : null
  })
  expect(session.agent_name).toBe('build')
  const runtime = async (path: string) => {
    const reply = await server.api(`${new URL(session.sandbox_url!).pathname}${path}`)
    expect([path, reply.status]).toEqual([path, 200])
    return JSON.stringify(await reply.json())
  }
  expect(await runtime('/agent')).toContain('The default agent of this project.')
  expect(await runtime('/skill')).toContain('How to deliver work on this project.')
  expect(await runtime('/experimental/tool/ids')).toContain('open-changes')
}, 180_000)

test('svc ship merges the commits of a shallow clone, which a new project refuses', async () => {
  const folder = join(server.dir, 'my-app')
  await git(folder, 'commit', '--quiet', '--allow-empty', '-m', 'Second commit')
  expect((await server.svc(['ship'], { cwd: folder })).code).toBe(0)
  await git(server.dir, 'clone', '--quiet', '--depth=1', `file://${folder}`, 'shallow')
  const cwd = join(server.dir, 'shallow')
  const refused = await server.svc(['ship'], { cwd })
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('git fetch --unshallow')])
  await git(cwd, 'commit', '--quiet', '--allow-empty', '-m', 'Third commit')
  const shipped = await server.svc(['ship', '--project', 'my-app'], { cwd })
  expect({ code: shipped.code, stdout: shipped.stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining('fast-forwarded'),
  })
}, 60_000)
