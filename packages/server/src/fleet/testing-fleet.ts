/** Several servers in processes of their own, on one PostgreSQL, each with a data folder of its own. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ErrorBody, makeToken } from '@svc/contract'
import { freePort } from '@svc/git/testing'
import { migrate } from '../db/migrate.ts'
import { createTestDatabase, withClient } from '../db/testing-cluster.ts'
import { type BootedServer, bootServer } from '../startup/testing-server.ts'

export interface FleetServer {
  name: string
  /** How a client and the other servers reach it. */
  url: string
  /** Without sandboxes of the fake driver, it cannot start sessions. */
  boot(env?: Record<string, string>, of?: { hasSandboxes?: boolean }): Promise<BootedServer>
  kill(signal: NodeJS.Signals): Promise<void>
}

export interface Fleet {
  token: string
  dir: string
  databaseUrl: string
  servers: FleetServer[]
  query<Row>(text: string, values?: unknown[]): Promise<Row[]>
  request(
    server: FleetServer,
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<Response>
  close(): Promise<void>
}

/** Only the first starts at once: the others are started by their tests or by `all`. */
export async function makeFleet(names: string[], shared: Record<string, string> = {}): Promise<Fleet> {
  const database = await createTestDatabase({ name: 'fleet', prepare: migrate })
  const dir = await mkdtemp(join(tmpdir(), 'svc-fleet-'))
  const token = makeToken((count) => randomBytes(count))
  const started: Bun.Subprocess[] = []
  const servers = await Promise.all(
    names.map(async (name) => {
      const port = await freePort()
      const url = `http://127.0.0.1:${port}`
      let child: Bun.Subprocess | null = null
      return {
        name,
        url,
        async boot(env: Record<string, string> = {}, of: { hasSandboxes?: boolean } = {}) {
          const settings = {
            SVC_DATA_DIR: join(dir, name),
            SVC_SERVER_NAME: name,
            SVC_PORT: String(port),
            SVC_PEER_URL: url,
            SVC_PUBLIC_URL: 'http://127.0.0.1:8420',
          }
          const place = { dir, databaseUrl: database.url, token, env: { ...settings, ...shared, ...env }, ...of }
          const booted = await bootServer(place, (each) => {
            child = each
            started.push(each)
          })
          return booted
        },
        async kill(signal: NodeJS.Signals) {
          child?.kill(signal)
          if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await child?.exited
        },
      }
    }),
  )
  return {
    token,
    dir,
    databaseUrl: database.url,
    servers,
    query: (text, values) => withClient(database.url, async (client) => (await client.query(text, values)).rows),
    request: (server, method, path, { body, headers, signal } = {}) =>
      fetch(`${server.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      }),
    async close() {
      for (const each of started) each.kill('SIGKILL')
      await Promise.all(started.map((each) => each.exited))
      await database.drop()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

export interface RefusedUpgrade {
  status: number
  retryAfter: string | null
  body: ErrorBody
}

/** The answer to an upgrade that is refused. */
export function refusedUpgrade(
  fleet: Fleet,
  server: FleetServer,
  path: string,
  more: Record<string, string> = {},
): Promise<RefusedUpgrade> {
  return new Promise((resolve, reject) => {
    const headers = { ...more, authorization: `Bearer ${fleet.token}`, connection: 'Upgrade', upgrade: 'websocket' }
    const out = httpRequest(`${server.url}${path}`, { headers }, (answer) => {
      let text = ''
      answer.on('data', (chunk: Buffer) => void (text += chunk.toString()))
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          retryAfter: answer.headers['retry-after'] ?? null,
          body: JSON.parse(text) as ErrorBody,
        }),
      )
    })
    out.on('error', reject)
    out.end()
  })
}
