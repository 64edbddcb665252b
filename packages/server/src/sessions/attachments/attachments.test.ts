/** Files with a prompt: taken within limits, delivered before it, shown beside it, and never a page of the service. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { attachmentBytesMax, attachmentPath, type Message, type Prompt } from '@svc/contract'
import { buildApp } from '../../app.ts'
import { sendAttachments } from './deliver.ts'
import { makeFamily } from '../testing-family.ts'
import { makeSessionApp, type RunningSession, secondServer, type SessionApp, until } from '../testing.ts'

setDefaultTimeout(120_000)
const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.from('the rest of an image')])
const html = '<!doctype html><script>parent.postMessage(document.cookie, "*")</script>'
const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'

let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp()
})
afterAll(() => app.close())
afterEach(() => {
  delete app.driver.options.refuse
  delete app.driver.options.bootMs
})

const file = (name: string, content: Uint8Array | string) => ({
  name,
  content_base64: Buffer.from(content).toString('base64'),
})
const prompt = (sessionId: string, attachments: object[], token = app.ownerToken) =>
  app.request<{ prompt_id: string; status: string; code: string; error: string; limit_bytes: number }>(
    'POST',
    app.path(sessionId, 'prompt'),
    { body: { text: 'look', attachments }, token },
  )
const promptsOf = async (sessionId: string) =>
  (await app.request<{ prompts: Prompt[] }>('GET', app.path(sessionId, 'prompts'))).body.prompts
const partsOf = async (sessionId: string) => {
  const { body } = await app.request<{ messages: Message[] }>('GET', app.path(sessionId, 'transcript'))
  return body.messages.flatMap(({ role, parts }) => (role === 'user' ? parts : []))
}
const filesIn = (sandboxId: string) =>
  app.driver.seen(sandboxId)!.attachments.map(({ attachment_id, file_name, content_base64 }) => ({
    ...{ attachment_id, file_name },
    content: Buffer.from(content_base64, 'base64').toString('latin1'),
  }))
const download = (sessionId: string, id: string, token = app.ownerToken) =>
  buildApp(app.deps).request(`${app.deps.config.publicUrl}${app.path(sessionId, `attachments/${id}`)}`, {
    headers: { host: new URL(app.deps.config.publicUrl).host, authorization: `Bearer ${token}` },
  })
const delivered = (session: RunningSession) =>
  until('the transcript has it', async () => {
    const parts = await partsOf(session.session_id)
    return parts.some(({ type }) => type === 'file') ? parts : null
  })

test('delivers files before their prompt, which names their paths, and lists them in the transcript', async () => {
  const session = await app.running()
  const sent = await prompt(session.session_id, [file('plan.txt', 'step one'), file('Bild 1.png', png)])
  expect([sent.status, sent.body.status]).toEqual([202, 'delivered'])
  const [{ attachments } = { attachments: [] }] = await promptsOf(session.session_id)
  expect(attachments).toEqual([
    { attachment_id: expect.any(String), name: 'plan.txt', bytes: 8, content_type: 'text/plain' },
    { attachment_id: expect.any(String), name: 'Bild 1.png', bytes: png.length, content_type: 'image/png' },
  ])
  const sandboxId = session.sandbox!.sandbox_id
  expect(filesIn(sandboxId)).toEqual([
    { attachment_id: attachments[0]!.attachment_id, file_name: 'plan.txt', content: 'step one' },
    { attachment_id: attachments[1]!.attachment_id, file_name: 'Bild_1.png', content: png.toString('latin1') },
  ])
  const [told] = app.driver.seen(sandboxId)!.prompts
  expect(told!.text).toBe('look')
  for (const each of attachments) expect(told!.note).toContain(attachmentPath(each))
  expect(await delivered(session)).toMatchObject([
    { type: 'text', text: 'look' },
    { type: 'file', ...attachments[0]! },
    { type: 'file', ...attachments[1]! },
  ])
})

test('keeps the files of the first prompt with it, also when another server delivers them', async () => {
  app.driver.options.bootMs = 60_000
  const { body, status } = await app.create({ initial_prompt: 'begin', attachments: [file('a.txt', 'first')] })
  expect(status).toBe(201)
  expect(await promptsOf(body.session_id)).toMatchObject([
    { prompt_id: body.session_id, text: 'begin', status: 'accepted', attachments: [{ name: 'a.txt', bytes: 5 }] },
  ])
  expect(body.name).toBe('begin')
  await app.request('POST', app.path(body.session_id, 'stop'))
  const other = await secondServer(app)
  try {
    expect((await other.request('POST', app.path(body.session_id, 'restart'), { body: {} })).status).toBe(202)
    await until('it is delivered', async () => (await promptsOf(body.session_id))[0]!.status === 'delivered')
    const { sandbox } = await app.session(body.session_id)
    expect(other.driver.seen(sandbox!.sandbox_id)!.attachments).toMatchObject([{ file_name: 'a.txt' }])
    expect(other.driver.seen(sandbox!.sandbox_id)!.prompts).toMatchObject([
      { text: 'begin', promptId: body.session_id },
    ])
  } finally {
    await other.close()
  }
})

test('keeps the files of an undelivered prompt beside the reason', async () => {
  const session = await app.running()
  app.driver.options.refuse = () => ({ code: 'runtime_failed', message: 'Not now.' })
  expect((await prompt(session.session_id, [file('a.txt', 'x')])).body.status).toBe('failed')
  expect(await delivered(session)).toMatchObject([{ type: 'text' }, { type: 'file', name: 'a.txt' }])
})

test('fails a prompt whose file is missing, unless its session was deleted', async () => {
  const session = await app.running()
  const gone = { attachment_id: crypto.randomUUID(), name: 'a.txt', bytes: 1, content_type: 'text/plain' }
  const waiting = { prompt_id: crypto.randomUUID(), text: 'look', created_at: '', attachments: [gone] }
  const daemon = app.deps.sessions.daemonOf(session.session_id)!
  const reason = 'The attachment a.txt is missing, so the prompt was not delivered. Send it again with the file.'
  expect(await sendAttachments(app.deps, daemon, waiting)).toEqual({
    ...{ kind: 'refused', code: 'attachment_missing', reason },
  })
  await app.request('DELETE', app.path(session.session_id))
  expect(await sendAttachments(app.deps, daemon, waiting)).toMatchObject({ kind: 'unavailable' })
})

test('refuses files without a task', async () => {
  const { status, body } = await app.create({ attachments: [file('a.txt', 'x')] })
  expect([status, body]).toEqual([400, expect.objectContaining({ error: 'Task is required with attachments.' })])
})

describe('limits of attachments', () => {
  let session: RunningSession
  beforeAll(async () => {
    session = await app.running()
  })
  const large = (bytes: number) => file('film.mp4', Buffer.alloc(bytes))

  test.each([
    ['11 files', () => Array.from({ length: 11 }, () => file('a', 'x')), 422, 'at most 10 attachments; these are 11'],
    [
      'a large file',
      () => [large(attachmentBytesMax + 1)],
      413,
      'film.mp4 is larger than 10 MiB, the most an attachment may be',
    ],
    [
      'large files',
      () => [1, 2, 3].map(() => large(6.8 * 1024 ** 2)),
      413,
      'The attachments of one prompt may be 20 MiB together',
    ],
    [
      'a larger body',
      () => [1, 2, 3].map(() => large(9.9 * 1024 ** 2)),
      413,
      'The attachments of one prompt may be 20 MiB together',
    ],
    ['no base64', () => [{ name: 'a', content_base64: 'a*b=' }], 400, 'is not base64'],
    ['half of base64', () => [{ name: 'a', content_base64: 'abcde' }], 400, 'is not base64'],
  ])('refuses %s', async (_, attachments, status, words) => {
    const sent = await prompt(session.session_id, attachments())
    expect([sent.status, sent.body.error]).toEqual([status, expect.stringContaining(words)])
    expect(await promptsOf(session.session_id)).toEqual([])
  })

  test('refuses too many files before it reads the first', async () => {
    const unreadable = Array.from({ length: 100_000 }, () => ({}))
    for (const sent of [
      await prompt(session.session_id, unreadable),
      await app.create({ initial_prompt: 'go', attachments: unreadable }),
    ])
      expect([sent.status, sent.body]).toEqual([
        422,
        expect.objectContaining({
          ...{ code: 'unprocessable', limit: 10 },
          error: 'A prompt has at most 10 attachments; these are 100000.',
        }),
      ])
  })

  test('refuses a large file before it reads the content', async () => {
    const sent = await prompt(session.session_id, [{ name: 'film.mp4', content_base64: '*'.repeat(14 * 1024 ** 2) }])
    expect([sent.status, sent.body.limit_bytes]).toEqual([413, attachmentBytesMax])
  })

  test('counts all files of a session in the quota of its transcript', async () => {
    const path = `/v1/projects/${app.project.project_id}`
    expect((await prompt(session.session_id, [large(600 * 1024)])).status).toBe(202)
    await app.request('PATCH', path, { body: { settings: { quota_transcript_bytes: 1024 * 1024 } } })
    const sent = await prompt(session.session_id, [large(600 * 1024)])
    expect([sent.status, sent.body.code, sent.body.limit_bytes]).toEqual([413, 'quota_exceeded', 1024 * 1024])
    const usage = await app.request<{ storage: { transcript_bytes: number } }>('GET', `${path}/usage`)
    expect(usage.body.storage.transcript_bytes).toBeGreaterThan(600 * 1024)
    const other = await app.running()
    const together = Array.from({ length: 8 }, () => prompt(other.session_id, [large(600 * 1024)]))
    const statuses = (await Promise.all(together)).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([202, ...Array.from({ length: 7 }, () => 413)])
    expect(await promptsOf(other.session_id)).toHaveLength(1)
    await app.request('PATCH', path, { body: { settings: { quota_transcript_bytes: null } } })
  })
})

test('makes file names one plain line without a path, and different from each other', async () => {
  const session = await app.running()
  const given = [
    ...[
      '../../etc/passwd',
      'C:\\x\\y.txt',
      '..',
      '',
      'a\nb\u202ecod.exe',
      '-rf',
      '$(touch x);a b.txt',
      'same.txt',
      'same.txt',
    ],
    `${'é'.repeat(300)}.png`,
  ]
  expect(
    (
      await prompt(
        session.session_id,
        given.map((name) => file(name, name)),
      )
    ).status,
  ).toBe(202)
  const [{ attachments } = { attachments: [] }] = await promptsOf(session.session_id)
  const names = attachments.map(({ name }) => name)
  expect(names.slice(0, 9)).toEqual([
    ...['passwd', 'y.txt', 'file', 'file (2)', 'abcod.exe', '-rf', '$(touch x);a b.txt', 'same.txt', 'same (2).txt'],
  ])
  expect([names[9]!.length, names[9]!.slice(-5)]).toEqual([200, 'é.png'])
  const files = filesIn(session.sandbox!.sandbox_id).map(({ file_name: name }) => name)
  expect(files.slice(0, 9)).toEqual([
    ...['passwd', 'y.txt', 'file', 'file__2_', 'abcod.exe', '_rf', '__touch_x__a_b.txt', 'same.txt', 'same__2_.txt'],
  ])
  expect(Buffer.byteLength(files[9]!)).toBeLessThanOrEqual(200)
  const long = await prompt(session.session_id, [file(`${'é'.repeat(95)}.${'y'.repeat(30)}`, 'x')])
  expect(long.status).toBe(202)
  // It waits for the end of the first turn.
  await until('the long name is delivered', async () => {
    const found = (await promptsOf(session.session_id)).find(({ prompt_id: id }) => id === long.body.prompt_id)
    expect(found!.status).not.toBe('failed')
    return found!.status === 'delivered'
  })
})

describe('downloading attachments', () => {
  let session: RunningSession
  let ids: Record<string, string>
  beforeAll(async () => {
    session = await app.running()
    await prompt(session.session_id, [
      ...[file('page.html', html), file('drawing.svg', svg), file('really.png', html), file('photo.jpg', png)],
      file("it's 100%\u00e9.bin", Buffer.from([0, 255, 1])),
    ])
    const [{ attachments } = { attachments: [] }] = await promptsOf(session.session_id)
    ids = Object.fromEntries(attachments.map(({ name, attachment_id }) => [name, attachment_id]))
  })

  test.each([
    ['page.html', 'application/octet-stream', 'attachment'],
    ['drawing.svg', 'application/octet-stream', 'attachment'],
    ['really.png', 'application/octet-stream', 'attachment'],
    ['photo.jpg', 'image/png', 'inline'],
  ])('serves %s as %s, %s', async (name, type, disposition) => {
    const answer = await download(session.session_id, ids[name]!)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe(type)
    expect(answer.headers.get('content-disposition')).toBe(`${disposition}; filename*=UTF-8''${name}`)
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'")
    const sent = { 'page.html': html, 'drawing.svg': svg, 'really.png': html, 'photo.jpg': png }[name]!
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(Buffer.from(sent))
  })

  test('serves every byte, with a name that cannot leave its header', async () => {
    const answer = await download(session.session_id, ids["it's 100%\u00e9.bin"]!)
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(new Uint8Array([0, 255, 1]))
    expect(answer.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''it%27s%20100%25%C3%A9.bin")
  })

  test('serves a viewer, who cannot attach, and no stranger', async () => {
    const viewer = await app.makeUser('viewer')
    const stranger = await app.makeUser('member', 'own')
    expect((await download(session.session_id, ids['photo.jpg']!, viewer.token)).status).toBe(200)
    expect((await prompt(session.session_id, [file('a', 'x')], viewer.token)).status).toBe(403)
    expect((await download(session.session_id, ids['photo.jpg']!, stranger.token)).status).toBe(403)
    expect((await prompt(session.session_id, [file('a', 'x')], stranger.token)).status).toBe(403)
  })

  test('serves a file only at its own session', async () => {
    const other = await app.running()
    expect((await download(other.session_id, ids['photo.jpg']!)).status).toBe(404)
    expect((await download(session.session_id, 'nothing')).status).toBe(404)
    await app.request('DELETE', app.path(session.session_id))
    expect((await download(session.session_id, ids['photo.jpg']!)).status).toBe(404)
    const kept = app.deps.db.selectFrom('session_attachments').select('name')
    expect(await kept.where('session_id', '=', session.session_id).execute()).toEqual([])
  })
})

test('redacts a text and a file name for people, while the agent gets them unchanged', async () => {
  const secret = 'correct-horse-battery-staple'
  await app.request('POST', `/v1/projects/${app.project.project_id}/secrets`, {
    body: { name: 'STAPLE', value: secret },
  })
  const session = await app.running()
  await prompt(session.session_id, [file(`${secret}.env`, `KEY=${secret}\n`)])
  const [{ attachments } = { attachments: [] }] = await promptsOf(session.session_id)
  const answer = await download(session.session_id, attachments[0]!.attachment_id)
  expect(await answer.text()).toBe('KEY=[redacted STAPLE]\n')
  expect(answer.headers.get('content-disposition')).not.toContain(secret)
  expect(JSON.stringify([attachments, await delivered(session)])).not.toContain(secret)
  expect(filesIn(session.sandbox!.sandbox_id)).toMatchObject([{ content: `KEY=${secret}\n` }])
})

test('serves a long text completely, with every secret redacted', async () => {
  const session = await app.running()
  const secret = 'correct-horse-battery-staple'
  const line = `\u{1f600}${'x'.repeat(4093)}${secret}\u{1f600}\n`
  await prompt(session.session_id, [file('long.log', line.repeat(100))])
  const [{ attachments } = { attachments: [] }] = await promptsOf(session.session_id)
  const answer = await download(session.session_id, attachments[0]!.attachment_id)
  expect((await answer.text()) === line.replace(secret, '[redacted STAPLE]').repeat(100)).toBe(true)
})

test('reads a long file piece by piece, and redacts a text that begins like a PDF', async () => {
  const session = await app.running()
  const film = Buffer.from(Array.from({ length: 700_001 }, (_, at) => (at * 31) % 251))
  const pdf = `%PDF-1.7\n${'x'.repeat(300_000)}\u{1f600} correct-horse-battery-staple\n`
  await prompt(session.session_id, [
    file('film.mp4', film),
    ...[file('text.pdf', pdf), file('real.pdf', Buffer.concat([Buffer.from(pdf), Buffer.from([255])]))],
  ])
  const [{ attachments } = { attachments: [] }] = await promptsOf(session.session_id)
  const [whole, text, real] = await Promise.all(
    attachments.map(async ({ attachment_id: id }) => {
      const answer = await download(session.session_id, id)
      return Buffer.from(await answer.arrayBuffer())
    }),
  )
  expect(whole!.equals(film)).toBe(true)
  expect(text!.toString() === pdf.replace('correct-horse-battery-staple', '[redacted STAPLE]')).toBe(true)
  expect(real!.length).toBe(Buffer.byteLength(pdf) + 1)
  const stalled = await download(session.session_id, attachments[0]!.attachment_id)
  const reader = stalled.body!.getReader()
  expect((await reader.read()).value!.length).toBe(256 * 1024)
  await reader.cancel()
})

test('an agent attaches to its own session and its descendants, and reads no other', async () => {
  const { own, child, other, token } = await makeFamily(app)
  for (const session of [own, child]) {
    expect((await prompt(session.session_id, [file('a.txt', 'x')], token)).status).toBe(202)
    const [{ attachments } = { attachments: [] }] = await promptsOf(session.session_id)
    expect((await download(session.session_id, attachments[0]!.attachment_id, token)).status).toBe(200)
  }
  expect((await prompt(other.session_id, [file('a.txt', 'x')], token)).status).toBe(403)
  await prompt(other.session_id, [file('a.txt', 'x')])
  const [{ attachments } = { attachments: [] }] = await promptsOf(other.session_id)
  expect((await download(other.session_id, attachments[0]!.attachment_id, token)).status).toBe(403)
})
