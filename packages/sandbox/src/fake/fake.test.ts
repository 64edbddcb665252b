import { afterAll, describe, expect, test } from 'bun:test'

import { driverConformance } from '../conformance/conformance.ts'
import type { SandboxError, SandboxErrorKind } from '../driver.ts'
import { createFakeDriver } from './fake.ts'

const env = { SVC_TOKEN: 'svc_sbx_t', SVC_SESSION_ID: 's', SVC_SANDBOX_GENERATION: '1' }

driverConformance('fake', async () => {
  const driver = createFakeDriver()
  return {
    driver,
    relaySocket: '/nowhere',
    env,
    endItself: (sandboxId) => driver.crash(sandboxId),
    close: () => driver.close(),
  }
})

describe('the fake', () => {
  const driver = createFakeDriver()
  afterAll(() => driver.close())
  let serial = 0
  const create = (extra: Record<string, string> = {}) =>
    driver.create(
      {
        sandboxId: `fake-test-${++serial}`,
        env: { ...env, ...extra },
        limits: { memoryBytesMax: 1, cpuMax: 1, processesMax: 1, diskBytesMax: 1 },
        relaySocket: '/nowhere',
      },
      new AbortController().signal,
    )
  const post = (socket: string, path: string, body: unknown) =>
    fetch(`http://daemon${path}`, {
      unix: socket,
      method: 'POST',
      headers: { authorization: 'Bearer svc_sbx_t' },
      body: JSON.stringify(body),
    })

  test.each(['no-isolation', 'no-space', 'boot-failed', 'aborted', 'unreached'] as SandboxErrorKind[])(
    'fails a create as %s',
    async (kind) => {
      driver.failures.push(kind)
      const error = (await create().catch((thrown: unknown) => thrown)) as SandboxError
      expect(error.kind).toBe(kind)
    },
  )

  test('echoes a prompt and runs one prompt id once', async () => {
    const sandbox = await create()
    const first = (await (await post(sandbox.daemonSocket, '/svc/prompt', { text: 'hi', prompt_id: 'a' })).json()) as {
      runtime_session_id: string
    }
    await post(sandbox.daemonSocket, '/svc/prompt', { text: 'hi', prompt_id: 'a' })
    expect(first.runtime_session_id).toStartWith('ses_')
    expect(driver.seen(sandbox.sandboxId)?.prompts).toEqual([
      { sandboxId: sandbox.sandboxId, text: 'hi', promptId: 'a' },
    ])
  })

  test('lets nobody in without a key or a signed context', async () => {
    const sandbox = await create()
    const unix = sandbox.daemonSocket
    expect((await fetch('http://daemon/svc/prompt', { unix, method: 'POST', body: '{"text":"x"}' })).status).toBe(401)
    expect((await fetch('http://daemon/event', { unix })).status).toBe(401)
    const headers = { authorization: 'Bearer svc_sbx_t', 'x-svc-user-context': 'e30.AAAA' }
    expect((await fetch('http://daemon/event', { unix, headers })).status).toBe(401)
  })

  test('is still booting for as long as it is told', async () => {
    driver.options.bootMs = 60_000
    const sandbox = await create()
    const health = (await (await fetch('http://daemon/svc/health', { unix: sandbox.daemonSocket })).json()) as {
      status: string
    }
    expect(health.status).toBe('booting')
    const reply = await post(sandbox.daemonSocket, '/svc/prompt', { text: 'hi' })
    expect(reply.status).toBe(503)
    expect(reply.headers.get('retry-after')).toBe('1')
    driver.options.bootMs = 0
  })

  test('opens the conversation at boot when it is asked to', async () => {
    const sandbox = await create({ SVC_BOOTSTRAP_RUNTIME_SESSION: '1', SVC_INITIAL_PROMPT: 'begin' })
    expect(driver.seen(sandbox.sandboxId)?.prompts.map((prompt) => prompt.text)).toEqual(['begin'])
  })

  test('ends by itself after the time it is given', async () => {
    driver.options.exitAfterMs = 5
    const ended = Promise.withResolvers<string>()
    const unsubscribe = driver.onExit((exit) => ended.resolve(exit.sandboxId))
    const sandbox = await create()
    delete driver.options.exitAfterMs
    expect(await ended.promise).toBe(sandbox.sandboxId)
    unsubscribe()
  })
})
