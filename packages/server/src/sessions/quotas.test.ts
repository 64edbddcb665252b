/** S29: what a session's snapshots, transcript and check logs make the server keep. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { Message } from '@svc/contract'
import { storeBytes } from '@svc/git'
import { commit } from '@svc/git/testing'
import { sql } from 'kysely'
import { gitText } from '../change-requests/testing.ts'
import { sweepIdleSessions } from './jobs.ts'
import { pruneWip } from './unfinished-work/prune.ts'
import { unfinishedBytesOf } from './unfinished-work/snapshot-store.ts'
import { makeSessionApp, type RunningSession, type SessionApp, until } from './testing.ts'
import { startWorkDaemon } from './unfinished-work/testing-work-daemon.ts'
import { saveWip } from './unfinished-work/wip.ts'

const kibibyte = 1024
const quotas = {
  ...{
    repositoryBytes: 2 ** 30,
    pushBytes: 2 ** 30,
    checkLogBytes: 2 ** 20,
    appArchiveBytes: 2 ** 20,
    sessionsBytes: 2 ** 40,
  },
  unfinishedWorkBytes: 290 * kibibyte,
  transcriptBytes: 16 * kibibyte,
}
let app: SessionApp
let daemon: Awaited<ReturnType<typeof startWorkDaemon>>

beforeAll(async () => {
  app = await makeSessionApp({ configure: { quotas } })
  daemon = await startWorkDaemon(app)
}, 120_000)
afterAll(async () => {
  await daemon.close()
  await app.close()
})

let serial = 0
/** The agent fills its work tree with so many random bytes, and the daemon is asked for them. */
async function save({ session_id: sessionId }: RunningSession, size: number, isLast = false) {
  const snapshot = await commit(daemon.work, `s${++serial}`, { 'a.bin': randomBytes(size).toString('latin1') })
  daemon.snapshot = snapshot
  const address = daemon.addressOf(sessionId)
  const outcome = await saveWip(app.deps, address, new AbortController().signal, { isLast })
  return { ...outcome, commit: snapshot }
}

const wip = async (session: RunningSession) =>
  (await app.request<{ commit: string; notes: string[] }>('GET', app.path(session.session_id, 'wip'))).body

/** The last activity was two hours ago. */
async function sweepIdle(session: RunningSession): Promise<string> {
  await sql`update project_sessions set is_busy = false, last_active_at = now() - interval '2 hours'
    where session_id = ${session.session_id}`.execute(app.deps.db)
  await sweepIdleSessions(app.deps)
  await app.deps.sessions.reconcile(session.session_id)
  return (await app.session(session.session_id)).status
}

describe('unfinished work over the quota', () => {
  test('keeps the last save, tells the user, delays the idle stop, and saves again when space is free', async () => {
    const [session, other] = [await app.running(), await app.running()]
    const size = 60 * kibibyte
    const kept = [await save(session, size), await save(session, size)]
    expect(kept.map(({ kind }) => kind)).toEqual(['saved', 'saved'])
    const filled = await save(session, 2 * size)
    expect(filled.kind).toBe('no-space')
    const inStore = await storeBytes(app.repo.dir)
    expect(inStore).toBeLessThan(quotas.unfinishedWorkBytes * 2)

    expect((await wip(session)).commit).toBe(kept[1]!.commit)
    expect((await wip(session)).notes).toEqual([expect.stringContaining('of 290 KiB')])
    expect((await app.session(session.session_id)).error).toContain('of 290 KiB')
    expect(await sweepIdle(session)).toBe('running')

    // Others are unharmed, and what is shown is what is kept.
    expect((await save(other, size)).kind).toBe('saved')
    expect((await app.session(other.session_id)).error).toBeNull()
    const usage = await app.request<{ storage: Record<string, number> }>(
      'GET',
      `/v1/projects/${app.project.project_id}/usage`,
    )
    expect(usage.body.storage.unfinished_work_bytes).toBe(await unfinishedBytesOf(app.deps.db, app.project.project_id))

    // An hour later what was replaced goes, a day before it goes otherwise.
    const packs = join(app.repo.dir, 'objects/pack')
    const now = app.deps.now()
    for (const name of await readdir(packs)) await utimes(join(packs, name), now, now)
    const before = await unfinishedBytesOf(app.deps.db, app.project.project_id, session.session_id)
    const later = new Date(now.getTime() + 2 * 3_600_000)
    await pruneWip({ ...app.deps, now: () => later }, new AbortController().signal)
    expect(await unfinishedBytesOf(app.deps.db, app.project.project_id, session.session_id)).toBeLessThan(before)
    expect((await save(session, 2 * size)).kind).toBe('saved')
    expect((await app.session(session.session_id)).error).toBeNull()
    expect(await gitText(app.repo, 'fsck', '--full', '--no-dangling')).toBe('')
    expect(await sweepIdle(session)).toBe('stopped')
  }, 120_000)

  test('the last save of an ending sandbox may use twice the quota, so that no work is lost', async () => {
    const session = await app.running()
    expect((await save(session, 100 * kibibyte)).kind).toBe('saved')
    expect((await save(session, 150 * kibibyte)).kind).toBe('no-space')
    const last = await save(session, 150 * kibibyte, true)
    expect([last.kind, (await wip(session)).commit]).toEqual(['saved', last.commit])
    expect((await save(session, 500 * kibibyte, true)).kind).toBe('no-space')
  })
})

describe('a transcript over the quota', () => {
  const transcript = async (session: RunningSession) =>
    (await app.request<{ messages: Message[] }>('GET', app.path(session.session_id, 'transcript'))).body.messages
  const mark = 'The transcript is full (16 KiB). Later messages are not stored; the session continues.'

  test('is truncated with a mark, and the session continues', async () => {
    const session = await app.running()
    const say = async (text: string) => {
      const turns = (await app.session(session.session_id)).last_active_at
      expect((await app.request('POST', app.path(session.session_id, 'prompt'), { body: { text } })).status).toBe(202)
      await until('the turn is over', async () => {
        if (app.deps.sessions.turnOf(session.session_id) !== 'idle') return null
        return (await app.session(session.session_id)).last_active_at === turns ? null : true
      })
    }
    await say('a'.repeat(4_000))
    await say('b'.repeat(30_000))
    const messages = await until('the mark is there', async () => {
      const found = await transcript(session)
      return JSON.stringify(found).includes(mark) ? found : null
    })
    expect(JSON.stringify(messages).includes('a'.repeat(4_000))).toBeTrue()
    await say('after the end')
    const after = await transcript(session)
    expect(JSON.stringify(after).includes('after the end')).toBeFalse()
    expect(JSON.stringify(after).split(mark).length).toBe(2)
    const kept = Buffer.byteLength(JSON.stringify(after.map(({ parts }) => parts)))
    expect(kept).toBeLessThanOrEqual(quotas.transcriptBytes)
    expect((await app.session(session.session_id)).status).toBe('running')
    const usage = await app.request<{ storage: Record<string, number> }>(
      'GET',
      `/v1/projects/${app.project.project_id}/usage`,
    )
    expect(usage.body.storage.transcript_bytes).toBeWithin(8_000, quotas.transcriptBytes + 1)
  }, 120_000)
})

describe('the quota of all sessions of a project', () => {
  test('no new session starts over the quota; stored data stays, and deleting frees space', async () => {
    const session = await app.running()
    const { project_id } = app.project
    const text = 'y'.repeat(4_000)
    await app.request('POST', app.path(session.session_id, 'prompt'), { body: { text } })
    await until('the prompt is kept', async () => {
      const { body } = await app.request<{ storage: Record<string, number> }>('GET', `/v1/projects/${project_id}/usage`)
      return body.storage.transcript_bytes! > 4_000
    })
    const set = (quota_sessions_bytes: number | null) =>
      app.request('PATCH', `/v1/projects/${project_id}`, { body: { settings: { quota_sessions_bytes } } })
    expect((await set(2 ** 41)).status).toBe(400)
    expect((await set(4_000)).status).toBe(200)
    const refused = await app.create()
    expect([refused.status, refused.body]).toMatchObject([413, { code: 'quota_exceeded', limit_bytes: 4_000 }])
    expect((await app.request('POST', app.path(session.session_id, 'stop'))).status).toBe(200)
    const transcript = await app.request('GET', app.path(session.session_id, 'transcript'))
    expect(transcript.text).toContain(text)
    expect((await app.request('POST', app.path(session.session_id, 'restart'))).status).toBe(202)
    await set(null)
    expect((await app.create()).status).toBe(201)
  })
})
