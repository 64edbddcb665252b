/** A cleanup removes the folder of the server's socket, which real sandboxes have mounted. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { runDirOf } from '../torture/sandbox-leaks.ts'
import { makeFirstCommit, Server, until } from './harness.ts'

setDefaultTimeout(240_000)

interface Info {
  session: {
    status: string
    is_busy: boolean
    error: string | null
    sandbox: { generation: number } | null
    sandbox_ended: string | null
    last_turn_error: { code: string; message: string } | null
  }
  unfinished_work: { paths: string[] }
}

let server: Server
let project: string
beforeAll(async () => {
  server = await Server.start({ SVC_WARM_SANDBOXES: '1' })
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'cut'])).project_id
  await makeFirstCommit(server, project)
})
afterAll(() => server?.end())

const script = (...lines: string[]) => ['Do this.', '', '```svc-script', ...lines, '```'].join('\n')
const of = (...args: string[]) => [...args, '--project', project]
const begin = (...lines: string[]) =>
  of('sessions', 'new', '--model', 'svc-scripted-demo', '--prompt', script(...lines))
const info = (id: string) => server.json<Info>(of('sessions', 'info', id))

test('no session starts in a sandbox that is cut off, and those that run start again with their work', async () => {
  const { session_id: id } = await server.json<{ session_id: string }>(begin('echo kept > work.txt'))
  await until('its work to be saved', async () => (await info(id)).unfinished_work.paths.includes('work.txt'))
  await until('a warm sandbox to wait', () => server.output.includes('a warm sandbox is ready'))
  const path = `/v1/projects/${project}/sessions/${id}`
  await server.send('POST', `${path}/prompt`, { text: script('sleep 600') })
  await until('the agent to work', async () => (await info(id)).session.is_busy)

  await rm(join(runDirOf(join(server.dir, 'data')), 'relay'), { recursive: true })
  await until('the server to see it', () => server.output.includes('listens there again'))
  const next = await server.svc(begin('echo of-the-next'))
  expect([next.code, next.stderr]).toEqual([0, expect.any(String)])

  const reason = expect.stringContaining("the folder of the server's socket was removed")
  const { session } = await until('the session to run again', async () => {
    const found = await info(id)
    return found.session.status === 'running' && found.session.sandbox?.generation === 2 && found
  })
  expect(session).toMatchObject({ sandbox_ended: reason, last_turn_error: { code: 'sandbox_ended', message: reason } })
  const went = await server.svc(of('sessions', 'chat', id, '--prompt', script('cat work.txt')))
  expect(went.stdout).toContain('kept')
})
