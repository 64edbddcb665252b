import type { Message, SessionEvent } from '@svc/sdk'
import { describe, expect, test } from 'bun:test'
import { aQuestion } from '../../../testing/question.ts'
import { aSession, ids, startService, svc } from '../../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }
const at = aSession().created_at
const text = (id: string, words: string) => ({ type: 'text' as const, id, text: words })
const tool = (id: string, status: 'running' | 'completed' | 'error', title: string, output = '') =>
  ({ type: 'tool', id, tool: 'bash', status, title, input: '{}', output }) as const
const message = (changes: Partial<Message>): SessionEvent => ({
  type: 'message',
  message: {
    ...{ message_id: 'a', role: 'assistant', created_at: at, completed_at: null, error: null, parts: [] },
    ...changes,
  },
})
const prompt = (id: string, words: string, error: string | null = null) =>
  message({ message_id: id, role: 'user', completed_at: at, error, parts: [text('1', words)] })
const turn = (status: 'busy' | 'idle' | 'error', error: string | null = null): SessionEvent => ({
  type: 'turn',
  status,
  error,
})

const past = [
  prompt('u1', 'Why is it red?\nSay it briefly.'),
  message({ parts: [text('1', 'Let me look.'), tool('2', 'completed', 'npm test'), text('3', 'A comma.')] }),
]
const now = [
  prompt('u2', 'Mend it'),
  turn('busy'),
  message({ message_id: 'b', parts: [text('1', 'I am')] }),
  message({ message_id: 'b', parts: [text('1', 'I am at it.'), tool('2', 'running', 'edit a.ts')] }),
  message({ message_id: 'b', parts: [text('1', 'I am at it.'), tool('2', 'error', 'edit a.ts', 'No such file\nx')] }),
]
const shown = [
  ...['› Why is it red?', '  Say it briefly.', 'Let me look.', '  ✓ bash  npm test', 'A comma.', ''],
  ...['› Mend it', 'I am at it.', '  ✗ bash  edit a.ts  No such file', ''],
].join('\n')

/** A session with these events; each connection begins with the session. */
function session(...streams: SessionEvent[][]) {
  let connections = 0
  return startService({
    async *streamSessionEvents() {
      yield { type: 'session', session: aSession() }
      const events = streams[connections++]
      if (events !== undefined) yield* events
      if (connections >= streams.length) await new Promise(() => {})
    },
  })
}
const watch = (service: ReturnType<typeof session>, ...flags: string[]) =>
  svc(['sessions', 'watch', ids.session, ...flags], { service, env })

describe('svc sessions watch', () => {
  test('shows what was said, then what is said, and ends with the turn when asked to', async () => {
    await using service = session([...past, ...now, turn('idle')])
    const { code, stdout, stderr } = await watch(service, '--once', '-L', '7')
    expect({ code, stdout }).toEqual({ code: 0, stdout: shown })
    expect(stderr).toContain('Fix the test  44444444  running')
    expect(stderr).toContain('svc sessions chat 44444444')
    expect(service.of('streamSessionEvents')[0]!.query).toEqual({ messages: '7' })
    expect(service.of('abortSession')).toEqual([])
  })

  test('ends at once where no turn runs, and with 1 and the reason when the turn fails', async () => {
    await using idle = session([...past, turn('idle')])
    expect((await watch(idle, '--once')).code).toBe(0)
    const failed = message({ message_id: 'b', error: 'The model is away', parts: [text('1', 'I am')] })
    await using failing = session([...past, ...now, failed, turn('error', 'The model is away')])
    const { code, stdout, stderr } = await watch(failing, '--once')
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.not.stringContaining('The model is away') })
    expect(stderr).toContain('error: The model is away')
    // Another server reports the end of a turn only by its message.
    await using elsewhere = session([...now, failed, turn('idle')])
    expect((await watch(elsewhere, '--once')).stderr).toContain('error: The model is away')
  })

  test('goes on until Ctrl-C, which is no error, and shows each failure once', async () => {
    const leaving = new AbortController()
    const refused = prompt(ids.sandbox, 'Now?', 'There is no agent "house".')
    const failed = message({ message_id: 'b', error: 'The model is away' })
    await using service = session([
      ...[prompt(ids.token, 'Before', 'Cancelled'), prompt(ids.cr, 'Before', 'Cancelled'), turn('idle'), ...now],
      ...[failed, turn('error', 'The model is away'), failed],
      ...[turn('busy'), refused, turn('error', 'There is no agent "house".')],
      ...[turn('busy'), turn('error', 'Told first'), message({ message_id: 'c', error: 'Told first' })],
      { type: 'session', session: aSession({ status: 'stopped', error: 'Idle for an hour' }) },
      { type: 'question', question: aQuestion() },
    ])
    const { code, stdout, stderr } = await svc(['sessions', 'watch', ids.session], {
      ...{ service, env, signal: leaving.signal },
      // The command that answers the question comes last.
      hears: (shown) => shown.includes('svc sessions answer 44444444 once --question 99999999') && leaving.abort(),
    })
    expect(code).toBe(0)
    expect(stderr).not.toContain('error')
    const failures = stdout.split('\n').filter((line) => line.startsWith('✗'))
    expect(failures).toEqual([
      ...['✗ Cancelled', '✗ Cancelled', '✗ The model is away', '✗ There is no agent "house".', '✗ Told first'],
    ])
    expect(stdout).toContain('\n› Now?\n✗ There is no agent')
    expect(stdout).toContain('\nThe session is stopped: Idle for an hour\n')
  })

  test('says how a question ended', async () => {
    await using service = session([
      ...[turn('busy'), { type: 'question' as const, question: aQuestion() }],
      { type: 'question', question: aQuestion({ status: 'answered', answer: 'once' }) },
      { type: 'question', question: aQuestion({ status: 'expired', reason: 'The session ended.' }) },
      turn('idle'),
    ])
    const { stdout } = await watch(service, '--once')
    expect(stdout).toBe(
      [
        ...['? The agent asks for permission: Run a command', '  npm publish', '  once | reject'],
        ...['  ✓ Answered: Allow once', '  ✗ Not answered: The session ended.', ''],
      ].join('\n'),
    )
  })

  test('takes up a stream that breaks where it broke, and says nothing twice', async () => {
    await using service = session(
      [...past, ...now.slice(0, 3)],
      [prompt('u2', 'Mend it'), ...now.slice(2), turn('busy')],
      [...now.slice(3), turn('idle')],
    )
    const { code, stdout } = await watch(service, '--once')
    expect({ code, stdout }).toEqual({ code: 0, stdout: shown })
    const resumed = service.of('streamSessionEvents').map(({ headers }) => headers.get('last-event-id'))
    expect(resumed).toEqual([null, '6', '6'])
  })

  test('neither loses nor repeats text when a restarted server knows less of an answer than was shown', async () => {
    await using service = session(
      [...past, ...now.slice(0, 3), message({ message_id: 'b', parts: [text('1', 'I am at i')] })],
      [prompt('u2', 'Mend it'), ...now.slice(2, 3), turn('busy')],
      [...now.slice(3), turn('idle')],
    )
    expect((await watch(service, '--once')).stdout).toBe(shown)
  })

  test('shows an open question once, however often it connects', async () => {
    const asked = { type: 'question', question: aQuestion() } as const
    await using service = session([turn('busy'), asked], [asked, turn('busy')], [asked, turn('idle')])
    expect((await watch(service, '--once')).stdout.match(/\? The agent asks/g)).toHaveLength(1)
  })

  test('--json is a line an event', async () => {
    await using service = session([...past, ...now, turn('idle')])
    const { code, stdout, stderr } = await watch(service, '--once', '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as SessionEvent)
    expect(events).toEqual([{ type: 'session', session: aSession() }, ...past, ...now, turn('idle')])
  })
})
