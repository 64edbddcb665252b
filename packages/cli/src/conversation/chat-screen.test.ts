/** A conversation in a real terminal with a scripted agent. */
import type { Message, MessagePart, Question, Session, SessionEvent } from '@svc/sdk'
import { describe, expect, test } from 'bun:test'
import { aQuestion } from '../testing/question.ts'
import { type Answers, aSession, ids, type Received, type Service, startService, token } from '../testing.ts'
import { keys, Screen } from '../testing/screen.ts'

const at = '2026-11-21T12:00:00.000Z'
const turn = (status: 'busy' | 'idle' | 'error', error: string | null = null): SessionEvent => ({
  type: 'turn',
  status,
  error,
})
const message = (id: string, role: Message['role'], parts: MessagePart[], done = false): SessionEvent => ({
  type: 'message',
  message: { message_id: id, role, created_at: at, completed_at: done ? at : null, error: null, parts },
})
const text = (id: string, words: string): MessagePart => ({ type: 'text', id, text: words })
const tool = (id: string, name: string, title: string, status: 'running' | 'completed' | 'error', output = '') =>
  ({ type: 'tool', id, tool: name, status, title, input: '{}', output }) as const

/** The agent of one session, with the stream and the transcript that the service would produce. */
class Agent {
  service: Service
  session: Session
  readonly #answers: Answers
  #said: SessionEvent[] = []
  #more = Promise.withResolvers<void>()
  #asked: string[] = []

  constructor(session: Partial<Session> = {}, onAbort?: (agent: Agent) => unknown, open: Question[] = []) {
    this.session = aSession(session)
    const prompted = ({ body }: Received) => {
      const words = (body as { text: string }).text
      this.#asked.push(words)
      this.say(message(`u${this.#asked.length}`, 'user', [text('1', words)], true))
      return { prompt_id: ids.sandbox, status: 'accepted' }
    }
    this.#answers = {
      createSession: () => aSession({ status: 'provisioning', sandbox: null, sandbox_url: null }),
      getSession: () => this.session,
      listSessions: () => [this.session],
      getTranscript: () => ({
        messages: this.#said.flatMap((event) => (event.type === 'message' ? [event.message] : [])),
      }),
      promptSession: prompted,
      listQuestions: () => ({ questions: open }),
      abortSession: () => onAbort?.(this) ?? { ok: true },
      streamSessionEvents: () => this.#stream(),
    }
    this.service = startService(this.#answers)
  }

  /** Stops the server, and starts it on the same port after `away`. */
  async restart(away: () => Promise<void>): Promise<void> {
    const port = Number(new URL(this.service.url).port)
    await this.service[Symbol.asyncDispose]()
    await away()
    this.service = startService(this.#answers, { port })
  }

  say(...events: SessionEvent[]): void {
    for (const event of events) if (event.type === 'session') this.session = event.session
    this.#said.push(...events)
    this.#more.resolve()
    this.#more = Promise.withResolvers()
  }

  /** A whole turn. */
  answer(id: string, ...parts: MessagePart[]): void {
    this.say(turn('busy'), message(id, 'assistant', parts, true), turn('idle'))
  }

  /** The requests, once there are enough. */
  async asked(count: number): Promise<string[]> {
    while (this.#asked.length < count) await Bun.sleep(2)
    return this.#asked
  }

  async *#stream(): AsyncGenerator<SessionEvent> {
    const before = [...this.#said]
    let next = before.length
    yield { type: 'session', session: this.session }
    for (const event of before) if (event.type === 'message') yield event
    yield this.#said.findLast(({ type }) => type === 'turn') ?? turn('idle')
    for (;;) {
      while (next < this.#said.length) yield this.#said[next++]!
      await this.#more.promise
    }
  }

  async open(args: string[] = ['sessions', 'chat', ids.session]): Promise<Screen> {
    const env = { SVC_API_URL: `${this.service.url}/v1`, SVC_CLI_TOKEN: token, SVC_PROJECT_ID: ids.project, CI: '1' }
    return Screen.svc(args, { env, columns: 80 })
  }

  /** The screen without its one varying part. */
  async all(screen: Screen): Promise<string> {
    return (await screen.all())
      .replaceAll(this.service.url, 'http://127.0.0.1:8420')
      .replace(/running {2}.* in all/, 'running  0 ms in all')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service[Symbol.asyncDispose]()
  }
}

/** Whether the last line of the screen is an empty prompt. */
const prompt = /(^|\n)›$/
const begun = [
  turn('busy'),
  message('a1', 'assistant', [text('1', 'The tests fail'), tool('2', 'bash', 'npm test', 'running')]),
]

describe('a conversation', () => {
  test('the conversation begins with the reason why the last turn failed', async () => {
    const last_turn_error = { code: 'turn_failed', message: 'The model is away', at: '2026-11-21T11:00:00.000Z' }
    await using agent = new Agent({ last_turn_error })
    await using screen = await agent.open()
    await screen.waitFor(prompt)
    expect(await screen.all()).toContain('The last turn failed: The model is away')
    screen.type(keys.ctrlD)
  })

  test('the conversation shows earlier messages and follows the running turn until it ends or is aborted', async () => {
    await using agent = new Agent({}, (self) => void self.say(turn('error', 'The turn was aborted')))
    agent.say(message('u', 'user', [text('1', 'Run the\ntests')], true))
    agent.say(turn('busy'), message('a1', 'assistant', [text('1', 'The tests fail')]))
    await using screen = await agent.open()
    await screen.waitFor('The tests fail')
    agent.say(message('a1', 'assistant', [text('1', 'The tests fail in two places.')]))
    await screen.waitFor('The tests fail in two places.')
    screen.type(keys.ctrlC)
    await screen.waitFor(prompt)
    expect(agent.service.of('abortSession')).toHaveLength(1)
    screen.type('Then mend them\r')
    await agent.asked(1)
    agent.answer('a2', text('1', 'Mended.'))
    await screen.waitFor(/Mended\.\n\n›$/)
    screen.type(keys.ctrlD)
    expect(await screen.exited()).toBe(0)
    expect(await agent.all(screen)).toMatchSnapshot()
  })

  test('streams the answer, shows a tool call in one line, and prompts again', async () => {
    await using agent = new Agent()
    await using screen = await agent.open()
    await screen.waitFor(prompt)
    screen.type('Why is it red?\r')
    expect(await agent.asked(1)).toEqual(['Why is it red?'])
    agent.say(turn('busy'))
    await screen.waitFor('working…')
    agent.say(message('a1', 'assistant', [text('1', 'Let me')]))
    await screen.waitFor(/^Let me$/m)
    agent.say(message('a1', 'assistant', [text('1', 'Let me look.'), tool('2', 'bash', 'npm test', 'running')]))
    await screen.waitFor(/^Let me look\.\n {2}… bash {2}npm test$/m)
    const parts = [
      text('1', 'Let me look.'),
      tool('2', 'bash', 'npm test', 'completed', 'one failed\nof many\n'),
      tool('3', 'read', `src/${'long/'.repeat(30)}name.ts`, 'completed', 'what is in it'),
      tool('4', 'edit', 'src/a.ts', 'error', 'No such file\nat once'),
      text('5', 'A comma is missing.\nI put it there.'),
    ]
    agent.say(message('a1', 'assistant', parts, true), turn('idle'))
    await screen.waitFor(prompt)
    screen.type('Thanks, \\\r')
    await screen.waitFor(/^…$/m)
    screen.type('all of you\r')
    expect(await agent.asked(2)).toEqual(['Why is it red?', 'Thanks, \nall of you'])
    agent.answer('a2', text('1', 'With pleasure.'))
    await screen.waitFor(/With pleasure\.\n\n›$/)
    screen.type(keys.ctrlD)
    expect(await screen.exited()).toBe(0)
    const seen = await agent.all(screen)
    expect(seen).toMatchSnapshot()
    for (const line of seen.split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80)
    expect(await screen.colourOf('✓ bash')).toBe(2)
    expect(await screen.colourOf('✗ edit')).toBe(1)
  })

  test('says that a sleeping agent wakes, until it is awake', async () => {
    await using agent = new Agent({ asleep_since: at })
    await using screen = await agent.open()
    await screen.waitFor(prompt)
    screen.type('Go on\r')
    await agent.asked(1)
    agent.say(turn('busy'))
    await screen.waitFor('Waking the agent…')
    agent.say({ type: 'session', session: aSession() })
    await screen.waitFor(/^working…$/m)
    agent.answer('a1', text('1', 'I am awake.'))
    await screen.waitFor(/Go on\nI am awake\.\n\n›$/)
    screen.type(keys.ctrlD)
    expect(await screen.exited()).toBe(0)
  })

  test('watch shows the command that runs already', async () => {
    await using agent = new Agent()
    agent.say(message('a1', 'assistant', [tool('1', 'bash', 'npm test', 'running')]), turn('busy'))
    await using screen = await agent.open(['sessions', 'watch', ids.session, '--once'])
    await screen.waitFor(/^ {2}… bash {2}npm test$/m)
    agent.answer('a1', tool('1', 'bash', 'npm test', 'completed'))
    expect(await screen.exited()).toBe(0)
  })

  test('keeps an unfinished line when the server is away, and completes it afterwards', async () => {
    await using agent = new Agent()
    agent.say(turn('busy'), message('a1', 'assistant', [text('1', 'The tests fa')]))
    await using screen = await agent.open(['sessions', 'watch', ids.session, '--once'])
    await screen.waitFor(/^The tests fa$/m)
    await agent.restart(async () => {
      await screen.waitFor('Reconnecting…')
    })
    agent.answer('a1', text('1', 'The tests fail in two places.'))
    expect(await screen.exited()).toBe(0)
    expect(await screen.all()).toContain('\nThe tests fa\nReconnecting…\nil in two places.\n')
  })

  test('Ctrl-C aborts the turn and prompts again; Ctrl-C at the prompt exits with 0', async () => {
    await using agent = new Agent({}, (self) => void self.say(turn('error', 'The turn was aborted')))
    await using screen = await agent.open()
    await screen.waitFor(prompt)
    screen.type('Run the tests\r')
    await agent.asked(1)
    agent.say(...begun)
    await screen.waitFor('… bash')
    screen.type(keys.ctrlC)
    await screen.waitFor(prompt)
    expect(agent.service.of('abortSession').map(({ params }) => params.sessionId)).toEqual([ids.session])
    // The conversation continues normally.
    screen.type('Then read them\r')
    await agent.asked(2)
    agent.answer('a2', text('1', 'They read well.'))
    await screen.waitFor(/They read well\.\n\n›$/)
    // A turn can be aborted before its first word.
    screen.type('Well, and now?\r')
    await agent.asked(3)
    agent.say(turn('busy'))
    await screen.waitFor('working…')
    screen.type(keys.ctrlC)
    await screen.waitFor(/aborted\n\n›$/)
    screen.type(keys.ctrlC)
    expect(await screen.exited()).toBe(0)
    expect(await agent.all(screen)).toMatchSnapshot()
    expect(agent.service.of('abortSession')).toHaveLength(2)
  })

  test('pasted lines are one prompt, and Ctrl-C aborts its turn', async () => {
    await using agent = new Agent({}, (self) => void self.say(turn('error', 'The turn was aborted')))
    await using screen = await agent.open()
    await screen.waitFor(prompt)
    screen.type('Run\\\rthe\\\rtests\r')
    expect(await agent.asked(1)).toEqual(['Run\nthe\ntests'])
    agent.say(...begun)
    await screen.waitFor('… bash')
    screen.type(keys.ctrlC)
    await screen.waitFor(/The turn was aborted\n\n›$/)
    expect(agent.service.of('abortSession')).toHaveLength(1)
    screen.type(keys.ctrlD)
    expect(await screen.exited()).toBe(0)
  })

  test('Ctrl-C at a half-written line drops only that line', async () => {
    await using agent = new Agent()
    await using screen = await agent.open()
    await screen.waitFor(prompt)
    screen.type('Delete everyth')
    await screen.waitFor('› Delete everyth')
    screen.type(keys.ctrlC)
    await screen.waitFor(prompt)
    screen.type('/exit\r')
    expect(await screen.exited()).toBe(0)
    expect(agent.service.of('promptSession')).toEqual([])
    expect(agent.service.of('abortSession')).toEqual([])
  })

  test('a second Ctrl-C exits with 1 when the server does not respond to the abort', async () => {
    await using agent = new Agent({}, () => new Promise(() => {}))
    await using screen = await agent.open()
    await screen.waitFor(prompt)
    screen.type('Run the tests\r')
    await agent.asked(1)
    agent.say(...begun)
    await screen.waitFor('… bash')
    screen.type(keys.ctrlC)
    await screen.waitFor('Ctrl-C again leaves')
    screen.type(keys.ctrlC)
    expect(await screen.exited()).toBe(1)
    // The terminal's echo of the second key may come too late to be shown.
    expect((await agent.all(screen)).replace('\n^C\n', '\n')).toMatchSnapshot()
  })

  test('shows why a turn failed and prompts again', async () => {
    await using agent = new Agent()
    await using screen = await agent.open()
    await screen.waitFor(prompt)
    screen.type('Go on\r')
    await agent.asked(1)
    agent.say(turn('busy'), turn('error', 'The model is overloaded'))
    await screen.waitFor(/error: The model is overloaded\n\n›$/)
    screen.type(keys.ctrlD)
    expect(await screen.exited()).toBe(0)
  })

  test("shows the agent's question and accepts the answer as a key", async () => {
    await using agent = new Agent()
    await using screen = await agent.open()
    await screen.waitFor(prompt)
    screen.type('Publish it\r')
    await agent.asked(1)
    agent.say(turn('busy'), { type: 'question', question: aQuestion() })
    await screen.waitFor(/The agent asks for permission: Run a command\n {2}npm publish\n[^]*1-2 ›$/)
    // An invalid answer, so the client asks again.
    screen.type('perhaps\r')
    await screen.waitFor(/perhaps\n1-2 ›$/)
    screen.type('2\r')
    await screen.waitFor('✓ Deny')
    expect(agent.service.of('answerQuestion')[0]!.body).toEqual({ answer: 'reject' })
    agent.say({ type: 'question', question: aQuestion({ status: 'answered', answer: 'reject' }) })
    agent.answer('a1', text('1', 'Then I leave it.'))
    await screen.waitFor(/Then I leave it\.\n\n›$/)
    screen.type(keys.ctrlD)
    expect(await screen.exited()).toBe(0)
  })

  test('removes a question that was answered elsewhere', async () => {
    await using agent = new Agent()
    await using screen = await agent.open()
    await screen.waitFor(prompt)
    screen.type('Publish it\r')
    await agent.asked(1)
    agent.say(turn('busy'), { type: 'question', question: aQuestion() })
    await screen.waitFor(/1-2 ›$/)
    agent.say({ type: 'question', question: aQuestion({ status: 'answered', answer: 'once' }) })
    await screen.waitFor('The question was withdrawn.')
    agent.answer('a1', text('1', 'Published.'))
    await screen.waitFor(/Published\.\n\n›$/)
    screen.type(keys.ctrlD)
    expect(await screen.exited()).toBe(0)
  })

  test('shows a question that the agent asked earlier, and the user can leave without an answer', async () => {
    await using agent = new Agent({ waiting_for: 'person' }, undefined, [aQuestion()])
    await using screen = await agent.open()
    await screen.waitFor(/1-2 ›$/)
    screen.type(keys.ctrlD)
    expect(await screen.exited()).toBe(0)
    expect(agent.service.of('answerQuestion')).toEqual([])
  })

  test('a prompt restarts a stopped session and shows its start', async () => {
    await using agent = new Agent({ status: 'stopped', sandbox: null, sandbox_url: null })
    await using screen = await agent.open()
    await screen.waitFor(prompt)
    expect(await agent.all(screen)).toMatchSnapshot('before')
    screen.type('Are you there?\r')
    await agent.asked(1)
    agent.say({ type: 'session', session: aSession({ status: 'provisioning' }) })
    await screen.waitFor('restarting the session…')
    agent.say({ type: 'session', session: aSession() }, turn('busy'))
    await screen.waitFor('working…')
    agent.answer('a1', text('1', 'I am.'))
    await screen.waitFor(/I am\.\n\n›$/)
    screen.type(keys.ctrlD)
    expect(await screen.exited()).toBe(0)
    expect(await agent.all(screen)).toMatchSnapshot('after')
  })

  test('chat --new starts a session first, and talk is an alias', async () => {
    await using agent = new Agent()
    await using screen = await agent.open(['sessions', 'talk', '--new'])
    await screen.waitFor(prompt)
    expect(agent.service.of('createSession')).toHaveLength(1)
    expect(await agent.all(screen)).toMatchSnapshot()
    screen.type(keys.ctrlC)
    expect(await screen.exited()).toBe(0)
  })
})

describe('sessions talk --prompt', () => {
  const ask = ['sessions', 'talk', ids.session, '--prompt', 'Which is the default branch?']

  test('exits after the answer to a single prompt', async () => {
    await using agent = new Agent()
    await using screen = await agent.open(ask)
    expect(await agent.asked(1)).toEqual(['Which is the default branch?'])
    agent.answer('a1', tool('1', 'bash', 'git branch', 'completed'), text('2', 'It is main.'))
    expect(await screen.exited()).toBe(0)
    expect(await agent.all(screen)).toMatchSnapshot()
  })

  test('Ctrl-C aborts the turn of a single prompt and exits with 1', async () => {
    await using agent = new Agent({}, (self) => void self.say(turn('error', 'The turn was aborted')))
    await using screen = await agent.open(ask)
    await agent.asked(1)
    agent.say(...begun)
    await screen.waitFor('… bash')
    screen.type(keys.ctrlC)
    expect(await screen.exited()).toBe(1)
    expect(agent.service.of('abortSession')).toHaveLength(1)
    expect(await agent.all(screen)).toMatchSnapshot()
  })
})
