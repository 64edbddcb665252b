/** The control routes: prompts that run once, and bodies that are refused. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { type DaemonUnderTest, raw, request, signed, startTestDaemon, statusOf, testToken, until } from '../testing.ts'

// Generous: the machines that run this are busy with everything else.
setDefaultTimeout(120_000)

let under: DaemonUnderTest
const bearer = `Authorization: Bearer ${testToken}`

const send = (method: string, path: string, lines: string[] = [], body = '') =>
  raw(under.port, request(method, path, lines, body))

beforeAll(async () => {
  under = await startTestDaemon()
  await until('the daemon to be ready', async () => (await under.daemon.health()).status === 'ready')
})
afterAll(() => under.close())

describe('the control routes', () => {
  const prompt = (body: unknown) => send('POST', '/svc/prompt', [bearer], JSON.stringify(body))
  const prompts = async () => {
    const headers = { 'x-svc-user-context': await signed('/prompts') }
    return (await (await fetch('http://daemon/prompts', { unix: under.socket, headers })).json()) as unknown[]
  }

  test('prompts share one conversation, and a prompt id runs once', async () => {
    const answers = await Promise.all([
      prompt({ text: 'a', prompt_id: '1' }),
      prompt({ text: 'a', prompt_id: '1' }),
      prompt({ text: 'b' }),
    ])
    const ok = '"ok":true,"runtime_session_id":"ses_stand_in","runtime_starts":1'
    for (const answer of answers) expect(answer).toContain(`{${ok},"was_taken":`)
    expect(answers.filter((answer) => answer.endsWith('"was_taken":true}')).length).toBe(1)
    expect((await under.seen()).filter((one) => one.url === '/session').length).toBe(1)
    // They came on connections of their own, so any may be the first.
    const texts = ((await prompts()) as { parts: { text: string }[] }[]).map(({ parts }) =>
      parts.map(({ text }) => text),
    )
    expect(texts.toSorted()).toEqual([['a'], ['b']])
    expect((await under.daemon.health()).runtime_session_id).toBe('ses_stand_in')
  })

  test.each([
    {},
    { text: '' },
    { text: '  ' },
    { text: 1 },
    { text: 'x', prompt_id: 5 },
    { text: 'x', prompt_id: '' },
    { text: 'x'.repeat(600_000) },
  ])('refuses a prompt with an invalid field', async (body) => {
    const answer = await prompt(body)
    expect(statusOf(answer)).toBe(400)
    expect(answer).toContain('"code":"invalid"')
  })

  test.each(['{', '[]', 'null', '"x"'])('refuses the body %s', async (text) => {
    expect(statusOf(await send('POST', '/svc/prompt', [bearer], text))).toBe(400)
  })

  test('refuses a body over the limit with 413', async () => {
    expect(statusOf(await send('POST', '/svc/prompt', [bearer], JSON.stringify({ text: 'x'.repeat(1_100_000) })))).toBe(
      413,
    )
  })

  test('lists the ports that the proxy reaches, and no others', async () => {
    const serve = (hostname: string) => Bun.serve({ port: 0, hostname, fetch: () => new Response('') })
    const reached = [serve('127.0.0.1'), serve('0.0.0.0')]
    const elsewhere = serve('127.0.0.2')
    const ended = serve('127.0.0.1')
    await ended.stop(true)
    const answer = await send('POST', '/svc/ports', [bearer], '{}')
    const { ports } = JSON.parse(answer.slice(answer.indexOf('{'))) as { ports: number[] }
    for (const { port } of reached) expect(ports).toContain(port!)
    for (const { port } of [elsewhere, ended]) expect(ports).not.toContain(port!)
    expect(ports).toEqual(ports.toSorted((one, other) => one - other))
    expect(statusOf(await send('POST', '/svc/ports', [], '{}'))).toBe(401)
    await Promise.all([...reached, elsewhere].map((server) => server.stop(true)))
  })

  test('reports unknown control routes and wrong methods', async () => {
    expect(statusOf(await send('POST', '/svc/other', [bearer], '{}'))).toBe(404)
    expect(statusOf(await send('POST', '/svc/__proto__', [bearer], '{}'))).toBe(404)
    expect(statusOf(await send('POST', '/svc/constructor', [bearer], '{}'))).toBe(404)
    expect(statusOf(await send('GET', '/svc/prompt', [bearer]))).toBe(405)
  })
})
