/** SIGTERM is answered within its ten seconds, also when a sandbox does not answer any more. */
import { expect, test } from 'bun:test'
import { withDeadline } from '../../packages/server/src/deadline.ts'
import { makeFirstCommit, Server, until } from './harness.ts'
import { below, isAlive } from './processes.ts'

test('a sandbox that does not respond does not delay the end of its server', async () => {
  const server = await Server.start()
  try {
    const { project_id: project } = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'stop'])
    await makeFirstCommit(server, project)
    const { session_id: id } = await server.json<{ session_id: string }>([
      ...['sessions', 'new', '--no-wait', '--project', project, '--model', 'svc-scripted-demo'],
    ])
    const path = `/v1/projects/${project}/sessions/${id}`
    const read = async () => (await (await server.api(path)).json()) as { status: string }
    await until('the session to run', async () => (await read()).status === 'running')
    const daemons = below(server.pid, 'svc-agent')
    expect(daemons.length).toBeGreaterThan(0)
    for (const pid of daemons) process.kill(pid, 'SIGSTOP')
    const stream = await server.api(`${path}/events`)
    expect(stream.status).toBe(200)
    process.kill(server.pid, 'SIGTERM')
    const hasExited = await withDeadline(
      server.exited.then(() => true),
      10_000,
      () => false,
    )
    expect([hasExited, server.output]).toEqual([true, expect.stringContaining('stopping')])
    await until('its sandbox to end', () => daemons.every((pid) => !isAlive(pid)))
  } finally {
    await server.end()
  }
}, 240_000)
