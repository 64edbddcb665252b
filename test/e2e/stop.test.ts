/** How a server stops: within ten seconds, with nothing of it left, and with `--sessions` also after its stop. */
import { expect, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { withDeadline } from '../../packages/server/src/deadline.ts'
import { runDirOf } from '../torture/sandbox-leaks.ts'
import { git, makeFirstCommit, Server, until } from './harness.ts'
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

test('stop --sessions of a stopped server saves what agents did since, and says that it ended them', async () => {
  const server = await Server.start({ SVC_SANDBOX_LEASE_SECONDS: '120' })
  const runDir = runDirOf(join(server.dir, 'data'))
  // A run folder outside the data folder names the data folder.
  const left = () => readdirSync(runDir).filter((name) => name !== 'data-folder')
  try {
    const { project_id: project } = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'stop'])
    await makeFirstCommit(server, project)
    // Ends by itself once the server is away.
    const whileServed = 'while curl -s -m 3 -o /dev/null http://127.0.0.1:61080/v1/health; do sleep 0.2; done'
    const { session_id: id } = await server.json<{ session_id: string }>([
      ...['sessions', 'new', '--no-wait', '--project', project, '--model', 'svc-scripted-demo'],
      ...[
        '--prompt',
        ['```svc-script', `touch /tmp/begun; ${whileServed}; echo since > since.txt; touch /tmp/written`, '```'].join(
          '\n',
        ),
      ],
    ])
    const info = () => server.json<Info>(['sessions', 'info', id, '--project', project])
    await until('the session to run', async () => (await info()).session.status === 'running')
    const record = readdirSync(join(runDir, 'sandboxes/run')).find((name) => name.endsWith('.json')) ?? ''
    const { pid } = (await Bun.file(join(runDir, 'sandboxes/run', record)).json()) as { pid: number }
    await until('the agent to work', () => existsSync(`/proc/${pid}/root/tmp/begun`))
    expect(await server.kill('SIGTERM')).toBe(0)
    // Its folder is mounted in the sandbox, and the next server makes the socket again.
    expect(readdirSync(join(runDir, 'relay'))).toEqual([])
    await until('the agent to write', () => existsSync(`/proc/${pid}/root/tmp/written`))
    const stopped = await server.svc(['self-host', 'stop', '--sessions'], { env: server.env })
    expect([stopped.code, stopped.stderr]).toEqual([0, expect.stringContaining('Ended 1 session.')])
    expect(stopped.stderr).toContain('The unfinished work of sessions is saved')
    expect(stopped.stderr).toContain('svc sessions restart <session>')
    // Its entry goes when the first process of the machine has asked for it.
    await until('its sandbox to end', () => !isAlive(pid))
    expect(left()).toEqual([])
    await server.boot()
    const { session, unfinished_work: work } = await until('the session to be stopped', async () => {
      const found = await info()
      return found.session.status === 'stopped' && found
    })
    expect(session.error).toContain('It was stopped by `svc self-host stop --sessions`.')
    expect(work.paths).toEqual(['since.txt'])
    expect(await server.kill('SIGTERM')).toBe(0)
    expect(left()).toEqual([])
  } finally {
    await server.svc(['self-host', 'stop', '--sessions'], { env: server.env })
    await server.end()
  }
}, 240_000)

test('stop --sessions ends nothing while work cannot be saved, of a server that runs and of one that has stopped', async () => {
  const server = await Server.start({ SVC_SANDBOX_LEASE_SECONDS: '120' })
  try {
    const { project_id: project } = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'keep'])
    await makeFirstCommit(server, project)
    const { session_id: id } = await server.json<{ session_id: string }>([
      ...['sessions', 'new', '--no-wait', '--project', project, '--model', 'svc-scripted-demo'],
      ...['--prompt', ['```svc-script', 'echo mine > mine.txt', '```'].join('\n')],
    ])
    const info = () => server.json<Info>(['sessions', 'info', id, '--project', project])
    const saved = async () => (await info()).unfinished_work.paths
    const repository = join(server.dir, 'data/repositories', `${project}.git`)
    // git allows no ref below the name of another one, so that git cannot store the work.
    const inTheWay = `refs/svc/wip/${id}/in-the-way`
    await git(repository, 'update-ref', inTheWay, await git(repository, 'rev-parse', 'HEAD'))
    await until('the agent to have written', async () => {
      const { stdout } = await server.svc(['sessions', 'files', id, '--project', project])
      return stdout.includes('mine.txt')
    })
    const stop = (...more: string[]) => server.svc(['self-host', 'stop', '--sessions', ...more], { env: server.env })
    const running = await stop()
    expect([running.code, running.stderr]).toEqual([1, expect.stringContaining(`session ${id.slice(0, 8)}`)])
    expect(running.stderr).toContain('Nothing was stopped, because the newest work of 1 session cannot be saved.')
    expect(running.stderr).toContain('svc self-host stop --sessions --discard')
    const daemons = below(server.pid, 'svc-agent')
    for (const pid of daemons) process.kill(pid, 'SIGSTOP')
    expect((await stop()).stderr).toContain('Its sandbox does not answer.')
    for (const pid of daemons) process.kill(pid, 'SIGCONT')
    expect((await info()).session.status).toBe('running')
    expect(await server.kill('SIGTERM')).toBe(0)
    const stopped = await stop()
    expect([stopped.code, stopped.stderr]).toEqual([1, expect.stringContaining(`session ${id.slice(0, 8)}`)])
    expect(stopped.stderr).toContain('No session, app or check was ended')
    await git(repository, 'update-ref', '-d', inTheWay)
    await server.boot()
    expect((await info()).session.status).toBe('running')
    expect((await stop()).code).toBe(0)
    await server.exited
    await server.boot()
    await until('the session to be stopped', async () => (await info()).session.status === 'stopped')
    expect(await saved()).toEqual(['mine.txt'])
  } finally {
    await server.svc(['self-host', 'stop', '--sessions', '--discard'], { env: server.env })
    await server.end()
  }
}, 240_000)

interface Info {
  session: { status: string; error: string | null }
  unfinished_work: { paths: string[] }
}
