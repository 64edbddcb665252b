/** A server whose data folder is not at its path any more ends, and writes nothing into what is there. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '../db/embedded/data.ts'
import { until } from '../testing-until.ts'
import { fillWithServer } from './testing-move.ts'
import { bootServer } from './testing-server.ts'

setDefaultTimeout(300_000)

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-watch-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const at = (...path: string[]) => join(dir, ...path)

async function boot(dataDir: string, token: string) {
  const server = await bootServer({ dir, databaseUrl: '', token, env: { SVC_DATA_DIR: dataDir } }, () => {})
  if (server.url === null) throw new Error(await server.errors())
  return { ...server, url: server.url }
}

async function finds({ token, projectId }: { token: string; projectId: string }, dataDir: string): Promise<boolean> {
  const { child, url } = await boot(dataDir, token)
  const { status } = await fetch(`${url}/v1/projects/${projectId}`, { headers: { authorization: `Bearer ${token}` } })
  child.kill('SIGTERM')
  await child.exited
  return status === 200
}

test('a server whose data folder was moved ends by itself, and starts again where it is', async () => {
  const filled = await fillWithServer('', dir)
  const { child, errors } = await boot(at('data'), filled.token)
  await rename(at('data'), at('moved'))
  await child.exited
  expect(child.signalCode).toBe('SIGKILL')
  expect(await errors()).toContain(`The data folder ${at('data')} of this server is gone: `)
  expect(await finds(filled, at('moved'))).toBe(true)
})

/** False, with a line that says so, where this user cannot mount. */
function mount(): boolean {
  const { exitCode } = Bun.spawnSync(['mount', '--bind', at('real'), at('disk')])
  if (exitCode !== 0) console.log('not run: this user cannot mount a folder')
  return exitCode === 0
}

const unmount = () => Bun.spawnSync(['umount', '--lazy', at('disk')])

test.each([null, 'SIGTERM', 'SIGKILL'] as const)(
  'a disk that is mounted over the folder of a running server is not written when that ends by %s',
  async (signal) => {
    for (const name of ['real', 'disk']) await mkdir(at(name))
    if (!mount()) return
    const data = at('disk/svc')
    try {
      const filled = await fillWithServer('', dir, { SVC_DATA_DIR: data })
      unmount()
      // The operator says that it is lost.
      await rm(at('data-folders'), { recursive: true })
      const stray = await boot(data, filled.token)
      const marks = () => readFile(join(data, 'start-marks'), 'utf8')
      // Its job has renewed the mark, so the next one is that of its end.
      await until('its second mark', async () => /\n.*\d\n/.test(await marks()))
      const postgres = Number((await readFile(join(data, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0])
      const files = ['start-marks', 'server.lock', 'postgres/global/pg_control']
      const read = () => Promise.all(files.map((file) => readFile(at('real/svc', file), 'base64')))
      const before = await read()
      mount()
      if (signal !== null) stray.child.kill(signal)
      await stray.child.exited
      await until('its PostgreSQL to end', () => !isAlive(postgres))
      expect(await read()).toEqual(before)
      if (signal !== 'SIGKILL') {
        expect(stray.child.signalCode).toBe('SIGKILL')
        expect(await stray.errors()).toContain('is gone: another folder is in its place, as after a mount')
      }
      // The server that was begun anew ran last at this path, so the operator chooses.
      await expect(finds(filled, data)).rejects.toThrow('is another one than that in which a server last ran')
      await rm(at('data-folders'), { recursive: true })
      expect(await finds(filled, data)).toBe(true)
    } finally {
      unmount()
    }
  },
)
