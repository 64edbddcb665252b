/** Redaction of secrets in transcripts, events, errors of sessions, prompts and logs. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Message, Session, SessionEvent } from '@svc/contract'
import { sql } from 'kysely'
import { buildApp } from '../../app.ts'
import { forgetGivenSecrets } from '../../secrets/given-store.ts'
import { makeLog } from '../../log.ts'
import { Redaction } from '../../redaction/redaction.ts'
import { canaries, encodingsOfACanary } from '../../redaction/testing-canaries.ts'
import { EnvPusher } from '../lifecycle/env-push.ts'
import {
  type EventReader,
  makeSessionApp,
  readEvents,
  type RunningSession,
  secondServer,
  type SessionApp,
  until,
} from '../testing.ts'

const logged: Record<'json' | 'pretty', string> = { json: '', pretty: '' }
const redaction = new Redaction({ SVC_LLM_UPSTREAM_KEY: 'operator-key-0123456789' })
const everything = (text: string) => redaction.everything(text)
const logs = {
  json: makeLog('json', everything, (line) => (logged.json += line)),
  pretty: makeLog('pretty', everything, (line) => (logged.pretty += line)),
}
let app: SessionApp
let session: RunningSession
let events: EventReader
const base = () => `/v1/projects/${app.project.project_id}`

beforeAll(async () => {
  app = await makeSessionApp({ deps: { redaction, log: logs.json } })
  for (const [name, value] of Object.entries(canaries))
    expect((await app.request('POST', `${base()}/secrets`, { body: { name, value } })).status).toBe(200)
  session = await app.running()
  const { publicUrl } = app.deps.config
  events = readEvents(
    await buildApp(app.deps).request(publicUrl + app.path(session.session_id, 'events'), {
      headers: { host: new URL(publicUrl).host, authorization: `Bearer ${app.ownerToken}` },
    }),
  )
}, 120_000)
afterAll(async () => {
  await events.close()
  await app.close()
})

/** The fake runtime says what it was asked, in words that come one after the other. */
async function say(text: string, of = session): Promise<Message> {
  expect((await app.request('POST', app.path(of.session_id, 'prompt'), { body: { text } })).status).toBe(202)
  return until('the answer is kept', async () => {
    if (app.deps.sessions.turnOf(of.session_id) !== 'idle') return null
    const { body } = await app.request<{ messages: Message[] }>('GET', app.path(of.session_id, 'transcript'))
    const last = body.messages.at(-1)
    if (last?.role !== 'assistant' || last.completed_at === null) return null
    // Ids count within a session.
    const name = `${of.session_id} ${last.message_id}`
    if (told.has(name)) return null
    told.add(name)
    return last
  })
}
const told = new Set<string>()

async function dump(): Promise<string> {
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = 'public'`.execute(app.deps.db)
  const parts: string[] = []
  for (const { name } of tables) {
    const { rows } = await sql<{ line: string }>`select to_jsonb(t)::text as line from ${sql.table(name)} t`.execute(
      app.deps.db,
    )
    parts.push(...rows.map(({ line }) => line))
  }
  return parts.join('\n')
}

function expectClean(where: string, text: string): void {
  for (const [name, value] of Object.entries(canaries))
    for (const [as, encoded] of encodingsOfACanary(value))
      expect(`${where}: ${name} as ${as}: ${text.includes(encoded.slice(2, -2))}`).toEndWith('false')
}

test('printed by an agent in every encoding, they are in no transcript, event, table or log', async () => {
  const everyForm = Object.values(canaries).flatMap((value) => encodingsOfACanary(value).map(([, text]) => text))
  const keys = ['SVC_TOKEN', 'SVC_CLI_TOKEN', 'SVC_LLM_API_KEY'].map((name) => session.env[name]!)
  const answer = await say([...everyForm, ...keys].map((text, index) => `${index}=${text}`).join('\n'))
  expect(JSON.stringify(answer)).toContain('[redacted PLAIN]')
  expect(JSON.stringify(answer)).toContain('[redacted SVC_CLI_TOKEN]')
  await events.find(
    'the answer',
    (event: SessionEvent) =>
      event.type === 'message' && event.message.message_id === answer.message_id && event.message.completed_at !== null,
  )
  expectClean('transcript', (await app.request('GET', app.path(session.session_id, 'transcript'))).text)
  expectClean('events', JSON.stringify(events.seen))
  expectClean('database', await dump())
  for (const key of keys) expect(JSON.stringify(events.seen) + (await dump())).not.toContain(key)
  // The sandbox itself has the secrets; readers do not see them.
  expect(session.env.PLAIN).toBe(canaries.PLAIN)
})

test('a prompt is delivered as it was typed, and neither kept nor listed so', async () => {
  const text = `use ${canaries.PLAIN} for it`
  const made = await app.running({ initial_prompt: text })
  expect(made.env.SVC_INITIAL_PROMPT).toBe(text)
  expect(made.name).toBe('use [redacted PLAIN] for it')
  expect(app.driver.seen(made.sandbox!.sandbox_id)?.spec.env.SVC_INITIAL_PROMPT).toBe(text)
  await until('the prompt is delivered', async () => !(await dump()).includes(canaries.PLAIN))
})

test('the reason a sandbox ended, and the log about it, are without them', async () => {
  const ended = await app.running()
  await app.driver.crash(ended.sandbox!.sandbox_id, `setup said: KEY=${canaries.PASSWORD} ${canaries.URL}`)
  const failed: Session = await app.reaches(ended.session_id, 'failed')
  expect(failed.error).toContain('[redacted PASSWORD] [redacted URL]')
  expectClean('database', await dump())
  for (const log of [logs.json, logs.pretty])
    log.error(
      { err: new Error(`failed: ${canaries.JSON}`), session_id: ended.session_id, said: Object.values(canaries) },
      'x',
    )
  expect(logged.json).toContain('[redacted JSON]')
  expect(logged.pretty).toContain('[redacted JSON]')
  for (const [format, text] of Object.entries(logged)) expectClean(format, text)
  for (const line of logged.json.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow()
})

test('what identifies a line of the log cannot be blotted out by a secret that looks like it', async () => {
  const id = session.session_id
  expect((await app.request('POST', `${base()}/secrets`, { body: { name: 'AN_ID', value: id } })).status).toBe(200)
  logged.json = ''
  logs.json.info({ session_id: id, reason: `about ${id}` }, 'something')
  expect(JSON.parse(logged.json)).toMatchObject({ session_id: id, reason: 'about [redacted AN_ID]' })
  await app.request('DELETE', `${base()}/secrets/AN_ID`)
})

test('an error that repeats what was asked for repeats no secret of that project, and keeps its code', async () => {
  const asked = await app.request<{ error: string; code: string }>('POST', app.path(), {
    body: { base_ref: `feature-${canaries.PLAIN}` },
  })
  expect([asked.status, asked.body.code]).toEqual([400, 'ref_not_found'])
  expect(asked.text).toContain('[redacted PLAIN]')
  expectClean('error', asked.text)
})

test('a secret that is set now is taken out once the sandbox was given it, and no earlier', async () => {
  const value = 'set-just-now-0815'
  const env = new EnvPusher(app.deps)
  await env.push()
  await app.request('POST', `${base()}/secrets`, { body: { name: 'NOW', value } })
  expect(JSON.stringify(await say(`one ${value}`))).toContain(`one ${value}`)
  await env.push()
  expect(app.driver.seen(session.sandbox!.sandbox_id)?.env.NOW).toBe(value)
  expect(JSON.stringify(await say(`two ${value}`))).toContain('two [redacted NOW]')
})

test('a secret that was replaced and deleted stays out of the session that was given it, also on another server and in its next generation', async () => {
  const values = ['the-first-of-its-values', 'the-second-of-its-values']
  const given = await app.running()
  for (const value of values) {
    await app.request('POST', `${base()}/secrets`, { body: { name: 'GONE', value } })
    await new EnvPusher(app.deps).push()
  }
  await app.request('DELETE', `${base()}/secrets/GONE`)
  await new EnvPusher(app.deps).push()
  const text = `it was ${values.join(' and ')}`
  const clean = 'it was [redacted GONE] and [redacted GONE]'
  expect(JSON.stringify(await say(text, given))).toContain(clean)
  await app.request('POST', app.path(given.session_id, 'stop'))
  await app.reaches(given.session_id, 'stopped')
  const other = await secondServer(app)
  try {
    expect((await other.request('POST', app.path(given.session_id, 'restart'))).status).toBeLessThan(300)
    await app.reaches(given.session_id, 'running')
    await other.deps.sessions.reconcile(given.session_id)
    const prompt = { body: { text: `again ${text}` } }
    expect((await other.request('POST', app.path(given.session_id, 'prompt'), prompt)).status).toBe(202)
    const transcript = await until('the answer is kept', async () => {
      const reply = await app.request<{ messages: Message[] }>('GET', app.path(given.session_id, 'transcript'))
      const last = reply.body.messages.findLast(({ parts }) => JSON.stringify(parts).includes('again'))
      return last?.role === 'assistant' && last.completed_at !== null ? reply.text : null
    })
    expect(transcript).toContain(`again ${clean}`)
    for (const value of values) expect(transcript).not.toContain(value)
  } finally {
    await other.close()
  }
  // A session that was never given them has no part in that.
  expect(JSON.stringify(await say(text, await app.running()))).toContain(text)
}, 120_000)

test('what sessions were given is kept sealed, once, and as long as one of them is there', async () => {
  const kept = async () => {
    await forgetGivenSecrets(app.deps.db)
    return (await sql<{ n: number }>`select count(*)::integer as n from kept_secrets`.execute(app.deps.db)).rows[0]!.n
  }
  const one = await app.running()
  await app.request('POST', `${base()}/secrets`, { body: { name: 'ONCE', value: 'kept-once-for-all' } })
  const before = await kept()
  await new EnvPusher(app.deps).push()
  expect(await kept()).toBe(before + 1)
  await app.request('DELETE', `${base()}/secrets/ONCE`)
  await sql`delete from project_sessions`.execute(app.deps.db)
  expect(await kept()).toBe(before + 1)
  await sql`update kept_secrets set kept_at = now() - interval '2 days'`.execute(app.deps.db)
  await sql`update given_secrets set given_at = now() - interval '2 days'`.execute(app.deps.db)
  expect(await kept()).toBe(0)
  await app.deps.sessions.reconcile(one.session_id)
})
