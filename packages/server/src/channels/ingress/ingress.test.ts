/** Requests that the ingress accepts and rejects: forged, old, replayed and duplicate ones, unauthorized users, and a failing Slack. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Channel } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { letDie, secondServer, until } from '../../sessions/testing.ts'
import { deliverMessages } from '../outbox/deliver.ts'
import { type ChannelApp, hasMergeButton, makeChannelApp, mention, openCr } from '../testing.ts'
import { eventBody, signed } from '../slack/testing-slack.ts'
import { processEvents } from './process-events.ts'

let app: ChannelApp
let channel: Channel
const never = new AbortController().signal
beforeAll(async () => {
  app = await makeChannelApp({ onPrompt: ({ text }) => `done: ${text}` })
  channel = (await app.connect()).body
  await app.link()
}, 120_000)
afterAll(() => app.close())
beforeEach(async () => {
  app.clock.now += 61_000
  // Ten sessions per minute may start here, and tests are faster.
  await app.deps.db
    .updateTable('channel_threads')
    .set({ created_at: new Date(Date.now() - 3_600_000) })
    .execute()
})

const door = () => `/v1/channels/slack/${app.project.project_id}/events`
const send = (body: string, headers: Record<string, string>, path = door()) =>
  app.request<{ code?: string }>('POST', path, { token: null, body, headers })
const countSessions = async () =>
  (await app.deps.db.selectFrom('project_sessions').select('session_id').execute()).length
const countEvents = async () => (await app.deps.db.selectFrom('channel_events').select('event_row_id').execute()).length

describe('requests that are not from Slack', () => {
  const body = () => eventBody(app.slack, { text: mention(app, 'do something') })
  const good = (text: string) => signed(text, app.slack.secret, app.deps.now(), 'application/json').headers

  test('refuses forged, unsigned, old, early, changed, repeated or misdirected requests before reading them', async () => {
    const before = await countEvents()
    const text = body()
    const headers = good(text)
    const at = (ms: number) => signed(text, app.slack.secret, new Date(app.clock.now + ms), 'application/json').headers
    const { 'x-slack-signature': signature = '', 'x-slack-request-timestamp': time = '' } = headers
    const tries: [string, string, Record<string, string>][] = [
      ['another secret', text, signed(text, 'another-secret', app.deps.now(), 'application/json').headers],
      ['no signature', text, { 'x-slack-request-timestamp': time }],
      ['no time', text, { 'x-slack-signature': signature }],
      ['six minutes old', text, at(-360_000)],
      ['six minutes early', text, at(360_000)],
      ['another time', text, { ...headers, 'x-slack-request-timestamp': String(Number(time) + 1) }],
      ['another body', `${text} `, headers],
      ['two signatures', text, { ...headers, 'x-slack-signature': `${signature}, ${signature}` }],
      ['upper case', text, { ...headers, 'x-slack-signature': signature.toUpperCase() }],
      ['v1', text, { ...headers, 'x-slack-signature': signature.replace('v0', 'v1') }],
      ['cut', text, { ...headers, 'x-slack-signature': signature.slice(0, -1) }],
      ['no number', text, { ...headers, 'x-slack-request-timestamp': '1e9' }],
      ['not JSON, unsigned', '{{{', {}],
    ]
    for (const [what, sent, with_] of tries) {
      const reply = await send(sent, with_)
      expect([what, reply.status, reply.body.code]).toEqual([what, 401, 'unauthenticated'])
    }
    for (const id of [randomUUID(), 'x', (await app.managedProject()).project.project_id])
      expect((await send(text, headers, `/v1/channels/slack/${id}/events`)).status).toBe(401)
    expect(
      (await send(text, { ...headers, authorization: `Bearer ${app.ownerToken}`, 'x-slack-signature': 'v0=' })).status,
    ).toBe(401)
    expect(await countEvents()).toBe(before)
  })

  test('refuses a signed but malformed request, or ignores it', async () => {
    const before = await countEvents()
    for (const text of ['', '{}', '[]', 'null', '{"type":"event_callback"}', '{"type":"\\ud800"}', '"x"'])
      expect([text, (await send(text, good(text))).status]).toEqual([text, 400])
    for (const text of [
      eventBody(app.slack, { text: 'x', more: { bot_id: 'B1' } }),
      eventBody(app.slack, { text: 'x', more: { subtype: 'message_changed' } }),
      eventBody(app.slack, { text: mention(app, 'x'), channel: 'C0ELSEWHERE' }),
      eventBody(app.slack, { text: 'people talk', type: 'message' }),
      eventBody(app.slack, { text: 'in a thread of theirs', type: 'message', thread_ts: '1699999999.000001' }),
      JSON.stringify({ type: 'app_rate_limited', team_id: 'T0ACME', minute_rate_limited: 1 }),
    ])
      expect((await send(text, good(text))).status).toBe(200)
    const large = JSON.stringify({ type: 'event_callback', more: 'x'.repeat(1024 * 1024) })
    expect((await send(large, good(large))).status).toBe(413)
    expect(await countEvents()).toBe(before)
  })

  test("answers Slack's URL verification", async () => {
    const text = JSON.stringify({ type: 'url_verification', challenge: 'abc', token: 'x' })
    expect((await send(text, good(text))).body).toEqual({ challenge: 'abc' } as never)
  })
})

test('repeated deliveries and the two events of one mention start one session', async () => {
  const before = await countSessions()
  const said = { text: mention(app, 'only once'), ts: '1700000200.000001', event_id: 'Ev0SAME' }
  const body = eventBody(app.slack, said)
  const { headers } = signed(body, app.slack.secret, app.deps.now(), 'application/json')
  const retries: Record<string, string>[] = [
    {},
    { 'x-slack-retry-num': '1', 'x-slack-retry-reason': 'http_timeout' },
    { 'x-slack-retry-num': '2' },
  ]
  for (const retry of retries) expect((await send(body, { ...headers, ...retry })).status).toBe(200)
  await app.event({ ...said, event_id: 'Ev0OTHER', type: 'message' })
  await Promise.all([1, 2, 3].map(() => processEvents(app.deps, never)))
  expect((await countSessions()) - before).toBe(1)
  await app.sees('the answer', () =>
    app.slack.thread('1700000200.000001').find((m) => app.slack.textOf(m).includes('done: only once')),
  )
  expect(app.slack.thread('1700000200.000001')).toHaveLength(2)
})

test('a server that dies before it records a session starts no second one and prompts nobody twice', async () => {
  const before = await countSessions()
  await app.event({ text: mention(app, 'once more'), ts: '1700000250.000001' })
  await processEvents(app.deps, never)
  for (const told of ['', null]) {
    await app.deps.db
      .updateTable('channel_events')
      .set({ status: 'waiting', claimed_at: null })
      .where('thread_key', '=', '1700000250.000001')
      .execute()
    if (told === null)
      await app.deps.db
        .updateTable('channel_threads')
        .set({ told, session_id: null })
        .where('thread_key', '=', '1700000250.000001')
        .execute()
    await processEvents(app.deps, never)
  }
  await app.sees('the answer', () =>
    app.slack.thread('1700000250.000001').find((m) => app.slack.textOf(m).includes('done: once more')),
  )
  expect((await countSessions()) - before).toBe(1)
  const [session] = await app.deps.db
    .selectFrom('project_sessions')
    .select('session_id')
    .where('initial_prompt', '=', 'once more')
    .execute()
  const prompts = await app.deps.db
    .selectFrom('session_prompts')
    .select('prompt_id')
    .where('session_id', '=', session!.session_id)
    .execute()
  expect(prompts.length).toBeLessThanOrEqual(1)
  expect(app.slack.thread('1700000250.000001')).toHaveLength(2)
})

describe('permissions in a channel', () => {
  test('a link code belongs to one chat user, links one person and works once', async () => {
    const ada = await app.makeUser('member')
    const other = await app.makeUser('member')
    const stranger = await app.makeUser('owner', 'own')
    await app.event({ text: mention(app, 'link'), user: 'U0EVE' })
    await app.round()
    const code = app.codeFor('U0EVE')
    const claim = (token: string) =>
      app.request<Record<string, string>>('POST', '/v1/channel-links/claim', { token, body: { code } })
    const confirm = (token: string) => app.request('POST', '/v1/channel-links', { token, body: { code } })
    expect((await confirm(ada.token)).status).toBe(404)
    expect((await claim(stranger.token)).status).toBe(403)
    expect((await claim(ada.token)).body).toMatchObject({
      chat_user_name: 'Eve',
      workspace_name: 'Acme',
      user_name: 'A member',
    })
    expect((await claim(other.token)).status).toBe(404)
    expect((await confirm(other.token)).status).toBe(404)
    expect((await confirm(ada.token)).status).toBe(201)
    expect((await confirm(ada.token)).status).toBe(404)
    expect((await app.request('GET', `${app.base}/${channel.channel_id}`)).text).not.toContain(code)

    await app.event({ text: mention(app, 'as Eve'), user: 'U0EVE', ts: '1700000300.000001' })
    await app.round()
    const made = await app.deps.db
      .selectFrom('project_sessions')
      .select('created_by')
      .where('initial_prompt', '=', 'as Eve')
      .execute()
    expect(made).toEqual([{ created_by: ada.user_id }])
    const [link] = (await app.request<{ link_id: string }[]>('GET', '/v1/channel-links', { token: ada.token })).body
    expect((await app.request('DELETE', `/v1/channel-links/${link!.link_id}`, { token: other.token })).status).toBe(404)
    expect((await app.request('DELETE', `/v1/channel-links/${link!.link_id}`, { token: ada.token })).status).toBe(200)
  })

  test('refuses an expired link code', async () => {
    await app.event({ text: mention(app, 'link'), user: 'U0EVE' })
    await app.round()
    const code = app.codeFor('U0EVE')
    app.clock.now += 16 * 60_000
    expect((await app.request('POST', '/v1/channel-links/claim', { body: { code } })).status).toBe(404)
  })

  test('a viewer starts nothing, and an unlinked person merges nothing even where unlinked people may start', async () => {
    const viewer = await app.makeUser('viewer')
    app.slack.users.set('U0VIEW', { name: 'Vi' })
    await app.link('U0VIEW', viewer.token)
    const before = await countSessions()
    await app.event({ text: mention(app, 'as a viewer'), user: 'U0VIEW' })
    await app.sees('a refusal', () =>
      app.slack.messages.find((m) => m.user === 'U0VIEW' && app.slack.textOf(m).includes('viewer')),
    )
    expect(await countSessions()).toBe(before)

    const path = `${app.base}/${channel.channel_id}`
    expect(
      (await app.request<Channel>('PATCH', path, { body: { allow_unlinked: true } })).body.allow_unlinked,
    ).toBeTrue()
    app.slack.users.set('U0GUEST', { name: 'Guest', is_restricted: true })
    app.slack.users.set('U0OUT', { name: 'Out', team_id: 'T0OTHER' })
    await app.event({ text: mention(app, 'as a guest'), user: 'U0GUEST' })
    await app.event({ text: mention(app, 'from outside'), user: 'U0OUT', more: { user_team: 'T0OTHER' } })
    await app.round()
    expect(await countSessions()).toBe(before)
    await app.event({ text: mention(app, 'as anybody'), user: 'U0EVE', ts: '1700000400.000001' })
    await app.round()
    expect(await countSessions()).toBe(before + 1)
    const [made] = await app.deps.db
      .selectFrom('audit_events')
      .selectAll()
      .where('action', '=', 'session.create')
      .orderBy('event_id', 'desc')
      .limit(1)
      .execute()
    expect(made).toMatchObject({ actor_kind: 'service', actor_user_id: app.owner.user_id, address: 'slack' })

    const card = await cardOf('unlinked-merge')
    await app.press({ message: card, user: 'U0EVE' })
    await app.sees('a refusal', () =>
      app.slack.messages.find((m) => m.user === 'U0EVE' && app.slack.textOf(m).includes('Nothing was merged')),
    )
    expect(await statusOf('unlinked-merge')).toBe('open')
    await app.request('PATCH', path, { body: { allow_unlinked: false } })
  })
})

async function cardOf(branch: string) {
  await app.manifest('[[channels]]\nplatform = "slack"\nevents = ["change_request.*"]\n')
  await commit(app.repo, branch, { [`${branch}.txt`]: 'a\n' })
  const cr = await openCr(app, branch)
  return app.sees('a card', () =>
    app.slack.messages.find((m) => m.text.startsWith(`#${cr.number} `) && hasMergeButton(m)),
  )
}

async function statusOf(branch: string): Promise<string | undefined> {
  const row = await app.deps.db
    .selectFrom('change_requests')
    .select('status')
    .where('head_ref', '=', branch)
    .executeTakeFirst()
  return row?.status
}

describe('the merge button', () => {
  const refusal = (what: string) =>
    app.sees(what, () => app.slack.messages.find((m) => m.user === 'U0ADA' && app.slack.textOf(m).includes(what)))

  test('merges only the head that its card shows', async () => {
    const card = await cardOf('moves')
    const value = card.blocks.flatMap(({ elements }) => elements ?? []).find((e) => e.value !== undefined)!.value!
    await commit(app.repo, 'moves', { 'moves.txt': 'b\n' })
    await app.press({ message: card, value })
    await refusal('moved since the card was posted')
    expect(await statusOf('moves')).toBe('open')
    await app.sees('the card is drawn anew', () => !JSON.stringify(card.blocks).includes(JSON.parse(value).head))
    await app.press({ message: card })
    await app.sees('merged', async () => (await statusOf('moves')) === 'merged')
  })

  test('reports conflicts, which the card shows as well', async () => {
    const card = await cardOf('fights')
    const value = card.blocks.flatMap(({ elements }) => elements ?? []).find((e) => e.value !== undefined)!.value!
    await commit(app.repo, 'main', { 'fights.txt': 'main\n' })
    await app.press({ message: card, value })
    await refusal('conflicts with its base in fights.txt')
    await app.sees('no button', () => !hasMergeButton(card) && app.slack.textOf(card).includes('*conflicts in 1 file*'))
  })

  test('refuses a forged button value for a change request of another project', async () => {
    const card = await cardOf('guarded')
    const other = await app.managedProject()
    await commit(other.repo, 'theirs', { 'x.txt': 'x\n' })
    const theirs = await app.request<{ cr_id: string; head_commit_sha: string }>(
      'POST',
      `/v1/projects/${other.project.project_id}/change-requests`,
      {
        body: { title: 'theirs', head_ref: 'theirs' },
      },
    )
    await app.press({
      message: card,
      value: JSON.stringify({ cr: theirs.body.cr_id, head: theirs.body.head_commit_sha }),
    })
    await refusal('There is no such change request')
    for (const value of ['', '{}', 'x', '{"cr":"1","head":"2"}']) await app.press({ message: card, value })
  })
})

describe('sending messages', () => {
  const posts = () => app.slack.calls.filter(({ method }) => method === 'chat.postMessage').length

  test('waits as long as Slack asks, for the whole channel, and loses nothing', async () => {
    app.slack.trouble('chat.postMessage', { kind: 'limited', seconds: 90 })
    await app.event({ text: mention(app, 'limited'), ts: '1700000500.000001' })
    await processEvents(app.deps, never)
    await deliverMessages(app.deps, never)
    const asked = posts()
    app.clock.now += 80_000
    await deliverMessages(app.deps, never)
    expect(posts()).toBe(asked)
    app.clock.now += 11_000
    await app.sees('it is there', () =>
      app.slack.thread('1700000500.000001').find((m) => app.slack.textOf(m).includes('done: limited')),
    )
  })

  test("retries after proxy pages, truncated replies and Slack's failures, in the order of the thread", async () => {
    app.slack.trouble(
      'chat.postMessage',
      { kind: 'page', status: 502 },
      { kind: 'page', status: 200 },
      { kind: 'error', code: 'internal_error' },
      { kind: 'answer', text: '{"ok":true}' },
      { kind: 'answer', text: 'null' },
      { kind: 'answer', text: 'x'.repeat(2 * 1024 * 1024) },
    )
    await app.event({ text: mention(app, 'trouble'), ts: '1700000600.000001' })
    await app.sees('the answer', () =>
      app.slack.thread('1700000600.000001').find((m) => app.slack.textOf(m).includes('done: trouble')),
    )
    const [first] = app.slack.thread('1700000600.000001')
    expect(app.slack.textOf(first!)).toContain('needs you')
  })

  test('reports what is broken and continues after it is fixed', async () => {
    app.slack.trouble('chat.postMessage', { kind: 'error', code: 'is_archived' })
    await app.event({ text: mention(app, 'archived'), ts: '1700000700.000001' })
    const shown = () =>
      app.request<Channel & { deliveries: { error: string | null; status: string }[] }>(
        'GET',
        `${app.base}/${channel.channel_id}`,
      )
    await app.sees('the trouble', async () => (await shown()).body.error?.includes('archived'))
    expect(
      (await shown()).body.deliveries.some(
        ({ error, status }) => status === 'waiting' && error?.includes('is_archived'),
      ),
    ).toBeTrue()
    app.clock.now += 301_000
    await app.sees('the answer', () =>
      app.slack.thread('1700000700.000001').find((m) => app.slack.textOf(m).includes('done: archived')),
    )
    expect((await shown()).body.error).toBeNull()
  })

  test('another server sends the messages of a server that died', async () => {
    const other = await secondServer(app)
    try {
      app.slack.trouble('chat.postMessage', { kind: 'hang' })
      await app.event({ text: mention(app, 'killed'), ts: '1700000800.000001' })
      await processEvents(other.deps, never)
      const hung = deliverMessages(other.deps, never)
      await until('it hangs', () => app.slack.calls.some(({ body }) => body.thread_ts === '1700000800.000001'))
      await deliverMessages(app.deps, never)
      expect(app.slack.thread('1700000800.000001')).toEqual([])
      await letDie(other.deps)
      await deliverMessages(app.deps, never)
      expect(app.slack.thread('1700000800.000001')).toHaveLength(1)
      app.slack.release()
      await hung
      // A late result of the crashed server changes nothing, because its claim was taken over.
      await app.round()
      expect(app.slack.thread('1700000800.000001').length).toBeGreaterThan(0)
    } finally {
      await other.close()
    }
  }, 120_000)
})

test('text by an agent mentions nobody, links nowhere else, and contains no secret', async () => {
  const secret = 'canary-value-of-a-secret'
  await app.request('POST', `/v1/projects/${app.project.project_id}/secrets`, {
    body: { name: 'TOKEN', value: secret },
  })
  const hostile = `<!channel> <@U0ADA> <https://evil.test|good.test> [good](https://evil.test) & ${secret}\n\`\`\`\n<!here>\n\`\`\`\n${'long '.repeat(4000)}`
  app.driver.options.onPrompt = () => hostile
  await app.event({ text: mention(app, 'be hostile'), ts: '1700000900.000001' })
  const answer = await app.sees('the answer', () =>
    app.slack.thread('1700000900.000001').find((m) => app.slack.textOf(m).includes('evil.test')),
  )
  const written = JSON.stringify([answer.text, answer.blocks])
  expect(written).not.toMatch(/<[!@]/)
  expect(written).not.toContain('<https://evil.test')
  expect(written).not.toContain(secret)
  expect(written).toContain('good (https://evil.test)')
  expect(answer.blocks.filter(({ type }) => type === 'section').every(({ text }) => text?.verbatim === true)).toBeTrue()
  expect(app.slack.textOf(answer)).toContain('full answer')
  expect(written.length).toBeLessThan(14_000)
})
