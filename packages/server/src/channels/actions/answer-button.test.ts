/** The buttons of a question: only authorized users of its thread can answer, and only once. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Question } from '@svc/contract'
import { type ChannelApp, makeChannelApp, mention } from '../testing.ts'
import type { SlackMessage } from '../slack/testing-slack.ts'

let app: ChannelApp
beforeAll(async () => {
  app = await makeChannelApp()
  await app.connect()
  await app.link()
}, 120_000)
afterAll(() => app.close())

type Ask = (runtime: ReturnType<ChannelApp['driver']['questions']>) => Promise<unknown>

let threads = 0

/** A thread whose session's agent asks a question, and the question's message. */
async function asked(ask: Ask): Promise<{ message: SlackMessage; reply: Promise<unknown>; sessionId: string }> {
  const replied = Promise.withResolvers<unknown>()
  app.driver.options.onPrompt = async ({ sandboxId }) => {
    replied.resolve(await ask(app.driver.questions(sandboxId)))
    return 'Thank you.'
  }
  const ts = `17000002${String(++threads).padStart(2, '0')}.000100`
  await app.event({ text: mention(app, `task ${threads}`), ts })
  const message = await app.sees('the question', () =>
    app.slack.thread(ts).find((one) => app.slack.textOf(one).includes('*The agent asks')),
  )
  const { session_id } = await app.deps.db
    .selectFrom('channel_threads')
    .select('session_id')
    .where('thread_key', '=', ts)
    .executeTakeFirstOrThrow()
  return { message, reply: replied.promise, sessionId: session_id! }
}

const permission: Ask = (runtime) =>
  runtime.askPermission({ permission: 'bash', patterns: ['npm publish'], always: ['npm *'] })

interface Shown {
  action_id: string
  text: { text: string }
  value?: string
  confirm?: { text: { text: string } }
}
const buttonsOf = (message: SlackMessage) =>
  message.blocks.flatMap(({ type, elements }) => (type === 'actions' ? (elements as unknown as Shown[]) : []))
const button = (message: SlackMessage, label: string) => {
  const found = buttonsOf(message).find(({ text }) => text.text === label)!
  return { message, action_id: found.action_id, value: found.value! }
}
const edited = (message: SlackMessage, words: string) =>
  app.sees(words, () => app.slack.textOf(message).includes(words))
const questionsOf = async (sessionId: string) =>
  (await app.request<{ questions: Question[] }>('GET', app.path(sessionId, 'questions'))).body.questions
const whispered = (user: string, words: string) =>
  app.sees(words, () => app.slack.messages.find((one) => one.user === user && app.slack.textOf(one).includes(words)))

test('a button gives a permission in the name of the person who pressed it', async () => {
  const { message, reply, sessionId } = await asked(permission)
  const shown = buttonsOf(message)
  expect(shown.map(({ text }) => text.text)).toEqual([
    'Allow once',
    'Always allow in this session',
    'Deny',
    'Open the session',
  ])
  // Granting a permission asks for confirmation and names it; denying does not.
  expect(shown.map(({ confirm }) => confirm?.text.text.includes('npm publish') ?? null)).toEqual([
    true,
    true,
    null,
    null,
  ])
  await app.press(button(message, 'Allow once'))
  await edited(message, 'Answered: Allow once')
  expect(await reply).toEqual({ kind: 'replied', body: { reply: 'once' } })
  expect(await questionsOf(sessionId)).toMatchObject([{ status: 'answered', answered_by: app.owner.user_id }])
  const audited = await app.deps.db
    .selectFrom('audit_events')
    .selectAll()
    .where('action', '=', 'session.answer')
    .execute()
  expect(audited).toMatchObject([{ actor_kind: 'user', actor_user_id: app.owner.user_id, address: 'slack' }])
  expect(buttonsOf(message)).toEqual([])
})

test('a button answers a question with one of its options', async () => {
  const options = [
    { label: 'PostgreSQL', description: '' },
    { label: '*SQLite* <!channel>', description: '' },
  ]
  const { message, reply } = await asked((runtime) => runtime.askQuestions([{ question: 'Which one?', options }]))
  await app.press(button(message, '*SQLite* <!channel>'))
  await edited(message, 'Answered: ')
  expect(JSON.stringify(await reply)).toContain('*SQLite* <!channel>')
})

test('refuses an answer by an unlinked person, from another thread, or for the second time', async () => {
  const { message, reply, sessionId } = await asked(permission)
  const allow = button(message, 'Allow once')
  await app.press({ ...allow, user: 'U0EVE' })
  await whispered('U0EVE', 'Your answer was not sent to the agent. Your chat user is not linked')
  const other = await asked(permission)
  // This message's button in another session's thread, and options that the question does not have.
  await app.press({ ...allow, message: other.message })
  const value = JSON.parse(allow.value) as object
  for (const odd of [
    '',
    'null',
    '{}',
    JSON.stringify({ ...value, option: 9 }),
    JSON.stringify({ ...value, option: -1 }),
  ])
    await app.press({ ...allow, value: odd })
  await app.sees('all of them were refused', async () => {
    const waiting = app.deps.db.selectFrom('channel_events').select('event_row_id').where('status', '=', 'waiting')
    return (await waiting.execute()).length === 0
  })
  expect((await questionsOf(sessionId)).map(({ status }) => status)).toEqual(['open'])

  await app.press(button(message, 'Deny'))
  await edited(message, 'Answered: Deny')
  expect(await reply).toMatchObject({ kind: 'replied', body: { reply: 'reject' } })
  await app.press(allow)
  await whispered('U0ADA', 'This question has been answered already')
  await app.press(button(other.message, 'Always allow in this session'))
  await edited(other.message, 'Answered: Always allow')
  expect(await other.reply).toEqual({ kind: 'replied', body: { reply: 'always' } })
})
