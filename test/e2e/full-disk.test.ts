/** A session whose work does not fit on the server's disk for a while. Its sandbox is a real one. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SmallDisk } from '../../packages/server/src/testing-small-disk.ts'
import { gatewayOf, git, makeFirstCommit, Server, until } from './harness.ts'

const minute = 60_000
let dir: string
let disk: SmallDisk | null = null
let server: Server | null = null
let project: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-full-'))
  disk = await SmallDisk.mount(join(dir, 'data'), '400m')
  if (disk === null) return
  const env = { SVC_DATA_DIR: disk.path, SVC_DISK_FREE_MIN: '60MiB' }
  server = await Server.start(env, [], { fromNothing: true })
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'full'])).project_id
  await makeFirstCommit(server, project)
}, 3 * minute)
afterAll(async () => {
  await server?.end()
  disk?.unmount()
  await rm(dir, { recursive: true, force: true })
}, minute)

/** A command in the sandbox that may read a line, which `go` sends. */
function terminal(session: string, command: string) {
  const path = `/v1/projects/${project}/sessions/${session}/terminal?command=${encodeURIComponent(command)}`
  const socket = new WebSocket(`${server!.url.replace('http', 'ws')}${path}`, {
    headers: { authorization: `Bearer ${server!.token}` },
  } as unknown as string[])
  socket.binaryType = 'arraybuffer'
  let text = ''
  socket.onmessage = ({ data }) => {
    if (data instanceof ArrayBuffer) text += new TextDecoder().decode(data)
  }
  return {
    shows: (pattern: RegExp) => until(`${pattern} in the terminal`, () => pattern.exec(text)?.[0] ?? null),
    go: () => socket.send(new TextEncoder().encode('go\n')),
    close: () => socket.close(),
  }
}

test(
  'a stop that a full disk refuses goes on with all of the work once there is space',
  async () => {
    if (disk === null || server === null) return
    const { session_id: id } = await server.json<{ session_id: string }>([
      ...['sessions', 'new', '--project', project, '--model', 'svc-scripted-demo', '--prompt', 'Show me'],
    ])
    const stop = () => server!.svc(['sessions', 'stop', id, '--project', project])
    const save = () =>
      fetch(`${server!.url}/v1/projects/${project}/sessions/${id}/wip`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server!.token}` },
      })
    await until('the session to run', async () => (await save()).ok)
    // More than the connection to the sandbox holds.
    const shell = terminal(id, 'echo opened; read go; head -c 3000000 /dev/urandom > big.bin; sha256sum big.bin')
    await shell.shows(/opened/)
    await disk.fill()
    await until('the server to notice', () => server!.output.includes('the disk is almost full'))
    shell.go()
    const written = await shell.shows(/[0-9a-f]{64} {2}big\.bin/)
    shell.close()
    // As every minute.
    expect((await save()).status).toBe(413)
    const isRefused = async () => {
      const { code, stderr } = await stop()
      expect([code, stderr]).toEqual([1, expect.stringContaining("The server's disk is full")])
    }
    await isRefused()
    // Room for a part of the work.
    await truncate(disk.filler, (await stat(disk.filler)).size - 1024 * 1024)
    await isRefused()
    await rm(disk.filler)
    const files = await readdir(join(disk.path, 'repositories'), { recursive: true })
    expect(files.filter((name) => /svc-scratch|tmp_/.test(name))).toEqual([])
    expect(await stop()).toMatchObject({ code: 0 })
    const clone = join(dir, 'clone')
    await git(dir, 'clone', '--quiet', gatewayOf(server, { project_id: project }), clone)
    const recovered = await server.svc(['sessions', 'recover', id, '--project', project], { cwd: clone })
    expect(recovered).toMatchObject({ code: 0 })
    const sum = new Bun.CryptoHasher('sha256').update(await Bun.file(join(clone, 'big.bin')).bytes()).digest('hex')
    expect(`${sum}  big.bin`).toBe(written)
  },
  4 * minute,
)
