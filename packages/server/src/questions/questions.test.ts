/** Questions of agents at the HTTP entry: how they open, who may answer, and what reaches the runtime. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ProjectEvent, ProjectEventPage, Question, Session } from '@svc/contract'
import type { FakeReply } from '@svc/sandbox/testing'
import { sql } from 'kysely'
import { buildApp } from '../app.ts'
import { sweepIdleSessions, tendQuestions } from '../sessions/jobs.ts'
import { makeFamily, tokenOf } from '../sessions/testing-family.ts'
import {
  makeSessionApp,
  readEvents,
  type RunningSession,
  secondServer,
  type SessionApp,
  until,
} from '../sessions/testing.ts'

const secret = 'canary-value-of-a-secret-0123'
let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp({ configure: { waitingMinutes: 90 } })
  const set = await app.request('POST', `/v1/projects/${app.project.project_id}/secrets`, {
    body: { name: 'CANARY', value: secret },
  })
  expect(set.status).toBe(200)
}, 120_000)
afterAll(() => app.close())

type Refused = { code?: string; error?: string; hint?: string }
const questionsPath = (session: Session) => app.path(session.session_id, 'questions')
const list = async (session: Session, query = '') =>
  (await app.request<{ questions: Question[] }>('GET', `${questionsPath(session)}${query}`)).body.questions
const answer = (session: Session, questionId: string, text: string, token = app.ownerToken) =>
  app.request<Question & Refused>('POST', `${questionsPath(session)}/${questionId}/answer`, {
    body: { answer: text },
    token,
  })
const agentOf = (session: RunningSession) => app.driver.questions(session.sandbox!.sandbox_id)
const openOf = (session: Session, count = 1) =>
  until(`${count} open questions`, async () => {
    const open = await list(session, '?status=open')
    return open.length === count ? open : null
  })
const settled = (session: Session, questionId: string) =>
  until('the question is settled', async () => {
    const found = (await list(session)).find(({ question_id }) => question_id === questionId)
    return found === undefined || found.status === 'open' ? null : found
  })
const waitingFor = async (session: Session) => (await app.session(session.session_id)).waiting_for
const bash = { permission: 'bash', patterns: ['npm publish'], always: ['npm *'] }

/** An agent at work that waits for a permission. */
async function asking(): Promise<{ session: RunningSession; question: Question; reply: Promise<FakeReply> }> {
  const session = await app.running()
  const replied = Promise.withResolvers<FakeReply>()
  app.driver.options.onPrompt = async () => {
    const reply = await agentOf(session).askPermission(bash)
    replied.resolve(reply)
    return `The person said ${JSON.stringify(reply)}`
  }
  await app.request('POST', app.path(session.session_id, 'prompt'), { body: { text: 'publish it' } })
  const [question] = await openOf(session)
  return { session, question: question!, reply: replied.promise }
}

describe('permissions', () => {
  test('a person answers a permission, and the agent continues', async () => {
    const { session, question, reply } = await asking()
    expect(question).toEqual({
      question_id: expect.any(String),
      kind: 'permission',
      title: 'Run a command',
      ...{ detail: 'npm publish\n\n"Always" allows: npm *', note: '"Always" allows: npm *' },
      options: [
        { value: 'once', label: 'Allow once' },
        { value: 'always', label: 'Always allow in this session' },
        { value: 'reject', label: 'Deny' },
      ],
      ...{ status: 'open', answer: null, asked_at: expect.any(String), answered_by: null, reason: null },
    })
    expect(await waitingFor(session)).toBe('person')
    const listed = (await app.request<Session[]>('GET', app.path())).body
    expect(listed.find(({ session_id }) => session_id === session.session_id)?.waiting_for).toBe('person')

    const answered = await answer(session, question.question_id, 'once')
    expect(answered.status).toBe(200)
    expect(answered.body).toMatchObject({ status: 'answered', answer: 'once', answered_by: app.owner.user_id })
    expect(await reply).toEqual({ kind: 'replied', body: { reply: 'once' } })
    expect(await waitingFor(session)).toBeNull()
    const again = await answer(session, question.question_id, 'reject')
    expect([again.status, again.body.error]).toEqual([409, 'This question has been answered already.'])
    const about = { question_id: question.question_id, kind: 'permission', title: 'Run a command' }
    const seen = (await eventsOf(session)).filter(({ type }) => type.startsWith('session.question'))
    expect(
      seen.map(({ type, actor, data }) => [type, actor?.user_id ?? null, 'question' in data && data.question]),
    ).toEqual([
      ['session.question_asked', null, { ...about, status: 'open' }],
      ['session.question_answered', app.owner.user_id, { ...about, status: 'answered' }],
    ] as never)
  })

  test('hides the title from the agent of another session in every event', async () => {
    const { session, question } = await asking()
    const other = await app.running()
    const titlesFor = async (token?: string) => {
      const path = `/v1/projects/${app.project.project_id}/events?limit=1000`
      const { body } = await app.request<ProjectEventPage>('GET', path, token === undefined ? {} : { token })
      const asked = body.events.filter(({ data }) => 'session_id' in data && data.session_id === session.session_id)
      return asked.flatMap(({ data }) => ('question' in data && data.question ? [data.question.title] : []))
    }
    expect(await titlesFor(other.env.SVC_CLI_TOKEN!)).toEqual([''])
    expect(await titlesFor(session.env.SVC_CLI_TOKEN!)).toEqual(['Run a command'])
    expect(await titlesFor()).toEqual(['Run a command'])
    await answer(session, question.question_id, 'reject')
  })

  test('accepts only its own options', async () => {
    const { session, question } = await asking()
    const wrong = await answer(session, question.question_id, 'yes, please')
    expect([wrong.status, wrong.body.hint]).toEqual([400, 'Answer with one of: once, always, reject'])
    expect((await answer(session, crypto.randomUUID(), 'once')).status).toBe(404)
    const other = await app.running()
    expect((await answer(other, question.question_id, 'once')).status).toBe(404)
    await answer(session, question.question_id, 'reject')
  })

  test('only people can answer, not the token of a sandbox', async () => {
    const family = await makeFamily(app)
    for (const asker of [family.own, family.child]) {
      void agentOf(asker).askPermission(bash)
      const [question] = await openOf(asker)
      // Tokens of the session itself, of its parent, of its child, and of an unrelated session.
      for (const token of [family.own, family.child, family.other].map(tokenOf)) {
        expect((await answer(asker, question!.question_id, 'once', token)).status).toBe(403)
      }
      const unbound = await app.makeToken({ project_id: app.project.project_id })
      expect((await answer(asker, question!.question_id, 'once', unbound)).status).toBe(403)
      const viewer = await app.makeUser('viewer')
      expect((await answer(asker, question!.question_id, 'once', viewer.token)).status).toBe(403)
      expect((await list(asker, '?status=open')).length).toBe(1)
      const member = await app.makeUser('member')
      expect((await answer(asker, question!.question_id, 'once', member.token)).status).toBe(200)
    }
  })

  test('refuses an answer through the URL of the sandbox, too', async () => {
    const { own, token } = await makeFamily(app)
    const reply = agentOf(own).askPermission(bash)
    const [question] = await openOf(own)
    const { body: pending } = await app.request<{ id: string }[]>(
      'GET',
      new URL(`${own.sandbox_url}/permission`).pathname,
    )
    const path = new URL(`${own.sandbox_url}/permission/${pending[0]!.id}/reply`).pathname
    const send = (with_: string) => app.request<Refused>('POST', path, { body: { reply: 'always' }, token: with_ })
    expect([(await send(token)).status, (await list(own))[0]!.status]).toEqual([403, 'open'])
    // A person who answers in the runtime itself has answered.
    expect((await send(app.ownerToken)).status).toBe(200)
    expect(await reply).toEqual({ kind: 'replied', body: { reply: 'always' } })
    expect(await settled(own, question!.question_id)).toMatchObject({ status: 'answered', answer: 'always' })
  })

  test('shows a whole command, and a change with its diff', async () => {
    const session = await app.running()
    const agent = agentOf(session)
    const command = 'cd /tmp && npm publish; echo done'
    void agent.askPermission({ ...bash, patterns: ['cd /tmp', 'npm publish', 'echo done'], metadata: { command } })
    const [run] = await openOf(session)
    const note = '"Always" allows: npm *'
    expect([run!.detail, run!.note]).toEqual([`${command}\n\n${note}`, note])
    const diff = '-old\n+new\n'
    void agent.askPermission({ permission: 'edit', patterns: ['a.txt'], metadata: { filepath: 'a.txt', diff } })
    const [edit] = await openOf(session, 2)
    expect([edit!.title, edit!.detail, edit!.note]).toEqual(['Change a file', `a.txt\n\n${diff}`, ''])
  })

  test('shows everything that "always" allows, beside a long command too, or does not offer it', async () => {
    const session = await app.running()
    const agent = agentOf(session)
    void agent.askPermission({ ...bash, metadata: { command: 'x'.repeat(10_000) } })
    const [long] = await openOf(session)
    expect([long!.detail.length, long!.note]).toEqual([8_000, '"Always" allows: npm *'])
    expect(long!.detail).toMatch(/^x+…\n\n"Always" allows: npm \*$/)
    const tooMany = Array.from({ length: 21 }, (_, at) => `npm ${at} *`)
    for (const [at, always] of [tooMany, ['y'.repeat(3_000)]].entries()) {
      void agent.askPermission({ ...bash, always })
      const [asked] = await openOf(session, at + 2)
      expect([asked!.note, asked!.options.map(({ value }) => value)]).toEqual(['', ['once', 'reject']])
    }
  })

  test('contains no secret of the session', async () => {
    const session = await app.running()
    void agentOf(session).askPermission({ permission: `tool-${secret}`, patterns: [`echo ${secret}`] })
    const [question] = await openOf(session)
    expect(JSON.stringify(question)).not.toContain(secret)
    expect(JSON.stringify(await eventsOf(session))).not.toContain(secret)
    // At the place of a cut, too.
    const long = (charsMax: number) => `${'x'.repeat(charsMax - 10)}${secret}`
    const options = [{ label: long(200), description: '' }]
    void agentOf(session).askQuestions([{ question: long(300), options }])
    void agentOf(session).askPermission({ ...bash, metadata: { command: long(8_000) } })
    expect(JSON.stringify(await openOf(session, 3))).not.toContain(secret.slice(0, 9))
    expect(question!.options.map(({ value }) => value)).toEqual(['once', 'reject'])
  })

  test('truncates a permission that is too long, whatever the runtime sends', async () => {
    const session = await app.running()
    void agentOf(session).askPermission({
      ...{ permission: 'x'.repeat(5_000), patterns: ['a\0b'.repeat(20_000)], always: ['\ud800'] },
      metadata: { diff: 7, path: 'p'.repeat(100_000) },
    })
    const [question] = await openOf(session)
    expect([question!.title.length, question!.detail.length]).toEqual([300, 8_000])
  })
})

async function eventsOf(session: Session): Promise<ProjectEvent[]> {
  const { body } = await app.request<{ events: ProjectEvent[] }>(
    'GET',
    `/v1/projects/${app.project.project_id}/events?limit=1000`,
    { headers: { accept: 'application/json' } },
  )
  return body.events.filter(({ data }) => 'session_id' in data && data.session_id === session.session_id)
}

describe('questions of an agent', () => {
  const colour = {
    question: 'Which colour?',
    options: [
      { label: 'Red', description: 'Warm' },
      { label: 'Blue', description: 'Cold' },
    ],
  }

  test('a person answers each question by an option or freely, and the answers are delivered together', async () => {
    const session = await app.running()
    const reply = agentOf(session).askQuestions([
      colour,
      { ...colour, question: 'Which ones?', multiple: true },
      { question: 'Why?', options: [] },
    ])
    const asked = (await openOf(session, 3)).toReversed()
    expect(asked.map(({ kind, title, detail }) => [kind, title, detail])).toEqual([
      ['question', 'Which colour?', 'Red: Warm\nBlue: Cold'],
      ['question', 'Which ones?', 'Red: Warm\nBlue: Cold\n\nSeveral answers are possible, one per line.'],
      ['question', 'Why?', ''],
    ])
    const [one, ones, why] = asked.map(({ question_id }) => question_id) as [string, string, string]
    expect((await answer(session, one, 'Blue')).body.status).toBe('answered')
    expect((await answer(session, why, 'Because I say so')).body.status).toBe('answered')
    expect(await waitingFor(session)).toBe('person')
    await answer(session, ones, 'Red\nBlue')
    expect(await reply).toEqual({
      kind: 'replied',
      body: { answers: [['Blue'], ['Red', 'Blue'], ['Because I say so']] },
    })
    expect(await waitingFor(session)).toBeNull()
  })

  test('lists questions newest first, in pages', async () => {
    const session = await app.running()
    for (const name of ['first', 'second', 'third']) {
      void agentOf(session).askQuestions([{ question: name, options: [] }])
      await until('it is there', async () => (await list(session)).some(({ title }) => title === name))
    }
    const titles = (questions: Question[]) => questions.map(({ title }) => title)
    expect(titles(await list(session))).toEqual(['third', 'second', 'first'])
    const page = await app.request<{ questions: Question[] }>('GET', `${questionsPath(session)}?limit=2`)
    expect(titles(page.body.questions)).toEqual(['third', 'second'])
    const next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] ?? ''
    const { pathname, search } = new URL(next, app.deps.config.publicUrl)
    const rest = await app.request<{ questions: Question[] }>('GET', pathname + search)
    expect(titles(rest.body.questions)).toEqual(['first'])
  })
})

describe('questions without an answer', () => {
  test('expires when the session stops, and refuses it to the runtime', async () => {
    const { session, question, reply } = await asking()
    expect((await app.request('POST', app.path(session.session_id, 'stop'))).status).toBe(200)
    const reason = 'The sandbox of the session ended before the question was answered.'
    expect((await list(session))[0]).toMatchObject({ status: 'expired', answer: null, reason })
    expect(await reply).toEqual({ kind: 'replied', body: { reply: 'reject', message: reason } })
    expect(await waitingFor(session)).toBeNull()
    const late = await answer(session, question.question_id, 'once')
    expect([late.status, late.body.error]).toEqual([409, `This question has expired. ${reason}`])
    const last = (await eventsOf(session)).findLast(({ type }) => type === 'session.question_answered')
    expect(last?.data).toMatchObject({ reason, question: { status: 'expired' } })
  })

  test('expires when the sandbox ends by itself', async () => {
    const { session, question } = await asking()
    await app.driver.crash(session.sandbox!.sandbox_id)
    await app.reaches(session.session_id, 'failed')
    expect((await settled(session, question.question_id)).status).toBe('expired')
  })

  test('expires when the agent no longer asks', async () => {
    const { session, question } = await asking()
    // An aborted turn withdraws its questions without an event.
    agentOf(session).withdraw()
    expect(await settled(session, question.question_id)).toMatchObject({
      ...{ status: 'expired', reason: 'The agent withdrew the question.' },
    })
  })

  test('does not keep the session busy forever', async () => {
    const { session } = await asking()
    const age = (minutes: number) =>
      sql`update project_sessions set last_active_at = now() - make_interval(mins => ${minutes})
        where session_id = ${session.session_id}`.execute(app.deps.db)
    await age(89)
    await sweepIdleSessions(app.deps)
    await app.deps.sessions.reconcile(session.session_id)
    expect((await app.session(session.session_id)).status).toBe('running')
    await age(91)
    await sweepIdleSessions(app.deps)
    const stopped = await app.reaches(session.session_id, 'stopped')
    expect([stopped.error, stopped.waiting_for]).toEqual(['The agent waited 2 hours for an answer.', null])
  })
})

describe('open questions', () => {
  test('finds each open question once after the event stream was interrupted', async () => {
    const session = await app.running()
    const agent = agentOf(session)
    void agent.askPermission(bash)
    const [first] = await openOf(session)
    app.driver.cutEvents(session.sandbox!.sandbox_id)
    const reply = agent.askPermission({ ...bash, patterns: ['npm test'] })
    const open = await openOf(session, 2)
    expect(open.map(({ question_id }) => question_id)).toContain(first!.question_id)
    app.driver.cutEvents(session.sandbox!.sandbox_id)
    await answer(session, open.find(({ detail }) => detail.startsWith('npm test'))!.question_id, 'once')
    expect((await reply).kind).toBe('replied')
    expect((await list(session)).map(({ status }) => status).toSorted()).toEqual(['answered', 'open'])
  })

  test('answers a question on a server that does not run the sandbox', async () => {
    const { session, question, reply } = await asking()
    const other = await secondServer(app)
    const path = `${questionsPath(session)}/${question.question_id}/answer`
    const answered = await other.request<Question>('POST', path, { body: { answer: 'once' } })
    expect([answered.status, answered.body.status]).toEqual([200, 'answered'])
    await tendQuestions(app.deps)
    expect(await reply).toEqual({ kind: 'replied', body: { reply: 'once' } })
    await other.close()
  })

  test('reaches every reader of the event stream, also one that connects later', async () => {
    const { session, question } = await asking()
    const { publicUrl } = app.deps.config
    const open = async () =>
      readEvents(
        await buildApp(app.deps).request(publicUrl + app.path(session.session_id, 'events'), {
          headers: { host: new URL(publicUrl).host, authorization: `Bearer ${app.ownerToken}` },
        }),
      )
    const events = await open()
    const isOurs = (status: string) => (event: { type: string; question?: Question }) =>
      event.type === 'question' &&
      event.question?.question_id === question.question_id &&
      event.question.status === status
    await events.find('the open question', isOurs('open') as never)
    await answer(session, question.question_id, 'once')
    await events.find('its answer', isOurs('answered') as never)
    await events.find(
      'the session waits no more',
      (event) => event.type === 'session' && event.session.waiting_for === null,
    )
    await events.close()
  })

  test('comes after what the agent wrote before it asked', async () => {
    const session = await app.running()
    const { publicUrl } = app.deps.config
    const events = readEvents(
      await buildApp(app.deps).request(publicUrl + app.path(session.session_id, 'events'), {
        headers: { host: new URL(publicUrl).host, authorization: `Bearer ${app.ownerToken}` },
      }),
    )
    app.driver.options.onStream = async function* ({ sandboxId }) {
      yield 'Let me do that.'
      await app.driver.questions(sandboxId).askPermission(bash)
      yield ' Done.'
    }
    await app.request('POST', app.path(session.session_id, 'prompt'), { body: { text: 'publish it' } })
    const asked = await events.find('the question', (event) => event.type === 'question')
    delete app.driver.options.onStream
    const before = events.seen
      .slice(0, events.seen.indexOf(asked))
      .flatMap((event) => (event.type === 'message' && event.message.role === 'assistant' ? event.message.parts : []))
    // The last word of a text that may still grow is not shown yet.
    expect(before.at(-1)).toMatchObject({ type: 'text', text: 'Let me do ' })
    await events.close()
  })

  test('limits the questions of a runtime that asks without end', async () => {
    const session = await app.running()
    const agent = agentOf(session)
    for (let n = 0; n < 60; n++) void agent.askPermission({ ...bash, patterns: [`run ${n}`] })
    await openOf(session, 50)
    void agent.askPermission({ ...bash, patterns: ['one more'] })
    app.driver.cutEvents(session.sandbox!.sandbox_id)
    await answer(session, (await list(session))[0]!.question_id, 'once')
    expect((await list(session, '?status=open')).length).toBeLessThanOrEqual(50)
  })
})
