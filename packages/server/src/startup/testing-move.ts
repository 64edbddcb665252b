/** Moves between databases in a process of their own, and PostgreSQL databases that belong to an ordinary role. */
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeToken } from '@svc/contract'
import type { MoveReport } from '@svc/contract/daemon/operator-reports'
import { createTestDatabase, withClient } from '../db/testing-cluster.ts'
import { programOf } from './testing-program.ts'
import { bootServer } from './testing-server.ts'

export const testPassword = 'pass/word of@this:test'

export interface OwnedDatabase {
  /** Connects as the role that owns it and is no superuser. */
  url: string
  /** Connects as the superuser of that PostgreSQL. */
  adminUrl: string
  role: string
  drop(): Promise<void>
}

/** `make` is the rest of CREATE DATABASE. */
export async function createOwnedDatabase(make = `encoding 'UTF8' template template0`): Promise<OwnedDatabase> {
  const any = await createTestDatabase({ name: 'empty', prepare: async () => {} })
  const role = `mover_${randomBytes(6).toString('hex')}`
  await withClient(any.url, async (client) => {
    await client.query(`create role ${role} login password '${testPassword}'`)
    await client.query(`create database ${role} owner ${role} ${make}`)
  })
  const url = new URL(any.url)
  url.pathname = `/${role}`
  const adminUrl = url.href
  url.username = role
  url.password = encodeURIComponent(testPassword)
  const drop = async () => {
    await withClient(any.url, async (client) => {
      await client.query(`drop database if exists ${role} with (force)`)
      await client.query(`drop role ${role}`)
    })
    await any.drop()
  }
  return { url: url.href, adminUrl, role, drop }
}

export interface RanMove {
  code: number | null
  report: MoveReport | null
  stderr: string
}

/** `env` has the settings of the server, such as its data folder. */
export async function runMove(to: string, env: Record<string, string>): Promise<RanMove> {
  const child = Bun.spawn([...(await programOf('test-server')), 'server', '--move-database'], {
    stdin: new TextEncoder().encode(to),
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...env },
  })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  await child.exited
  return { code: child.exitCode, report: stdout === '' ? null : (JSON.parse(stdout) as MoveReport), stderr }
}

/** A server that has a project with a secret, a branch and events, and has stopped. `env` replaces its settings. */
export async function fillWithServer(databaseUrl: string, dir: string, env: Record<string, string> = {}) {
  const token = makeToken((count) => randomBytes(count))
  const { url, child, errors } = await bootServer({ dir, databaseUrl, token, env }, () => {})
  if (url === null) throw new Error(await errors())
  const send = async <T>(path: string, body: unknown): Promise<T> => {
    const response = await fetch(`${url}/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as T
  }
  const { project_id: projectId } = await send<{ project_id: string }>('/projects', { name: 'moved' })
  await send(`/projects/${projectId}/secrets`, { name: 'KEY', value: `a value with a \\ and a\ttab, ${randomUUID()}` })
  child.kill('SIGTERM')
  await child.exited
  return { token, projectId }
}

/** For a template of databases: its server's folder is not needed any more. */
export async function fillTemplate(url: string): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'svc-fill-'))
  try {
    const { projectId } = await fillWithServer(url, dir)
    await withClient(url, async (client) => {
      // What the text of COPY writes in a way of its own, and rows that are larger than its pieces.
      await client.query(`update accounts set name = E'back\\\\slash \\\\. \\\\N\ttab\nline "quoted", é\u2028'`)
      await client.query(
        `insert into project_events (project_id, type, data)
          select $1, 'large', jsonb_build_object('text', repeat('é', 400000 * n)) from generate_series(1, 8) n`,
        [projectId],
      )
    })
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}
