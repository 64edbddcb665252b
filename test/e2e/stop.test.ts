/** SIGTERM is answered within its ten seconds, also when a sandbox does not answer any more. */
import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { withDeadline } from '../../packages/server/src/deadline.ts'
import { makeFirstCommit, Server, until } from './harness.ts'

/** The processes below `pid` whose command contains `text`. */
function below(pid: number, text: string): number[] {
  const found: number[] = []
  const parents = [pid]
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  for (const parent of parents)
    for (const name of all) {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        if (stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] !== String(parent)) continue
        parents.push(Number(name))
        if (readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(text)) found.push(Number(name))
      } catch {
        hasEnded()
      }
    }
  return found
}

function hasEnded(): void {}

test('a sandbox that does not answer keeps no server from ending in time', async () => {
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

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
