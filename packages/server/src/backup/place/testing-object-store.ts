/** A real S3-compatible server on loopback: versitygw, which keeps objects as files of a folder. */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ObjectStoreSettings } from '../../config/backups.ts'
import { until } from '../../testing-until.ts'

/** scripts/machine.mjs builds it. */
const program = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'svc-test-object-store/versitygw-v1.8.0')

export const hasObjectStore = existsSync(program)

export const testCredentials = {
  accessKeyId: 'test-access-key',
  secretAccessKey: 'the-secret-key-of-the-test-store',
  sessionToken: null,
}

export class ObjectStore {
  readonly endpoint: string
  /** Each bucket is a folder here, each object a file. */
  readonly folder: string
  readonly #child: Bun.Subprocess

  private constructor(endpoint: string, folder: string, child: Bun.Subprocess) {
    this.endpoint = endpoint
    this.folder = folder
    this.#child = child
  }

  static async start(...buckets: string[]): Promise<ObjectStore> {
    const folder = await mkdtemp(join(tmpdir(), 'svc-object-store-'))
    for (const name of ['sidecar', ...buckets.map((bucket) => `objects/${bucket}`)])
      await mkdir(join(folder, name), { recursive: true })
    const port = await freePort()
    const child = Bun.spawn(
      [program, '--port', `127.0.0.1:${port}`, 'posix', '--sidecar', join(folder, 'sidecar'), join(folder, 'objects')],
      {
        env: {
          HOME: folder,
          ROOT_ACCESS_KEY_ID: testCredentials.accessKeyId,
          ROOT_SECRET_ACCESS_KEY: testCredentials.secretAccessKey,
        },
        stdout: 'ignore',
        stderr: 'ignore',
      },
    )
    const store = new ObjectStore(`http://127.0.0.1:${port}`, join(folder, 'objects'), child)
    await until('the object store', () => fetch(store.endpoint).then(() => true, notYet))
    return store
  }

  settings(more: Partial<ObjectStoreSettings> = {}): ObjectStoreSettings {
    return {
      ...{ endpoint: this.endpoint, region: 'us-east-1', addressing: null, credentialsFile: null },
      credentials: testCredentials,
      ...more,
    }
  }

  /** As an operator sets it. */
  get env(): Record<string, string> {
    return {
      SVC_BACKUP_S3_ENDPOINT: this.endpoint,
      AWS_ACCESS_KEY_ID: testCredentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: testCredentials.secretAccessKey,
    }
  }

  async end(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#child.exited
    await rm(join(this.folder, '..'), { recursive: true, force: true })
  }
}

async function freePort(): Promise<number> {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const { port = 0 } = server
  await server.stop(true)
  return port
}

const notYet = () => false
