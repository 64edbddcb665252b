/** A merge and a changed secret reach a session that runs: real sandbox, real agent runtime, a scripted model. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { git, makeFirstCommit, Server, until } from './harness.ts'

let server: Server
let project: string
beforeAll(async () => {
  server = await Server.start()
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'refreshed'])).project_id
  await makeFirstCommit(server, project)
}, 120_000)
afterAll(() => server.end())

interface Session {
  session_id: string
  status: string
  error: string | null
  sandbox_url: string
  sandbox: { generation: number } | null
  refresh: { status: string; cause: string; applied: string[]; needs_restart: string[]; error: string | null } | null
}
interface Transcript {
  messages: { role: string; parts: { type: string; status?: string; output?: string; text?: string }[] }[]
}

const ask = async <T>(path: string): Promise<T> => (await server.api(path)).json() as Promise<T>
const scripted = (...lines: string[]) => ['Do this.', '', '```svc-script', ...lines, '```'].join('\n')

test('a refresh applies merged agents and secrets, and keeps the conversation and uncommitted work', async () => {
  const base = `/v1/projects/${project}/sessions`
  const { session_id: id } = await server.json<Session>([
    ...['sessions', 'new', '--no-wait', '--model', 'svc-scripted-demo', '--project', project],
    ...['--prompt', scripted('echo draft > draft.txt; echo first turn')],
  ])
  const session = () => ask<Session>(`${base}/${id}`)
  const outputs = async () => {
    const { messages } = await ask<Transcript>(`${base}/${id}/transcript`)
    const tools = messages
      .flatMap(({ parts }) => parts)
      .filter(({ type, status }) => type === 'tool' && status === 'completed')
    return tools.map(({ output = '' }) => output.replace(/\s*\[exit 0\]\s*$/, ''))
  }
  const agentRuns = async (command: string) => {
    const before = (await outputs()).length
    const args = ['sessions', 'chat', id, '--prompt', scripted(command), '--project', project]
    expect((await server.svc(args)).code).toBe(0)
    return until('the command to end', async () => (await outputs())[before] ?? null)
  }
  await until('the first turn', async () => (await outputs()).includes('first turn'))

  const clone = join(server.dir, 'outside')
  const url = new URL(`${server.url}/v1/projects/${project}/git`)
  url.username = 'x-access-token'
  url.password = server.token
  await git(server.dir, 'clone', '--quiet', url.href, clone)
  await mkdir(join(clone, '.svc/runtime/agents'), { recursive: true })
  await Bun.write(
    join(clone, '.svc/runtime/agents/late.md'),
    '---\ndescription: late\nmode: primary\n---\nYou came later.\n',
  )
  await Bun.write(join(clone, 'svc.toml'), '[sandbox]\negress = ["late.example.com"]\ncpu = 1\n')
  await git(clone, 'checkout', '--quiet', '-b', 'late')
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', 'Late')
  await git(clone, 'push', '--quiet', 'origin', 'late')
  const open = ['cr', 'open', '--title', 'Late', '--head', 'late', '--project', project]
  const { number } = await server.json<{ number: number }>(open)
  expect((await server.svc(['cr', 'merge', String(number), '--project', project])).code).toBe(0)

  const refreshed = await until('the merge to reach the session', async () => {
    const now = await session()
    return now.refresh === null || now.refresh.status === 'waiting' ? null : now
  })
  expect(refreshed).toMatchObject({ status: 'running', sandbox: { generation: 1 } })
  expect(refreshed.refresh).toEqual(
    expect.objectContaining({
      ...{ status: 'done', cause: 'default_branch', error: null },
      ...{ applied: ['agents', 'sandbox.egress'], needs_restart: ['sandbox.cpu'] },
    }),
  )
  const agents = await ask<{ name: string }[]>(`${new URL(refreshed.sandbox_url).pathname}/agent`)
  expect(agents.map(({ name }) => name)).toContain('late')

  expect((await server.svc(['secrets', 'set', 'LATE_SECRET=one-value-of-it', '--project', project])).code).toBe(0)
  const names = 'cat draft.txt; echo "$SVC_PROJECT_SECRET_NAMES"; printf %s "${LATE_SECRET-gone}" | wc -c'
  await until('the secret to be in the sandbox', async () =>
    (await agentRuns(names)) === 'draft\nLATE_SECRET\n15' ? true : null,
  )
  // One conversation, from before the refresh to after it.
  expect((await outputs())[0]).toBe('first turn')

  expect((await server.svc(['secrets', 'unset', 'LATE_SECRET', '--project', project])).code).toBe(0)
  await until('the secret to be gone', async () => ((await agentRuns(names)) === 'draft\n\n4' ? true : null))

  // A program that the agent left running outlives the restart of the runtime.
  await agentRuns('sleep 4711 > /dev/null 2>&1 & echo started')
  const asked = await server.svc(['sessions', 'refresh', id, '--project', project])
  expect([asked.code, asked.stdout]).toEqual([0, expect.stringContaining('Needs a restart: sandbox.cpu')])
  expect(await agentRuns('cat draft.txt')).toBe('draft')
  expect(await agentRuns('cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -c "sleep 471[1]"')).toBe('1')
  expect((await session()).refresh).toMatchObject({ status: 'done', cause: 'request', needs_restart: ['sandbox.cpu'] })
}, 300_000)
