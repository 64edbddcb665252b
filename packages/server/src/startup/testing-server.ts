/** Servers in processes of their own, with failpoints, on one data folder and a PostgreSQL of their operator. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeToken } from '@svc/contract'
import { migrate } from '../db/migrate.ts'
import { createTestDatabase } from '../db/testing-cluster.ts'
import { programOf } from './testing-program.ts'

export interface BootedServer {
  child: Bun.Subprocess
  /** Null when the server ended before it was ready. */
  url: string | null
  errors(): Promise<string>
}

interface TestServers {
  dir: string
  databaseUrl: string
  token: string
  /** Resolves when the server is ready, or when it has ended. */
  boot(): Promise<BootedServer>
  close(): Promise<void>
}

export async function makeTestServers(): Promise<TestServers> {
  const database = await createTestDatabase({ name: 'server', prepare: migrate })
  const dir = await mkdtemp(join(tmpdir(), 'svc-servers-'))
  const token = makeToken((count) => randomBytes(count))
  const started: Bun.Subprocess[] = []
  return {
    dir,
    databaseUrl: database.url,
    token,
    boot: () => bootServer({ dir, databaseUrl: database.url, token }, (child) => started.push(child)),
    async close() {
      for (const child of started) child.kill('SIGKILL')
      await Promise.all(started.map((child) => child.exited))
      await database.drop()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** `env` replaces settings, such as the data folder of one server among several. */
export async function bootServer(
  place: { dir: string; databaseUrl: string; token: string; env?: Record<string, string>; hasSandboxes?: boolean },
  started: (child: Bun.Subprocess) => void,
): Promise<BootedServer> {
  const kind = place.hasSandboxes === true ? 'fake-sandboxes' : 'server'
  const child = Bun.spawn([...(await programOf('test-server')), kind], {
    stdout: 'pipe',
    stderr: 'pipe',
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      DATABASE_URL: place.databaseUrl,
      SVC_DATA_DIR: join(place.dir, 'data'),
      SVC_MASTER_KEY_FILE: join(place.dir, 'master.key'),
      SVC_BOOTSTRAP_TOKEN: place.token,
      SVC_SANDBOX_DRIVER: 'none',
      SVC_ALLOW_PRIVATE_GIT_HOSTS: '1',
      SVC_PORT: '0',
      SVC_LOG: 'json',
      ...place.env,
    },
  })
  started(child)
  const errors = new Response(child.stderr).text()
  let output = ''
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    output += chunk
    const url = /Dashboard +(http:\S+)/.exec(output)?.[1]
    if (url !== undefined) return { child, url, errors: () => errors }
  }
  return { child, url: null, errors: () => errors }
}
