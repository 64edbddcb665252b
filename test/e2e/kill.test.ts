/** A server that is killed in the middle: its data is there again, and nothing of it stays behind. */
import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { makeFirstCommit, run, Server, until } from './harness.ts'

const minute = 60_000

interface Process {
  pid: number
  parent: number
  command: string
  /** Checks this process only: another process can get the same id soon when many start and end. */
  key: string
}

/** Every process whose environment or command names the server's own folder, or that descends from one that did. */
function processes(): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        const [state, parent] = fields
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
        return state === 'Z'
          ? []
          : [{ pid: Number(name), parent: Number(parent), command, key: `${name} since ${fields[19]}` }]
      } catch {
        // Gone while we looked.
        return []
      }
    })
}

function descendantsOf(pid: number): Process[] {
  const all = processes()
  const found = all.filter((process) => process.parent === pid)
  for (const process of found) found.push(...all.filter((other) => other.parent === process.pid))
  return found
}

test(
  'kill -9 during a session loses no data and leaves no process, and the session says why it stopped',
  async () => {
    const server = await Server.start()
    try {
      const made = await server.json<{ project_id: string }>(['projects', 'create', '--name', 'kill'])
      const project = made.project_id
      await makeFirstCommit(server, project)

      const session = await server.json<{ session_id: string }>([
        'sessions',
        'new',
        '--no-wait',
        '--project',
        project,
        '--model',
        'svc-scripted-demo',
      ])
      const read = async () =>
        (await (await server.api(`/v1/projects/${project}/sessions/${session.session_id}`)).json()) as {
          status: string
          error: string | null
        }
      await until('the session to run', async () => (await read()).status === 'running')

      const before = descendantsOf(server.pid)
      expect(before.some((process) => process.command.includes('postgres'))).toBe(true)
      expect(
        before.some((process) => process.command.includes('bwrap') || process.command.includes('svc-entrypoint')),
      ).toBe(true)
      expect(before.some((process) => process.command.includes('opencode'))).toBe(true)
      await server.kill('SIGKILL')
      const keys = new Set(before.map(({ key }) => key))
      await until('every process of it to end', async () => processes().every(({ key }) => !keys.has(key)), 60_000)

      await server.boot()
      const after = await until(
        'the session to be settled',
        async () => {
          const now = await read()
          return now.status === 'stopped' && now
        },
        60_000,
      )
      expect(after.error).toContain('stopped')
      expect((await server.json<{ project_id: string }[]>(['projects', 'ls'])).map((row) => row.project_id)).toEqual([
        project,
      ])

      const restarted = await server.svc(['sessions', 'restart', session.session_id, '--project', project])
      expect(restarted.code).toBe(0)
      await until('the session to run again', async () => (await read()).status === 'running')
      const last = descendantsOf(server.pid)
      expect(await server.kill('SIGTERM')).toBe(0)
      const lastKeys = new Set(last.map(({ key }) => key))
      expect(processes().filter(({ key }) => lastKeys.has(key))).toEqual([])
      const mounts = await run(['sh', '-c', `grep -c ${server.dir} /proc/mounts || true`])
      expect(mounts.stdout.trim()).toBe('0')
    } finally {
      await server.end()
    }
  },
  4 * minute,
)
