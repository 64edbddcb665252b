import { afterAll, expect, test } from 'bun:test'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeToken } from '@svc/contract'
import { createTestDatabase } from '../db/testing-cluster.ts'
import { until } from '../testing-until.ts'
import { recordedRunDir } from './run-dir.ts'
import { bootServer } from './testing-server.ts'

const dir = await mkdtemp(join(tmpdir(), 'svc-relay-'))
const database = await createTestDatabase({ name: 'empty', prepare: async () => {} })
afterAll(async () => {
  await database.drop()
  await rm(dir, { recursive: true, force: true })
})

test('a server whose run folder was removed listens to sandboxes again', async () => {
  const token = makeToken((count) => crypto.getRandomValues(new Uint8Array(count)))
  const { child, url } = await bootServer({ dir, databaseUrl: database.url, token }, () => {})
  try {
    expect(url).not.toBeNull()
    const dataDir = join(dir, 'data')
    const runDir = (await recordedRunDir({ dataDir })) ?? join(dataDir, 'run')
    const unix = join(runDir, 'relay/relay.sock')
    const answers = () =>
      fetch('http://localhost/v1/health', { unix, keepalive: false }).then(
        () => true,
        () => false,
      )
    expect(await answers()).toBeTrue()
    await rm(runDir, { recursive: true })
    await until('its socket answers', answers)
    expect([(await stat(runDir)).mode & 0o777, (await stat(unix)).mode & 0o777]).toEqual([0o700, 0o666])
  } finally {
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
  }
}, 120_000)
