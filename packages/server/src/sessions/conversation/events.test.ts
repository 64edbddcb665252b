import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Message, Session, SessionEvent } from '@svc/contract'
import { sessionEvent } from '@svc/contract'
import { buildApp } from '../../app.ts'
import { deliverWaitingPrompts } from '../jobs.ts'
import { type EventReader, makeSessionApp, readEvents, secondServer, type SessionApp, until } from '../testing.ts'

let app: SessionApp
let served: ReturnType<typeof buildApp>
beforeAll(async () => {
  app = await makeSessionApp()
  served = buildApp(app.deps)
}, 120_000)
afterAll(() => app.close())

async function open(sessionId: string, signal?: AbortSignal, at = served): Promise<Response> {
  const { publicUrl } = app.deps.config
  const response = await at.request(publicUrl + app.path(sessionId, 'events'), {
    headers: { host: new URL(publicUrl).host, authorization: `Bearer ${app.ownerToken}` },
    ...(signal === undefined ? {} : { signal }),
  })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(response.headers.get('x-request-id')).toBeString()
  return response
}

const prompt = (sessionId: string, text: string) =>
  app.request('POST', app.path(sessionId, 'prompt'), { body: { text } })
const shape = (event: SessionEvent) =>
  event.type === 'session'
    ? `session ${event.session.status}`
    : event.type === 'turn'
      ? `turn ${event.status}`
      : 'message'
const answered = (text: string) => (event: SessionEvent) =>
  event.type === 'message' &&
  event.message.role === 'assistant' &&
  event.message.completed_at !== null &&
  event.message.parts.some((part) => part.type === 'text' && part.text === text)

describe('the events of a session', () => {
  test('tell first what is, then what changes, and each fits its schema', async () => {
    const session = await app.running()
    await prompt(session.session_id, 'before')
    await until('the turn is over and kept', async () => {
      const { body } = await app.request<{ messages: Message[] }>('GET', app.path(session.session_id, 'transcript'))
      const isOver = app.deps.sessions.turnOf(session.session_id) === 'idle'
      return isOver && body.messages.length === 2 && body.messages[1]!.completed_at !== null
    })
    const events = readEvents(await open(session.session_id))
    await until('what is has been told', () => events.seen.length >= 4)
    expect(events.seen.slice(0, 4).map(shape)).toEqual(['session running', 'message', 'message', 'turn idle'])

    await prompt(session.session_id, 'after')
    await events.find('the answer', answered('after'))
    await events.find('the end of the turn', (event) => events.seen.indexOf(event) > 4 && shape(event) === 'turn idle')
    const turns = events.seen.slice(4).filter((event) => event.type === 'turn')
    expect(turns.map(shape)).toEqual(expect.arrayContaining(['turn busy', 'turn idle']))
    expect(turns.map(shape).at(-1)).toBe('turn idle')
    // The end of a turn comes after its messages.
    const last = events.seen.findLastIndex((event) => event.type === 'message')
    expect(events.seen.findLastIndex((event) => shape(event) === 'turn idle')).toBeGreaterThan(last)

    await app.request('POST', app.path(session.session_id, 'stop'))
    await events.find('that it stopped', (event) => shape(event) === 'session stopped')
    for (const event of events.seen) expect(() => sessionEvent.parse(event)).not.toThrow()
    await events.close()
  })

  test('that begin while a message is not kept yet tell it as well', async () => {
    const session = await app.running()
    const first = readEvents(await open(session.session_id))
    await until('what is has been told', () => first.seen.length >= 2)
    const isPrompt = (event: SessionEvent) =>
      event.type === 'message' && event.message.role === 'user' && event.message.parts.length > 0
    // The end of a turn would keep it.
    const { promise: answer, resolve: endTurn } = Promise.withResolvers<string>()
    app.driver.options.onPrompt = () => answer
    await prompt(session.session_id, 'a moment ago')
    await first.find('the prompt', isPrompt)
    const second = readEvents(await open(session.session_id))
    await second.find('what ends the past', ({ type }) => type === 'turn')
    const end = second.seen.findIndex(({ type }) => type === 'turn')
    endTurn('now')
    delete app.driver.options.onPrompt
    expect(second.seen.slice(0, end).filter(isPrompt)).toHaveLength(1)
    await first.find('the answer', answered('now'))
    await first.close()
    await second.close()
  })

  test('are told at every server, not only at the one that keeps its sandbox', async () => {
    const session = await app.running()
    const second = await secondServer(app)
    const events = readEvents(await open(session.session_id, undefined, buildApp(second.deps)))
    await until('what is has been told', () => events.seen.length >= 2)
    expect(events.seen.map(shape)).toEqual(['session running', 'turn idle'])

    const path = app.path(session.session_id, 'prompt')
    expect((await second.request('POST', path, { body: { text: 'from elsewhere' } })).status).toBe(202)
    await events.find('that it is at work', (event) => shape(event) === 'turn busy')
    await deliverWaitingPrompts(app.deps)
    await events.find('the answer', answered('from elsewhere'))
    await events.find('the end of the turn', (event) => events.seen.indexOf(event) > 1 && shape(event) === 'turn idle')
    const last = events.seen.findLastIndex((event) => event.type === 'message')
    expect(events.seen.findLastIndex((event) => shape(event) === 'turn idle')).toBeGreaterThan(last)

    await app.request('POST', app.path(session.session_id, 'stop'))
    await events.find('that it stopped', (event) => shape(event) === 'session stopped')
    for (const event of events.seen) expect(() => sessionEvent.parse(event)).not.toThrow()
    await events.close()
    await second.close()
  })

  test('of one that starts say that it is at work when it has a first prompt, and follow it to its answer', async () => {
    app.driver.options.bootMs = 60_000
    const { body } = await app.create({ initial_prompt: 'first words' })
    const events = readEvents(await open(body.session_id))
    await until('what is has been told', () => events.seen.length >= 2)
    expect(events.seen.slice(0, 2).map(shape)).toEqual(['session provisioning', 'turn busy'])
    delete app.driver.options.bootMs
    await events.find('it runs', (event) => shape(event) === 'session running')
    await events.find('the answer', answered('first words'))
    await events.find('the end of the turn', (event) => shape(event) === 'turn idle')
    await events.close()
  })

  test('of one that fails tell why', async () => {
    app.driver.options.bootMs = 60_000
    const { body } = await app.create()
    const events = readEvents(await open(body.session_id))
    const sandbox = await until('it boots', async () => {
      const found = (await app.session(body.session_id)).sandbox
      return found !== null && (await app.driver.find(found.sandbox_id)) ? found : null
    })
    await app.driver.crash(sandbox.sandbox_id, 'It broke.')
    delete app.driver.options.bootMs
    const event = await events.find('it failed', (each) => shape(each) === 'session failed')
    expect((event as { session: Session }).session.error).toBe('It broke.')
    await events.close()
  })

  test('reach every reader alike, and nobody after they went', async () => {
    const session = await app.running()
    const aborting = new AbortController()
    const readers: EventReader[] = []
    for (let n = 0; n < 10; n++) readers.push(readEvents(await open(session.session_id)))
    const gone = readEvents(await open(session.session_id, aborting.signal))
    await until('all are told what is', () => [...readers, gone].every((reader) => reader.seen.length >= 2))
    aborting.abort()
    const before = gone.seen.length
    await prompt(session.session_id, 'to all')
    for (const reader of readers) await reader.find('the answer', answered('to all'))
    expect(gone.seen.length).toBe(before)
    await Promise.all(readers.map((reader) => reader.close()))
  })
})

describe('a long conversation', () => {
  const count = 60
  const size = 200_000

  async function longSession(): Promise<string> {
    const session = await app.running()
    for (let n = 0; n < count; n++)
      await app.deps.db
        .insertInto('session_messages')
        .values({
          session_id: session.session_id,
          message_id: `msg_${String(n).padStart(4, '0')}`,
          generation: 1,
          role: 'assistant',
          created_at: new Date(1_700_000_000_000 + n),
          completed_at: new Date(1_700_000_000_000 + n),
          error: null,
          parts: JSON.stringify([{ type: 'text', id: randomUUID(), text: 'x'.repeat(size) }]),
        })
        .execute()
    return session.session_id
  }

  test('is told whole, at the speed of its reader', async () => {
    const sessionId = await longSession()
    const events = readEvents(await open(sessionId))
    await events.find('the end of what is', (event) => event.type === 'turn')
    expect(events.seen.filter((event) => event.type === 'message')).toHaveLength(count)
    await events.close()
  }, 120_000)

  test('does not pile up in memory for a reader who does not read', async () => {
    const sessionId = await longSession()
    const response = await open(sessionId)
    const reader = response.body!.getReader()
    await reader.read()
    // More than the queue holds happens meanwhile: the reader is cut off and comes again.
    for (let n = 0; n < 2_000; n++)
      app.deps.feed.publish(sessionId, { type: 'turn', status: 'busy', error: 'x'.repeat(5_000) })
    let bytes = 0
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      bytes += value.length
    }
    expect(bytes).toBeLessThan(count * size)
  }, 120_000)
})

test('a server that stops ends the streams of its readers, after what its sessions did last', async () => {
  const stopping = await makeSessionApp()
  try {
    const session = await stopping.running()
    const { publicUrl } = stopping.deps.config
    const response = await buildApp(stopping.deps).request(publicUrl + stopping.path(session.session_id, 'events'), {
      headers: { host: new URL(publicUrl).host, authorization: `Bearer ${stopping.ownerToken}` },
    })
    const events = readEvents(response)
    await events.find('the current state', (event) => event.type === 'turn')
    stopping.deps.feed.publish(session.session_id, { type: 'turn', status: 'busy', error: null })
    stopping.deps.feed.close()
    await events.ended
    expect(events.seen.at(-1)).toEqual({ type: 'turn', status: 'busy', error: null })
  } finally {
    await stopping.close()
  }
}, 120_000)
