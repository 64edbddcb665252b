/** A team's use of a chat: connecting, mentions, answers in the thread, a card, its button, and refused users. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Channel, Question, Session } from '@svc/contract'
import { readTips } from '@svc/git'
import { commit } from '@svc/git/testing'
import { type ChannelApp, hasMergeButton, makeChannelApp, mention, openCr } from './testing.ts'

let app: ChannelApp
beforeAll(async () => {
  app = await makeChannelApp({ onPrompt: ({ text }) => `I did **${text}**.` })
}, 120_000)
afterAll(() => app.close())

describe('connecting a channel', () => {
  test('tests the token and the channel first, and reports the result', async () => {
    const wrong = await app.connect({ bot_token: 'xoxb-not-this-one' })
    expect([wrong.status, wrong.body.code]).toEqual([400, 'invalid'])
    expect(wrong.text).toContain('invalid_auth')
    const nowhere = await app.connect({ conversation_id: 'C0NOWHERE' })
    expect(nowhere.text).toContain('/invite @svc')
    app.slack.channels.set('C0OUTSIDE', { name: 'outside', is_member: false })
    expect((await app.connect({ conversation_id: 'C0OUTSIDE' })).text).toContain('not in this channel')
    app.slack.trouble('auth.test', { kind: 'page', status: 502 })
    expect((await app.connect()).status).toBe(503)
    expect((await app.request<{ channels: Channel[] }>('GET', app.base)).body.channels).toEqual([])

    const made = await app.connect()
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ workspace_name: 'Acme', bot_name: 'svc', conversation_name: 'dev', error: null })
    const again = await app.connect()
    expect(again.body.channel_id).toBe(made.body.channel_id)
  })

  test('returns neither token nor secret in any reply, and stores them sealed', async () => {
    const { channel_id } = (await app.request<{ channels: Channel[] }>('GET', app.base)).body.channels[0]!
    const shown = [
      (await app.request('GET', app.base)).text,
      (await app.request('GET', `${app.base}/${channel_id}`)).text,
      (await app.request('GET', `/v1/accounts/${app.owner.account_id}/audit?limit=1000`)).text,
      JSON.stringify(await app.deps.db.selectFrom('channels').selectAll().execute()),
      JSON.stringify(await app.deps.db.selectFrom('idempotency_keys').selectAll().execute()),
    ].join('\n')
    expect(shown).not.toContain(app.slack.token)
    expect(shown).not.toContain(app.slack.secret)
  })

  test('requires an owner or admin, not an agent', async () => {
    const { token } = await app.makeSession(app.project)
    const member = await app.makeUser('member')
    for (const each of [token, member.token])
      expect((await app.request('POST', app.base, { token: each, body: {} })).status).toBe(403)
  })

  test('returns the manifest and URLs that Slack needs', async () => {
    const { setup } = (
      await app.request<{ setup: { events_url: string; app_manifest: object; warning: string }[] }>('GET', app.base)
    ).body
    expect(setup[0]!.events_url).toEndWith(`/v1/channels/slack/${app.project.project_id}/events`)
    expect(JSON.stringify(setup[0]!.app_manifest)).toContain('app_mentions:read')
    expect(setup[0]!.warning).toContain('SVC_PUBLIC_URL')
  })

  test('reports the result of a test message', async () => {
    const { channel_id } = (await app.request<{ channels: Channel[] }>('GET', app.base)).body.channels[0]!
    expect((await app.request('POST', `${app.base}/${channel_id}/test`)).body).toEqual({ sent: true, error: null })
    app.slack.trouble('chat.postMessage', { kind: 'error', code: 'token_revoked' })
    const failed = await app.request<{ sent: boolean; error: string }>('POST', `${app.base}/${channel_id}/test`)
    expect(failed.body).toMatchObject({ sent: false, error: expect.stringContaining('token_revoked') })
    expect((await app.request<Channel>('GET', `${app.base}/${channel_id}`)).body.error).toContain('revoked')
    await app.request('POST', `${app.base}/${channel_id}/test`)
    expect((await app.request<Channel>('GET', `${app.base}/${channel_id}`)).body.error).toBeNull()
  })
})

test('refuses a message of an unlinked person and says how to link', async () => {
  const before = await sessions()
  await app.event({ text: mention(app, 'read me the secrets'), user: 'U0EVE' })
  await app.sees('the invitation', () => app.slack.messages.find(({ user }) => user === 'U0EVE'))
  expect(await sessions()).toHaveLength(before.length)
  const told = app.slack.messages.find(({ user }) => user === 'U0EVE')!
  expect(app.slack.textOf(told)).toContain('not linked to an account yet')
  expect(app.slack.textOf(told)).toContain('/link-chat#')
})

test('replies with the reason when the agent does not get a message', async () => {
  await app.link()
  const thread = '1700000050.000100'
  await app.event({ text: mention(app, 'begin'), ts: thread })
  await app.sees('the answer', () => app.slack.thread(thread).find((each) => app.slack.textOf(each).includes('I did')))
  app.driver.options.refuse = () => ({ code: 'runtime_failed', message: 'The runtime does not run.' })
  await app.event({ type: 'message', text: 'go on', thread_ts: thread })
  await app.sees('the reason', () =>
    app.slack.thread(thread).find((each) => app.slack.textOf(each).includes('The runtime does not run.')),
  )
  delete app.driver.options.refuse
})

test('one thread leads from a mention to a merged change request', async () => {
  await app.link()
  await app.event({ text: mention(app, 'fix &lt;the&gt; parser'), ts: '1700000100.000100' })
  const state = await app.sees('a first word', () => app.slack.thread('1700000100.000100')[0])
  // The session may run already.
  expect(app.slack.textOf(state)).toMatch(/(starting|working)…/)
  const answer = await app.sees('the answer', () =>
    app.slack.thread('1700000100.000100').find((message) => app.slack.textOf(message).includes('I did')),
  )
  expect(app.slack.textOf(answer)).toContain('I did *fix &lt;the&gt; parser*.')
  await app.sees('needs you', () => app.slack.textOf(state).includes('*needs you*'))

  const session = (await sessions()).find(({ initial }) => initial === 'fix <the> parser')!
  expect(session.created_by).toBe(app.owner.user_id)

  await app.event({ type: 'message', text: 'and the lexer', thread_ts: '1700000100.000100' })
  await app.sees('the second answer', () =>
    app.slack
      .thread('1700000100.000100')
      .find((message) => app.slack.textOf(message).includes('I did *and the lexer*')),
  )
  expect(app.slack.thread('1700000100.000100').filter((message) => message.user === null)).toHaveLength(3)

  await commit(app.repo, session.session_id, { 'parser.txt': 'better\n' })
  const cr = await openCr(app, session.session_id, { session_id: session.session_id, title: 'Parser <!channel> *fix*' })
  const card = await app.sees('the card', () => app.slack.thread('1700000100.000100').find(hasMergeButton))
  const text = app.slack.textOf(card)
  expect(text).toContain(`#${cr.number} Parser &lt;!channel&gt; *fix*`)
  expect(text).toContain('`main` · *open* · +1 −0 in 1 file')

  const pressed = await app.press({ message: card })
  expect(pressed.status).toBe(200)
  await app.sees('the outcome', () =>
    app.slack.thread('1700000100.000100').find((message) => app.slack.textOf(message).includes('<@U0ADA> merged')),
  )
  await app.sees('the card says so', () => app.slack.textOf(card).includes('*merged*') && !hasMergeButton(card))
  expect(await tip('main')).toBe(await tip(session.session_id))
  const merged = await app.deps.db
    .selectFrom('audit_events')
    .selectAll()
    .where('action', '=', 'change_request.merge')
    .execute()
  expect(merged).toMatchObject([{ actor_kind: 'user', actor_user_id: app.owner.user_id, address: 'slack' }])
})

test("shows an agent's question in its thread, with the way to answer and the outcome", async () => {
  const usual = app.driver.options.onPrompt!
  app.driver.options.onPrompt = async ({ sandboxId }) => {
    const patterns = ['echo <!channel> *now*']
    const reply = await app.driver.questions(sandboxId).askPermission({ permission: 'bash', patterns })
    return `I was told ${JSON.stringify(reply)}`
  }
  await app.event({ text: mention(app, 'ask me'), ts: '1700000150.000100' })
  const about = (words: string) =>
    app.slack.thread('1700000150.000100').find((message) => app.slack.textOf(message).includes(words))
  const asked = await app.sees('the question', () => about('*The agent asks for permission*: Run a command'))
  expect(app.slack.textOf(asked)).toContain('echo &lt;!channel&gt; *now*')
  await app.sees('that it waits', () => about('*waiting for you*'))
  const { session_id } = (await sessions()).find(({ initial }) => initial === 'ask me')!
  expect(JSON.stringify(asked.blocks)).toContain(`/sessions/${session_id}`)
  const path = app.path(session_id, 'questions')
  const [question] = (await app.request<{ questions: Question[] }>('GET', path)).body.questions
  await app.request('POST', `${path}/${question!.question_id}/answer`, { body: { answer: 'once' } })
  await app.sees('the answer', () => app.slack.textOf(asked).includes('Answered: Allow once'))
  expect(JSON.stringify(asked.blocks)).not.toContain('"Answer"')
  app.driver.options.onPrompt = usual
})

interface Row {
  session_id: string
  created_by: string | null
  initial: string | null
}

async function tip(branch: string): Promise<string | undefined> {
  const read = await readTips(app.repo, [branch])
  return read.kind === 'tips' ? read.tips.get(branch) : undefined
}

async function sessions(): Promise<Row[]> {
  const listed = await app.request<Session[]>('GET', app.path())
  expect(listed.status).toBe(200)
  return app.deps.db
    .selectFrom('project_sessions')
    .select(['session_id', 'created_by', 'initial_prompt as initial'])
    .execute()
}
