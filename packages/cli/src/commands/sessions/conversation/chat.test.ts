import type { SessionEvent } from '@svc/sdk'
import { describe, expect, test } from 'bun:test'
import { aSession, ids, noUnfinishedWork, sha, startService, svc } from '../../../testing.ts'
import {
  messageAt as at,
  messageEvent as message,
  textPart as text,
  turnEvent as turn,
} from '../../../testing/session-events.ts'

const env = { SVC_PROJECT_ID: ids.project }
const other = aSession({ session_id: '4444aaaa-4444-4444-8444-444444444444', name: 'Other' })

const tool = (id: string, status: 'running' | 'completed' | 'error', title: string, output = '') => ({
  type: 'tool' as const,
  id,
  tool: 'bash',
  status,
  title,
  input: '{}',
  output,
})
const old = message({ message_id: 'old', completed_at: at, parts: [text('1', 'An earlier answer')] })

describe('svc sessions chat --prompt', () => {
  const ask = ['sessions', 'chat', ids.session, '--prompt', 'Why?']

  /** An idle session that sends the given events after the prompt. */
  function talking(events: (SessionEvent | 'cut')[], before: SessionEvent[] = []) {
    const prompted = Promise.withResolvers<void>()
    let next = 0
    const prompts: string[] = []
    const service = startService({
      getTranscript: () => ({
        messages: [old, ...before].flatMap((event) => (event.type === 'message' ? [event.message] : [])),
      }),
      promptSession: ({ body }) => {
        prompts.push((body as { text: string }).text)
        prompted.resolve()
        return { prompt_id: ids.sandbox, status: 'accepted' }
      },
      async *streamSessionEvents() {
        yield { type: 'session', session: aSession() }
        yield old
        yield* before
        yield turn(prompts.length === 0 ? 'idle' : 'busy')
        await prompted.promise
        while (next < events.length) {
          const event = events[next++]!
          if (event === 'cut') return
          yield event
        }
        // An event stream does not end by itself.
        await new Promise(() => {})
      },
    })
    return Object.assign(service, { prompts })
  }

  const answer: SessionEvent[] = [
    message({ message_id: 'u', role: 'user', parts: [text('1', 'Why?')] }),
    turn('busy'),
    message({ message_id: 'a', parts: [text('1', 'Because')] }),
    message({ message_id: 'a', parts: [text('1', 'Because of')] }),
    message({ message_id: 'a', parts: [text('1', 'Because of this:'), tool('2', 'running', 'npm test')] }),
    message({ message_id: 'a', parts: [text('1', 'Because of this:'), tool('2', 'completed', 'npm test')] }),
    message({
      message_id: 'a',
      completed_at: at,
      parts: [text('1', 'Because of this:'), tool('2', 'completed', 'npm test'), text('3', 'It fails.')],
    }),
    turn('idle'),
  ]

  test('the answer goes to stdout as it grows, tools to stderr, and it ends when the agent waits', async () => {
    await using service = talking(answer)
    const { code, stdout, stderr } = await svc(ask, { service, env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Because of this:\nIt fails.\n' })
    expect(stderr).toContain('✓ bash  npm test')
    expect(stderr.match(/npm test/g)).toHaveLength(1)
    expect(service.prompts).toEqual(['Why?'])
    expect(service.of('promptSession')[0]!.headers.get('idempotency-key')).toMatch(/^[0-9a-f-]{36}$/)
    expect(service.of('streamSessionEvents')[0]!.headers.get('accept')).toBe('text/event-stream')
  })

  test('talk is another word for it, and the prompt may come from stdin', async () => {
    await using service = talking(answer)
    expect(
      (await svc(['sessions', 'talk', ids.session, '--prompt', '-'], { service, env, stdin: 'Why?\n' })).code,
    ).toBe(0)
    expect(service.prompts).toEqual(['Why?'])
  })

  test('--json is a line per event', async () => {
    await using service = talking(answer)
    const { stdout, stderr } = await svc([...ask, '--json'], { service, env })
    expect(stderr).toBe('')
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as SessionEvent)
    expect(events.at(-1)).toEqual(turn('idle'))
    // States of a message that came before the server named the prompt are one line, and no message is of an earlier turn.
    const messages = events.filter(({ type }) => type === 'message')
    expect(messages.at(0)).toEqual(answer[0]!)
    expect(messages.at(-1)).toEqual(answer.at(-2)!)
    expect(events[0]).toEqual({ type: 'session', session: aSession() })
  })

  test('a stream that breaks is opened again, and nothing is said twice', async () => {
    await using service = talking([...answer.slice(0, 4), 'cut', ...answer.slice(3, 6), 'cut', ...answer.slice(5)])
    const { code, stdout } = await svc(ask, { service, env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Because of this:\nIt fails.\n' })
    expect(service.prompts).toEqual(['Why?'])
    expect(service.of('streamSessionEvents')).toHaveLength(3)
  })

  /** A server that ends while the first prompt is in flight, and its successor. */
  function restarting(events: SessionEvent[]) {
    const first = startService({
      promptSession: () => {
        void first[Symbol.asyncDispose]()
        return new Promise(() => {})
      },
      async *streamSessionEvents() {
        yield turn('idle')
        await new Promise(() => {})
      },
    })
    const start = () =>
      startService(
        {
          async *streamSessionEvents() {
            yield turn('idle')
            while (second!.of('promptSession').length === 0) await Bun.sleep(1)
            yield* events
            await new Promise(() => {})
          },
        },
        { port: Number(new URL(first.url).port) },
      )
    let second: ReturnType<typeof start> | null = null
    return {
      first,
      second: () => second!,
      /** Starts the successor once the client misses the server. */
      hears: (shown: string) => {
        if (shown.includes('Reconnecting')) second ??= start()
      },
      [Symbol.asyncDispose]: async () => second?.[Symbol.asyncDispose](),
    }
  }

  test('goes on when the server restarts, and sends the prompt under one key', async () => {
    await using server = restarting(answer)
    const { code, stdout, stderr } = await svc(ask, { service: server.first, env, hears: server.hears })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Because of this:\nIt fails.\n' })
    expect(stderr.match(/Reconnecting…/g)).toHaveLength(1)
    const keys = [server.first, server.second()].flatMap((each) =>
      each.of('promptSession').map(({ headers }) => headers.get('idempotency-key')),
    )
    expect(keys.length).toBeGreaterThan(1)
    expect(new Set(keys).size).toBe(1)
  })

  test('ends with 1 and the command that continues when the server does not come back', async () => {
    await using server = restarting([])
    const { code, stderr } = await svc(ask, { service: server.first, env })
    expect(code).toBe(1)
    expect(stderr.match(/Reconnecting…/g)).toHaveLength(1)
    expect(stderr).toContain('error: The server did not come back')
    expect(stderr).toContain('The prompt may or may not have arrived.')
    expect(stderr).toContain('svc sessions watch 44444444')
  })

  test('says that the agent wakes, once', async () => {
    const asleep = aSession({ asleep_since: at })
    const wakes: SessionEvent[] = [{ type: 'session', session: asleep }, turn('busy')]
    await using service = talking([...wakes, { type: 'session', session: aSession() }, ...answer])
    const { code, stderr } = await svc(ask, { service, env })
    expect(code).toBe(0)
    expect(stderr.match(/Waking the agent…/g)).toHaveLength(1)
  })

  test('the end of an earlier turn is not the end of ours', async () => {
    const earlier = [
      turn('busy'),
      message({ message_id: 'e', completed_at: at, parts: [text('1', 'Earlier')] }),
      turn('idle'),
    ]
    await using service = talking([...earlier, ...answer])
    expect((await svc(ask, { service, env })).stdout).toBe('Because of this:\nIt fails.\n')
  })

  test('a turn that fails ends with 1 and its reason', async () => {
    await using service = talking([...answer.slice(0, 3), turn('error', 'The model is away')])
    const { code, stdout, stderr } = await svc(ask, { service, env })
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'Because\n' })
    expect(stderr).toContain('error: The model is away')
  })

  test('a prompt that is refused at once ends with 1 and its reason', async () => {
    const error = { code: 'agent_not_found', message: 'There is no agent "house".' }
    await using service = startService({
      promptSession: () => ({ prompt_id: ids.sandbox, status: 'failed', error }),
      async *streamSessionEvents() {
        yield turn('idle')
        await new Promise(() => {})
      },
    })
    const { code, stdout, stderr } = await svc(ask, { service, env })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('error: There is no agent "house".')
    const json = await svc([...ask, '--json'], { service, env })
    expect(JSON.parse(json.stderr.trim())).toMatchObject({ code: 'prompt_failed', error: error.message })
  })

  test('a prompt that is refused later ends with 1 and its reason, and that of another caller is none of ours', async () => {
    const refused = (id: string, error: string) =>
      message({ message_id: id, role: 'user', completed_at: at, error, parts: [text('1', 'Why?')] })
    await using service = talking([
      turn('busy'),
      refused(ids.user, 'Not this one'),
      refused(ids.sandbox, 'The runtime does not run.'),
      turn('error', 'The runtime does not run.'),
    ])
    const { code, stderr } = await svc(ask, { service, env })
    expect(code).toBe(1)
    expect(stderr).toContain('error: The runtime does not run.')
  })

  test('a turn whose prompt has the reason, told by another server, ends with 1', async () => {
    const asked = { message_id: 'u', role: 'user' as const, parts: [text('1', 'Why?')] }
    await using service = talking([
      ...[message(asked), turn('busy'), message({ ...asked, error: 'The model is away' }), turn('idle')],
    ])
    const { code, stderr } = await svc(ask, { service, env })
    expect(code).toBe(1)
    expect(stderr).toContain('error: The model is away')
  })

  test('a failed session is started by the prompt, and a session that is stopped ends with 1', async () => {
    const failed = aSession({ status: 'failed', error: 'Out of memory' })
    const later = new Date(Date.parse(failed.updated_at) + 1000).toISOString()
    let session = failed
    await using service = startService({
      getSession: () => session,
      getUnfinishedWork: () => ({ ...noUnfinishedWork, saved_at: at, commit: sha('c'), generation: 1, files: 1 }),
      promptSession: () => ({ prompt_id: ids.sandbox, status: 'accepted' }),
      async *streamSessionEvents() {
        yield { type: 'session', session: failed }
        yield { type: 'session', session: aSession({ status: 'provisioning', updated_at: later }) }
        session = aSession({ status: 'stopped', updated_at: later })
        yield { type: 'session', session }
        await new Promise(() => {})
      },
    })
    const { code, stderr } = await svc(ask, { service, env })
    expect(code).toBe(1)
    expect(stderr).toContain('The session is failed: the prompt restarts it from its branch.')
    // The new sandbox begins without it.
    expect(stderr).toContain('Saved, and not on the branch: 1 file. svc sessions recover 44444444 --into-sandbox')
    expect(stderr).toContain('The session stopped before the agent answered')
    expect(stderr).toContain(`svc sessions restart ${ids.session}`)
  })

  test.each([
    ['does not say', () => Response.json({ error: 'No', code: 'unavailable' }, { status: 503 }), 'did not say whether'],
    [
      'puts back',
      () => ({ ...noUnfinishedWork, saved_at: at, commit: sha('c'), generation: 1, files: 1, returns: true }),
      'Saved, and not on the branch: 1 file. The start puts it back into the work tree.',
    ],
    [
      'lost',
      () => ({ ...noUnfinishedWork, lost: [{ generation: 1, saved_at: at, files: 1, unpushed_commits: 0 }] }),
      'is lost (1 file): the repository of the project does not have it.',
    ],
  ])('a stopped session whose saved work the server %s gets the prompt, and the note', async (_, work, note) => {
    const prompted = Promise.withResolvers<void>()
    await using service = startService({
      getSession: () => aSession({ status: 'stopped' }),
      getUnfinishedWork: work,
      getTranscript: () => ({ messages: [] }),
      promptSession() {
        prompted.resolve()
        return { prompt_id: ids.sandbox, status: 'accepted' }
      },
      async *streamSessionEvents() {
        yield { type: 'session', session: aSession({ status: 'stopped' }) }
        yield turn('idle')
        await prompted.promise
        yield* answer
        await new Promise(() => {})
      },
    })
    const { code, stdout, stderr } = await svc(ask, { service, env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Because of this:\nIt fails.\n' })
    expect(stderr).toContain(note)
  })

  test('a session that fails ends with 1 and its reason', async () => {
    await using service = talking([
      { type: 'session', session: aSession({ status: 'failed', error: 'Out of memory' }) },
    ])
    const { code, stderr } = await svc(ask, { service, env })
    expect(code).toBe(1)
    expect(stderr).toContain('Out of memory')
  })

  test('a refused prompt is sent once', async () => {
    await using service = startService({
      promptSession: () => Response.json({ error: 'No', code: 'forbidden' }, { status: 403 }),
      async *streamSessionEvents() {
        yield turn('idle')
        await new Promise(() => {})
      },
    })
    expect((await svc(ask, { service, env })).code).toBe(1)
    expect(service.of('promptSession')).toHaveLength(1)
  })

  test('Ctrl-C aborts the turn', async () => {
    const aborted = Promise.withResolvers<void>()
    await using service = startService({
      abortSession: () => {
        aborted.resolve()
        return { ok: true }
      },
      async *streamSessionEvents() {
        yield message({ message_id: 'u', role: 'user' })
        yield turn('busy')
        await aborted.promise
        yield turn('error', 'Aborted')
      },
    })
    let interrupt = () => {}
    const running = svc(ask, { service, env, onInterrupt: (handler) => (interrupt = handler) })
    while (service.of('promptSession').length === 0) await Bun.sleep(1)
    interrupt()
    const { code, stderr } = await running
    expect(code).toBe(1)
    expect(stderr).toContain('Aborting')
  })

  test('a turn that is aborted before a word was said is over', async () => {
    await using service = talking([
      turn('busy'),
      message({ message_id: 'u', role: 'user', parts: [text('1', 'Why?')] }),
      turn('idle'),
    ])
    const { code, stdout } = await svc(ask, { service, env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  })

  test('without an id the only one alive is meant', async () => {
    await using service = talking(answer)
    expect((await svc(['sessions', 'chat', '--prompt', 'Why?'], { service, env })).code).toBe(0)
    await using none = startService({ listSessions: () => [] })
    const nobody = await svc(['sessions', 'chat', '--prompt', 'Why?'], { service: none, env })
    expect(nobody.code).toBe(1)
    expect(nobody.stderr).toContain('svc sessions chat --new')
    await using two = startService({ listSessions: () => [aSession(), other] })
    const which = await svc(['sessions', 'chat', '--prompt', 'Why?'], { service: two, env })
    expect(which.code).toBe(2)
    expect(which.stderr).toContain('svc sessions chat <id> --prompt')
  })

  test('--new starts one, and waits for it', async () => {
    await using service = talking(answer)
    const { code, stderr } = await svc(['sessions', 'chat', '--new', '--prompt', 'Why?'], { service, env })
    expect(code).toBe(0)
    expect(stderr).toContain('✓ running')
    expect(service.of('createSession')).toHaveLength(1)
    expect((await svc(['sessions', 'chat', ids.session, '--new', '--prompt', 'x'], { service, env })).code).toBe(2)
  })

  test('without a terminal and without a prompt it names --prompt', async () => {
    const { code, stderr } = await svc(['sessions', 'chat', ids.session], { env })
    expect(code).toBe(2)
    expect(stderr).toContain('Missing --prompt <text>')
  })

  test('on a terminal a conversation goes on until the person leaves', async () => {
    const second = answer.map((event) =>
      event.type === 'message'
        ? { ...event, message: { ...event.message, message_id: `${event.message.message_id}2` } }
        : event,
    )
    let turns = 0
    let streams = 0
    const said: SessionEvent[] = []
    await using service = startService({
      listQuestions: () => ({ questions: [] }),
      getTranscript: () => ({ messages: said.flatMap((event) => (event.type === 'message' ? [event.message] : [])) }),
      async *streamSessionEvents() {
        yield turn('idle')
        // The first request reads the earlier messages; no turn runs.
        if (streams++ === 0) return
        while (service.of('promptSession').length <= turns) await Bun.sleep(1)
        const events = [answer, second][turns++]!
        yield* events
        said.push(...events)
        await new Promise(() => {})
      },
    })
    const { code, stdout, stderr } = await svc(['sessions', 'chat', ids.session], {
      service,
      env,
      terminal: true,
      types: [
        { after: /› /, keys: 'Why?\r' },
        { after: /› /, keys: 'two \\\r' },
        { after: /… /, keys: 'lines\r' },
        { after: /› /, keys: '\x04' },
      ],
    })
    expect(code).toBe(0)
    expect(stdout.match(/It fails\./g)).toHaveLength(2)
    expect(service.of('promptSession').map((request) => (request.body as { text: string }).text)).toEqual([
      'Why?',
      'two \nlines',
    ])
    expect(stderr).toContain('The session keeps running')
  })
})
