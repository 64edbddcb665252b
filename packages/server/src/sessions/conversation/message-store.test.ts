/** A long conversation: read by its end, page by page to its beginning, and by what changed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Message } from '@svc/contract'
import { buildApp } from '../../app.ts'
import type { TestReply } from '../../testing.ts'
import { makeSessionApp, type SessionApp, until } from '../testing.ts'

const count = 2000
let app: SessionApp
let path: string
let sessionId: string

beforeAll(async () => {
  app = await makeSessionApp()
  ;({ session_id: sessionId } = await app.makeSession(app.project))
  path = app.path(sessionId, 'transcript')
  const rows = Array.from({ length: count }, (_, i) => ({
    session_id: sessionId,
    message_id: `msg_${String(i).padStart(6, '0')}`,
    generation: 1,
    role: i % 2 === 0 ? ('user' as const) : ('assistant' as const),
    // Several within one millisecond: their order is by id then.
    created_at: new Date(1_700_000_000_000 + Math.floor(i / 3)),
    completed_at: new Date(1_700_000_000_000 + i),
    error: null,
    parts: JSON.stringify([{ type: 'text', id: 'p', text: `message ${i}` }]),
    updated_at: new Date(Date.now() - 3_600_000),
  }))
  for (let i = 0; i < count; i += 500)
    await app.deps.db
      .insertInto('session_messages')
      .values(rows.slice(i, i + 500))
      .execute()
}, 120_000)
afterAll(() => app.close())

const idsOf = (messages: Message[]) => messages.map((message) => message.message_id)
const all = Array.from({ length: count }, (_, i) => `msg_${String(i).padStart(6, '0')}`)

test('without a limit it is whole', async () => {
  const { body } = await app.request<{ messages: Message[] }>('GET', path)
  expect(idsOf(body.messages)).toEqual(all)
})

test('with a limit it is its end, and the next page is what came before, to the first message', async () => {
  const seen: string[] = []
  let pages = 0
  for (let next: string | null = `${path}?limit=300`; next !== null; pages++) {
    const reply: TestReply<{ messages: Message[] }> = await app.request<{ messages: Message[] }>('GET', next)
    expect(reply.body.messages.length).toBeLessThanOrEqual(300)
    seen.unshift(...idsOf(reply.body.messages))
    next = /<([^>]*)>; rel="next"/.exec(reply.headers.get('link') ?? '')?.[1] ?? null
  }
  expect(seen).toEqual(all)
  expect(pages).toBe(7)
  expect((await app.request('GET', `${path}?cursor=nonsense`)).status).toBe(400)
})

test('or its start', async () => {
  const { body, headers } = await app.request<{ messages: Message[] }>('GET', `${path}?limit=2&from=start`)
  expect([idsOf(body.messages), headers.get('link')]).toEqual([all.slice(0, 2), null])
  const { headers: ofEnd } = await app.request('GET', `${path}?limit=2`)
  const cursor = /cursor=([^&>]*)/.exec(ofEnd.get('link')!)![1]
  expect((await app.request('GET', `${path}?limit=2&from=start&cursor=${cursor}`)).status).toBe(400)
})

/** Reads until the turn, which ends the history. */
async function past(headers: Record<string, string>, query = ''): Promise<{ messages: string[]; lastId: string }> {
  const response = await buildApp(app.deps).request(app.deps.config.publicUrl + app.path(sessionId, 'events') + query, {
    headers: {
      host: new URL(app.deps.config.publicUrl).host,
      authorization: `Bearer ${app.ownerToken}`,
      ...headers,
    },
  })
  const reader = response.body!.getReader()
  let text = ''
  for (const decoder = new TextDecoder(); !text.includes('event: turn\ndata: {');) {
    const { value, done } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
  }
  await reader.cancel()
  return {
    messages: [...text.matchAll(/^data: \{"type":"message","message":\{"message_id":"([^"]+)"/gm)].map(
      (match) => match[1]!,
    ),
    lastId: [...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? '',
  }
}

test('a stream that is opened again tells what changed since, and everything to who knows nothing', async () => {
  const first = await past({})
  expect(first.messages).toEqual(all)
  expect(await past({ 'last-event-id': first.lastId })).toMatchObject({ messages: [] })
  await app.deps.db
    .updateTable('session_messages')
    .set({ updated_at: new Date() })
    .where('message_id', '=', all[1234]!)
    .execute()
  await until(
    'the change is told',
    async () => (await past({ 'last-event-id': first.lastId })).messages.join() === all[1234],
  )
  for (const odd of ['x', '-1', '9999999999999', ''])
    expect((await past({ 'last-event-id': odd })).messages).toHaveLength(count)
})

test('a stream that is asked for so many of the newest messages tells those alone', async () => {
  expect((await past({}, '?messages=50')).messages).toEqual(all.slice(-50))
  expect((await app.request('GET', `${app.path(sessionId, 'events')}?messages=0`)).status).toBe(400)
})
