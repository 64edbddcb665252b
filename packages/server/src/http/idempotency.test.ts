import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Project } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { sql } from 'kysely'
import { type Keyring, makeKeyring } from '../keyring/keyring.ts'
import { managedDir } from '../projects/repository.ts'
import { startHeartbeat } from '../scheduler/instance.ts'
import { jobs } from '../scheduler/jobs.ts'
import { makeTestApp, type TestApp } from '../testing.ts'

/** A keyring that can be set to fail: an internal error in the middle of a request. */
function failingKeyring(): Keyring & { failures: number } {
  const keyring = makeKeyring(randomBytes(32))
  return {
    ...keyring,
    failures: 0,
    newDataKey(projectId) {
      if (this.failures-- > 0) throw new Error('told to fail')
      return keyring.newDataKey(projectId)
    },
  }
}

const keyring = failingKeyring()
let app: TestApp
beforeAll(async () => {
  app = await makeTestApp({ keyring })
}, 120_000)
afterAll(() => app.close())

const create = (key: string, body: object = { name: 'one' }, more: { token?: string } = {}) =>
  app.request<Project & { code: string }>('POST', '/v1/projects', {
    body,
    headers: { 'idempotency-key': key },
    ...more,
  })
const projects = async () => (await app.deps.db.selectFrom('projects').select('project_id').execute()).length

/** As if the request that holds a key had died before its answer. */
async function forgetAnswer(key: string, instanceId: string): Promise<void> {
  await app.deps.db
    .updateTable('idempotency_keys')
    .set({ status: null, body: null, instance_id: instanceId })
    .where('key', '=', key)
    .execute()
}

const lockOf = (instanceId: string) => sql`(select hashtextextended('svc instance ' || ${instanceId}::uuid::text, 0))`

async function isHeld(instanceId: string): Promise<boolean> {
  const { rows } = await sql<{
    free: boolean
  }>`select pg_try_advisory_xact_lock_shared(${lockOf(instanceId)}) as free`.execute(app.deps.db)
  return rows[0]?.free === false
}

/** Ends the connection that holds its lock, and waits until it is gone. */
async function killConnectionOf(instanceId: string): Promise<void> {
  await sql`select pg_terminate_backend(pid, 5000) from pg_locks where locktype = 'advisory'
    and (classid::bigint << 32) | objid::bigint = ${lockOf(instanceId)}`.execute(app.deps.db)
}

async function until(what: string, look: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 45_000; !(await look()); await delay(20))
    if (Date.now() > deadline) throw new Error(`Waited in vain: ${what}`)
}

describe('repeating an idempotency key', () => {
  test('separates the keys of two users with tokens of one project', async () => {
    const { project } = await app.managedProject()
    const other = await app.makeUser('member')
    const tokens = [
      await app.makeToken({ project_id: project.project_id }),
      await app.makeToken({ project_id: project.project_id, user_id: other.user_id }),
    ]
    await commit({ dir: managedDir(app.deps, project.project_id), remote: null }, 'work', { a: 'a\n' })
    const headers = { 'idempotency-key': randomUUID() }
    const openAs = (token: string) =>
      app.request<{ cr_id?: string; code?: string }>('POST', `/v1/projects/${project.project_id}/change-requests`, {
        token,
        headers,
        body: { title: 'the same body', head_ref: 'work' },
      })
    const [first, second] = [await openAs(tokens[0]!), await openAs(tokens[1]!)]
    expect(first.status).toBe(201)
    expect(second.headers.get('idempotency-replayed')).toBeNull()
    expect(second.body.cr_id).not.toBe(first.body.cr_id!)
    expect((await openAs(tokens[0]!)).body).toEqual(first.body)
  })

  test('returns the first answer for the same body and creates nothing twice', async () => {
    const before = await projects()
    const first = await create('same')
    const again = await create('same')
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.body).toEqual(first.body)
    expect(first.headers.get('idempotency-replayed')).toBeNull()
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(await projects()).toBe(before + 1)
  })

  test('answers 409 for another body or another route', async () => {
    await create('mismatch')
    const other = await create('mismatch', { name: 'two' })
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_mismatch'])
    const { project } = await app.managedProject()
    const elsewhere = await app.request<{ code: string }>('POST', `/v1/projects/${project.project_id}/sessions`, {
      body: { name: 'one' },
      headers: { 'idempotency-key': 'mismatch' },
    })
    expect([elsewhere.status, elsewhere.body.code]).toEqual([409, 'idempotency_mismatch'])
  })

  test('separates the keys of different users', async () => {
    const mine = await create('shared')
    const { token } = await app.makeUser('member')
    const theirs = await create('shared', { name: 'one' }, { token })
    expect(theirs.status).toBe(201)
    expect(theirs.body.project_id).not.toBe(mine.body.project_id)
  })

  test('twenty concurrent requests create one object, and every answer is that object or asks to retry', async () => {
    const before = await projects()
    const replies = await Promise.all(Array.from({ length: 20 }, () => create('parallel')))
    expect(await projects()).toBe(before + 1)
    const made = replies.filter((reply) => reply.status === 201)
    expect(new Set(made.map((reply) => reply.body.project_id)).size).toBe(1)
    for (const reply of replies) {
      if (reply.status === 201) continue
      expect([reply.status, reply.body.code, reply.headers.get('retry-after')]).toEqual([
        ...[409, 'idempotency_in_progress', '1'],
      ])
    }
    expect((await create('parallel')).body.project_id).toBe(made[0]!.body.project_id)
  })
})

describe('a refused request', () => {
  test('frees its key, because nothing was created', async () => {
    const before = await projects()
    expect((await create('refused', { repo_url: 'ftp://127.0.0.1/x' })).status).toBe(400)
    expect(await projects()).toBe(before)
    expect((await create('refused', { name: 'better' })).status).toBe(201)
  })
})

describe('a request whose server died', () => {
  test('the retry takes over and finds what the first request created', async () => {
    const first = await create('dead')
    const before = await projects()
    await forgetAnswer('dead', randomUUID())
    const retry = await create('dead')
    expect([retry.status, retry.body.project_id]).toEqual([201, first.body.project_id])
    expect(await projects()).toBe(before)
    expect((await create('dead')).headers.get('idempotency-replayed')).toBe('true')
  })

  test('the retry leaves a deleted project as it is, with its repository', async () => {
    const { project_id } = (await create('deleted')).body
    const path = `/v1/projects/${project_id}`
    await commit({ dir: managedDir(app.deps, project_id), remote: null }, 'main', { a: 'a\n' })
    await forgetAnswer('deleted', randomUUID())
    expect((await app.request('DELETE', path)).status).toBe(200)
    const retry = await create('deleted')
    expect([retry.status, retry.body.code, retry.body.project_id]).toEqual([409, 'conflict', project_id])
    expect((await app.request('POST', `${path}/restore`)).status).toBe(200)
    const { body } = await app.request<{ branches: { name: string }[] }>('GET', `${path}/branches`)
    expect(body.branches.map(({ name }) => name)).toEqual(['main'])
  })

  test('the retry takes over from a server with an old heartbeat', async () => {
    const first = await create('stale')
    const instance_id = randomUUID()
    const heartbeat_at = new Date(Date.now() - 60_000)
    await app.deps.db
      .insertInto('server_instances')
      .values({ instance_id, heartbeat_at, lock_taken_at: null })
      .execute()
    await forgetAnswer('stale', instance_id)
    expect((await create('stale')).body.project_id).toBe(first.body.project_id)
  })

  test('the retry takes over at once from a server without its lock, however recent its heartbeat', async () => {
    const first = await create('unlocked')
    const other = { ...app.deps, instanceId: randomUUID() }
    const life = await startHeartbeat(other, { folderId: randomUUID(), onDeath: async () => {} })
    await forgetAnswer('unlocked', other.instanceId)
    const living = await create('unlocked')
    expect([living.status, living.body.code]).toEqual([409, 'idempotency_in_progress'])
    await killConnectionOf(other.instanceId)
    // It is alive, so it takes its lock again, which a killed one cannot.
    await until('the lock is held again', () => isHeld(other.instanceId))
    expect((await create('unlocked')).status).toBe(409)
    await life.end()
    await until('the lock is free', async () => !(await isHeld(other.instanceId)))
    await app.deps.db
      .insertInto('server_instances')
      .values({ instance_id: other.instanceId, lock_taken_at: new Date() })
      .execute()
    expect((await create('unlocked')).body.project_id).toBe(first.body.project_id)
  })

  test('after a restart of the database the heartbeat counts until the server takes its lock again', async () => {
    const first = await create('restarted')
    const instance_id = randomUUID()
    await app.deps.db
      .insertInto('server_instances')
      .values({ instance_id, lock_taken_at: new Date(0) })
      .execute()
    await forgetAnswer('restarted', instance_id)
    expect((await create('restarted')).status).toBe(409)
    await app.deps.db
      .updateTable('server_instances')
      .set({ heartbeat_at: new Date(Date.now() - 60_000) })
      .where('instance_id', '=', instance_id)
      .execute()
    expect((await create('restarted')).body.project_id).toBe(first.body.project_id)
  })

  test('the retry waits for a server that is alive', async () => {
    await create('living')
    const instance_id = randomUUID()
    await app.deps.db.insertInto('server_instances').values({ instance_id, lock_taken_at: null }).execute()
    await forgetAnswer('living', instance_id)
    const reply = await create('living')
    expect([reply.status, reply.body.code]).toEqual([409, 'idempotency_in_progress'])
  })

  test('an internal error keeps the key, and the retry completes the request', async () => {
    const before = await projects()
    keyring.failures = 1
    const failed = await create('mistake')
    expect([failed.status, failed.body.code]).toEqual([500, 'internal'])
    expect(failed.text).not.toContain('told to fail')
    expect(await projects()).toBe(before)
    const { resource_id } = await app.deps.db
      .selectFrom('idempotency_keys')
      .select('resource_id')
      .where('key', '=', 'mistake')
      .executeTakeFirstOrThrow()
    const retry = await create('mistake')
    expect([retry.status, retry.body.project_id]).toEqual([201, resource_id])
    expect((await create('mistake', { name: 'other' })).status).toBe(409)
  })
})

describe('the format of an idempotency key', () => {
  test.each(['', 'with space', 'ü', 'x'.repeat(256), 'tab\there'])('refuses the key %j', async (key) => {
    const before = await projects()
    const reply = await app.request<{ code: string }>('POST', '/v1/projects', {
      body: { name: 'one' },
      headers: { 'idempotency-key': key },
    })
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid'])
    expect(await projects()).toBe(before)
  })

  test('accepts a key of 255 characters', async () => {
    expect((await create('k'.repeat(255))).status).toBe(201)
  })

  test('forgets a key after a day, and not before', async () => {
    await create('old')
    await create('young')
    const age = (hours: number, key: string) =>
      app.deps.db
        .updateTable('idempotency_keys')
        .set({ created_at: new Date(Date.now() - hours * 3_600_000) })
        .where('key', '=', key)
        .execute()
    await age(25, 'old')
    await age(23, 'young')
    await jobs(app.deps)
      .find((job) => job.name === 'delete idempotency keys')!
      .run(new AbortController().signal, 'all')
    const left = await app.deps.db.selectFrom('idempotency_keys').select('key').execute()
    expect(left.map(({ key }) => key)).toContain('young')
    expect(left.map(({ key }) => key)).not.toContain('old')
  })

  test('ignores a key on a route that does not take one', async () => {
    const mint = () =>
      app.request<{ secret_key: string }>('POST', '/v1/accounts/tokens', {
        body: { name: 'x' },
        headers: { 'idempotency-key': 'ignored' },
      })
    const [one, two] = [await mint(), await mint()]
    expect(two.body.secret_key).not.toBe(one.body.secret_key)
    const kept = await app.deps.db.selectFrom('idempotency_keys').select('body').execute()
    expect(JSON.stringify(kept)).not.toContain('svc_pat_')
  })
})
