/** Several clients prompt one session, and each prints the answer to its own prompt. */
import type { SessionEvent } from '@svc/sdk'
import { describe, expect, test } from 'bun:test'
import { aSession, ids, startService, svc } from '../../../testing.ts'
import { aPrompt } from '../../../testing/prompt.ts'
import {
  messageAt as at,
  messageEvent as message,
  textPart as text,
  turnEvent as turn,
} from '../../../testing/session-events.ts'

const env = { SVC_PROJECT_ID: ids.project }

/** The message of a prompt, by a sandbox that names it, and the answer. */
const turnOf = (promptId: string, words: string): SessionEvent[] => [
  message({ message_id: `u ${words}`, role: 'user', prompt_id: promptId, parts: [text('1', `Ask ${words}`)] }),
  message({ message_id: `a ${words}`, completed_at: at, parts: [text('1', words)] }),
]

describe('svc sessions chat --prompt in a session whose agent works on other prompts', () => {
  const ask = ['sessions', 'chat', ids.session, '--prompt', 'Why?']
  const [before, own, after] = [ids.user, ids.sandbox, ids.project]
  const ahead = aPrompt({ prompt_id: before, text: 'First' })
  const waiting = aPrompt({ prompt_id: own, text: 'Why?' })

  /** Sends the events once the prompt is there, and never says that the agent is idle. */
  function busy(events: SessionEvent[], prompts = [waiting, ahead]) {
    const prompted = Promise.withResolvers<void>()
    const service = startService({
      promptSession: () => {
        prompted.resolve()
        return { prompt_id: own, status: 'accepted' }
      },
      listPrompts: () => ({ prompts }),
      abortSession: () => ({ ok: true }),
      async *streamSessionEvents() {
        yield { type: 'session', session: aSession() }
        yield turn('busy')
        await prompted.promise
        yield* events
        await new Promise(() => {})
      },
    })
    return service
  }

  test('prints the answer to its own prompt, and ends when the agent begins with the next one', async () => {
    const events = [...turnOf(before, 'theirs'), ...turnOf(own, 'ours'), ...turnOf(after, 'later')]
    await using service = busy(events)
    const { code, stdout } = await svc(ask, { service, env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'ours\n' })
    await using again = busy(events)
    const json = (await svc([...ask, '--json'], { service: again, env })).stdout.trimEnd().split('\n')
    const sent = json.map((line) => JSON.parse(line) as SessionEvent)
    expect(sent.flatMap((event) => (event.type === 'message' ? [event.message.message_id] : []))).toEqual([
      ...['u ours', 'a ours'],
    ])
  })

  test('passes over a message that the runtime adds, and over earlier ones that a new connection repeats', async () => {
    const added = message({ message_id: 'added', role: 'user', parts: [text('1', 'Continue')] })
    const early = turnOf(before, 'theirs').map((event) =>
      event.type === 'message' ? message({ ...event.message, created_at: '2020-01-01T00:00:00.000Z' }) : event,
    )
    const [asked, answered] = turnOf(own, 'ours')
    await using service = busy([...early, added, asked!, added, ...early, answered!, turn('idle')])
    const { code, stdout } = await svc(ask, { service, env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'ours\n' })
  })

  test('says once how many prompts are before it', async () => {
    const told = Promise.withResolvers<void>()
    await using service = startService({
      promptSession: () => ({ prompt_id: own, status: 'accepted' }),
      listPrompts: () => ({ prompts: [waiting, ahead] }),
      async *streamSessionEvents() {
        yield { type: 'session', session: aSession() }
        yield turn('busy')
        await told.promise
        yield* [...turnOf(own, 'ours'), turn('idle')]
        await new Promise(() => {})
      },
    })
    const { code, stdout, stderr } = await svc(ask, {
      ...{ service, env },
      hears: (said) => said.includes('The prompt waits') && told.resolve(),
    })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'ours\n' })
    expect(stderr.match(/The prompt waits for 2 other prompts\./g)).toHaveLength(1)
  })

  test.each([
    ['out of the queue', []],
    [
      'by an abort',
      [message({ message_id: own, role: 'user', prompt_id: own, completed_at: at, error: 'Cancelled', parts: [] })],
    ],
  ])('ends with 1 and the reason when someone takes the prompt back %s', async (_, events) => {
    await using service = busy([...events], [{ ...waiting, status: 'cancelled' }])
    const { code, stdout, stderr } = await svc(ask, { service, env })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('error: The prompt was cancelled while it waited, so the agent never got it')
    expect(stderr).toContain('svc sessions chat 44444444')
    await using again = busy([...events], [{ ...waiting, status: 'cancelled' }])
    const json = await svc([...ask, '--json'], { service: again, env })
    expect(JSON.parse(json.stderr.trim())).toMatchObject({ code: 'prompt_cancelled' })
  })

  test('Ctrl-C takes the prompt back and leaves the turn of the other one alone', async () => {
    let state = waiting
    await using service = startService({
      promptSession: () => ({ prompt_id: own, status: 'accepted' }),
      listPrompts: () => ({ prompts: [state, ahead] }),
      cancelPrompt: () => (state = { ...waiting, status: 'cancelled' }),
      async *streamSessionEvents() {
        yield { type: 'session', session: aSession() }
        yield turn('busy')
        await new Promise(() => {})
      },
    })
    let interrupt = () => {}
    const { code, stderr } = await svc(ask, {
      ...{ service, env },
      onInterrupt: (handler) => (interrupt = handler),
      hears: (said) => said.includes('The prompt waits') && !said.includes('Cancelling') && interrupt(),
    })
    expect(code).toBe(1)
    expect(stderr).toContain('Cancelling the prompt…')
    expect(service.of('cancelPrompt')).toHaveLength(1)
    expect(service.of('abortSession')).toHaveLength(0)
  })

  test('takes the next prompt of a sandbox of an earlier version, which names none', async () => {
    const unnamed = turnOf(own, 'ours').map((event) => {
      if (event.type !== 'message') return event
      const { prompt_id: _, ...rest } = event.message
      return { ...event, message: rest }
    })
    await using service = busy([...unnamed, turn('idle')])
    const { code, stdout } = await svc(ask, { service, env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'ours\n' })
  })
})
