/** A server on a copy of the data folder, as before an upgrade, while agents of the original are at work. */
import { expect, test } from 'bun:test'
import { copyFile, mkdir, mkdtemp, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordIn } from '../../packages/sandbox/src/local/record.ts'
import { runDirOf } from '../torture/sandbox-leaks.ts'
import { makeFirstCommit, program, removeFolder, run, Server, ServerProcess, until } from './harness.ts'
import { isAlive } from './processes.ts'

class CopiedServer extends ServerProcess {
  async boot(env: Record<string, string>): Promise<void> {
    if (!(await this.launch([program, 'server'], env)))
      throw new Error(`The server on the copy ended during its start:\n${this.output}`)
  }
}

// With a long path, the sockets and sandboxes are outside the data folder, and the copy names the same folder for them.
test.each(['data', 'd'.repeat(60)])(
  'a server on a copy of %s leaves the sandboxes of the original alone, which go on after a move',
  async (name) => {
    const dir = await mkdtemp(join(tmpdir(), 'svc-cp-'))
    const dataDir = join(dir, name)
    const server = await Server.start({
      ...{ SVC_DATA_DIR: dataDir, SVC_SANDBOX_LEASE_SECONDS: '120', SVC_SANDBOX_DRIVER: 'local' },
    })
    const copy = new CopiedServer(dir)
    try {
      const { project_id: project } = await server.json<{ project_id: string }>([
        'projects',
        'create',
        '--name',
        'copied',
      ])
      await makeFirstCommit(server, project)
      const { session_id: id } = await server.json<{ session_id: string }>([
        ...['sessions', 'new', '--no-wait', '--project', project, '--model', 'svc-scripted-demo'],
      ])
      const path = `/v1/projects/${project}/sessions/${id}`
      const read = async (from: ServerProcess) =>
        (await (await from.api(path, { token: server.token })).json()) as Status
      await until('the session to run', async () => (await read(server)).status === 'running')
      const { sandbox } = await read(server)
      const record = recordIn(join(runDirOf(dataDir), 'sandboxes/run'), sandbox!.sandbox_id)
      const { pid } = (await Bun.file(record).json()) as { pid: number }

      expect(await server.kill('SIGTERM')).toBe(0)
      const copied = await run(['cp', '-a', dataDir, `${dataDir}-copy`])
      expect(copied).toMatchObject({ code: 0, stderr: '' })
      await server.boot()
      // The copy is another user's: with the records of the original, it is refused as the older one.
      const masterKey = join(dir, 'home-of-copy/master.key')
      await mkdir(join(masterKey, '..'))
      await copyFile(server.env.SVC_MASTER_KEY_FILE!, masterKey)
      await copy.boot({
        ...server.env,
        ...{ SVC_DATA_DIR: `${dataDir}-copy`, SVC_PORT: '0', SVC_ROLES: 'api' },
        ...{ SVC_CONFIG_FILE: join(dir, 'config.json'), SVC_MASTER_KEY_FILE: masterKey },
      })
      const isOver = async () => ['stopped', 'failed'].includes((await read(copy)).status)
      await until('the copy to find no sandbox of its own', isOver)
      await copy.kill('SIGTERM')

      expect([isAlive(pid), (await read(server)).status]).toEqual([true, 'running'])
      // The agent reaches its model through the socket of its own server.
      const says = async (text: string) => {
        const asked = ['```svc-script', `echo ${text}`, '```'].join('\n')
        const chat = await server.svc(['sessions', 'chat', id, '--project', project, '--prompt', asked])
        expect(chat).toMatchObject({ code: 0, stdout: expect.stringContaining(text) })
      }
      await says('still here')

      // Below a short path the sandboxes of new data folders are inside.
      expect(await server.kill('SIGTERM')).toBe(0)
      server.env.SVC_DATA_DIR = join(dir, 'moved')
      await rename(dataDir, server.env.SVC_DATA_DIR)
      await server.boot()
      expect([isAlive(pid), (await read(server)).status]).toEqual([true, 'running'])
      await says('here after the move')
    } finally {
      await copy.kill('SIGKILL')
      await server.svc(['self-host', 'stop', '--sessions'], { env: server.env })
      await server.end()
      await removeFolder(dir)
    }
  },
  400_000,
)

interface Status {
  status: string
  sandbox: { sandbox_id: string } | null
}
