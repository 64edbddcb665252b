import { describe, expect, test } from 'bun:test'
import { ServiceError } from '@svc/contract/errors'
import type { Session } from '@svc/sdk'
import { EscapeKeys } from '../../terminal/escape-keys.ts'
import { aSession, ids, type Service, startService, svc } from '../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }
const shell = ['sessions', 'shell', ids.session]

describe('svc sessions shell', () => {
  test('refuses without a terminal, before anything is asked', async () => {
    await using service = startService()
    const { code, stderr } = await svc(shell, { service, env })
    expect(code).toBe(2)
    expect(stderr).toContain('A shell needs a terminal')
    expect(service.received).toEqual([])
    expect((await svc([...shell, '--json'], { service, env, terminal: true })).code).toBe(2)
  })

  test('says that nothing runs where nothing runs, and what starts it', async () => {
    await using service = startService({ getSession: () => aSession({ status: 'stopped', sandbox: null }) })
    const { code, stderr } = await svc(shell, { service, env, terminal: true })
    expect(code).toBe(1)
    expect(stderr).toContain('The session is stopped, so it has no sandbox to open')
    expect(stderr).toContain('svc sessions restart 44444444')
  })

  test('says why the server refused it', async () => {
    await using service = startService()
    const { code, stderr } = await svc(shell, { service, env, terminal: true })
    expect(code).toBe(1)
    expect(stderr).toContain('No such route')
  })

  /** The service, with a terminal that sends one message and stays open. Null: its connection breaks. */
  function withTerminal(service: Service, message: string | null) {
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request, server) {
        if (server.upgrade(request)) return undefined
        const { pathname, search } = new URL(request.url)
        return fetch(`${service.url}${pathname}${search}`, { headers: request.headers })
      },
      websocket: {
        open(socket) {
          if (message === null) return socket.terminate()
          socket.send(message)
          if (message.includes('"end"')) socket.close()
        },
        message() {},
      },
    })
    const at = { ...service, url: `http://127.0.0.1:${server.port}` }
    return { at, [Symbol.asyncDispose]: () => server.stop(true) }
  }

  test.each([[0], [5], [255]])('ends with the code %d of its shell', async (code) => {
    await using service = startService()
    await using terminal = withTerminal(service, JSON.stringify({ type: 'end', reason: 'The shell ended.', code }))
    expect((await svc(shell, { service: terminal.at, env, terminal: true })).code).toBe(code)
  })

  const end = { type: 'end', reason: 'The shell ended.' }
  test.each([
    'garbage',
    'null',
    '5',
    '[]',
    '{}',
    '{"code":"a"}',
    '{"type":"other","reason":"The shell ended.","code":0}',
    ...['a', -1, 1.5, 256, {}].map((code) => JSON.stringify({ ...end, code })),
    JSON.stringify({ ...end, reason: { a: 1 }, code: 0 }),
  ])('treats %s as a broken connection', async (message) => {
    await using service = startService()
    await using terminal = withTerminal(service, message)
    const { code, stderr } = await svc(shell, { service: terminal.at, env, terminal: true })
    expect(code).toBe(1)
    expect(stderr).toContain('The sandbox sent an invalid terminal message, so the connection was closed')
    expect(stderr).toContain('svc sessions info 44444444')
    expect(stderr).not.toContain('    at ')
  })

  /** Returns what the command says after the connection breaks; `now` is the session by then. */
  async function broken(now: () => Session) {
    let isFirst = true
    await using service = startService({
      getSession: () => {
        if (!isFirst) return now()
        isFirst = false
        return aSession()
      },
    })
    await using terminal = withTerminal(service, null)
    return await svc(shell, { service: terminal.at, env, terminal: true })
  }

  test('says why its session is over, and what starts it again', async () => {
    const error = 'Stopped after 60 minutes without activity. The next prompt starts it again.'
    const { code, stderr } = await broken(() => aSession({ status: 'stopped', error, sandbox: null }))
    expect(code).toBe(1)
    expect(stderr).toContain('The terminal ended, because its session is stopped')
    expect(stderr).toContain(error)
    expect(stderr).toContain('svc sessions restart 44444444')
  })

  test('says why its session starts again, once it does, and how to open it there', async () => {
    const sandbox_ended = 'The sandbox ended for a move of the project to another server.'
    let reads = 0
    const { code, stderr } = await broken(() =>
      reads++ === 0 ? aSession() : aSession({ status: 'provisioning', sandbox: null, sandbox_ended }),
    )
    expect(code).toBe(1)
    expect(stderr).toContain('The terminal ended, because the session starts again in a new sandbox')
    expect(stderr).toContain(sandbox_ended)
    expect(stderr).toContain('svc sessions shell 44444444')
  })

  test('says what the server says of the session when that cannot be read any more', async () => {
    const { code, stderr } = await broken(() => {
      throw new ServiceError('unauthenticated', 'This token has expired.')
    })
    expect(code).toBe(1)
    expect(stderr).toContain('The connection to the sandbox ended')
    expect(stderr).toContain('This token has expired.')
  })

  test('says that its session still runs', async () => {
    const { code, stderr } = await broken(() => aSession())
    expect(code).toBe(1)
    expect(stderr).toContain('The session still runs.')
    expect(stderr).toContain('svc sessions shell 44444444')
  })

  test('refuses a command that no address has room for', async () => {
    const long = await svc([...shell, '--', 'x'.repeat(5000)], { env, terminal: true })
    expect(long.code).toBe(2)
    expect(long.stderr).toContain('longer than 4000 characters')
  })
})

describe('the keys that leave a connection', () => {
  const typed = (...chunks: string[]) => {
    const keys = new EscapeKeys()
    let passed = ''
    for (const chunk of chunks) {
      const taken = keys.take(Buffer.from(chunk))
      passed += Buffer.from(taken.passed).toString()
      if (taken.leaves) return `${passed} left`
    }
    return passed
  }

  test.each([
    [['~.'], ' left'],
    [['ls\r', '~', '.'], 'ls\r left'],
    [['ls\r~.', 'never'], 'ls\r left'],
    [['cd ~/a\r'], 'cd ~/a\r'],
    [['~/bin/x\r'], '~/bin/x\r'],
    [['a~.b'], 'a~.b'],
    [['\r~~.'], '\r~.'],
    [['ä\r', '~', 'é'], 'ä\r~é'],
  ])('%j passes as %j', (chunks, passed) => {
    expect(typed(...chunks)).toBe(passed)
  })
})
