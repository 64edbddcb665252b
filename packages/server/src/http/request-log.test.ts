import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { makeToken } from '@svc/contract'
import { migrate } from '../db/migrate.ts'
import { createTestDatabase } from '../db/testing-cluster.ts'
import { bootServer } from '../startup/testing-server.ts'

let dir: string
let database: Awaited<ReturnType<typeof createTestDatabase>>
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-log-'))
  database = await createTestDatabase({ name: 'log', prepare: migrate })
}, 120_000)
afterAll(async () => {
  await database.drop()
  await rm(dir, { recursive: true, force: true })
})

/** The lines of a server that answers one request for a page that does not exist. */
async function linesOf(env: Record<string, string>) {
  const token = makeToken((count) => randomBytes(count))
  const { child, url, errors } = await bootServer({ dir, databaseUrl: database.url, token, env }, () => {})
  try {
    const { status, headers } = await fetch(`${url}/v1/nothing?token=in-a-query`)
    expect(status).toBe(404)
    child.kill('SIGTERM')
    await child.exited
    const text = await errors()
    expect(text).not.toContain('in-a-query')
    const lines = text.split('\n').filter((line) => line.startsWith('{'))
    return { id: headers.get('x-request-id'), lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) }
  } finally {
    child.kill('SIGKILL')
    await child.exited
  }
}

test('the log has each request with its id at the level debug, and refused ones not at info', async () => {
  const quiet = await linesOf({})
  expect(quiet.id).toMatch(/^[0-9a-f-]{36}$/)
  expect(quiet.lines.filter(({ request_id }) => request_id === quiet.id)).toEqual([])
  const { id, lines } = await linesOf({ SVC_LOG_LEVEL: 'debug' })
  expect(lines.filter(({ request_id }) => request_id === id)).toMatchObject([
    { level: 20, msg: 'request', method: 'GET', path: '/v1/nothing', status: 404, address: '127.0.0.1' },
  ])
}, 120_000)
