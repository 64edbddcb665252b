/** Files that come with prompts, at the daemon's door. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { type DaemonUnderTest, startTestDaemon, testToken, until } from '../testing.ts'

setDefaultTimeout(120_000)

let under: DaemonUnderTest
beforeAll(async () => {
  under = await startTestDaemon()
  await until('the daemon to be ready', async () => (await under.daemon.health()).status === 'ready')
})
afterAll(() => under.close())

const attach = (body: object) =>
  fetch('http://daemon/svc/attachment', {
    unix: under.socket,
    method: 'POST',
    headers: { authorization: `Bearer ${testToken}` },
    body: JSON.stringify(body),
  })
const at = (...names: string[]) => join(under.folder, 'attachments', ...names)
const base64 = (content: string | Uint8Array) => Buffer.from(content).toString('base64')

test('a file is written byte for byte, cannot be run, and is written again when it comes again', async () => {
  const id = crypto.randomUUID()
  const bytes = Uint8Array.from({ length: 3 * 1024 ** 2 }, (_, index) => index % 251)
  for (const content of ['first', bytes]) {
    const answer = await attach({ attachment_id: id, file_name: 'run.sh', content_base64: base64(content) })
    expect([answer.status, await answer.json()]).toEqual([200, { ok: true }])
  }
  expect(readFileSync(at(id, 'run.sh')).equals(bytes)).toBe(true)
  expect(lstatSync(at(id, 'run.sh')).mode & 0o111).toBe(0)
})

test('a link that stands in its place is replaced and not followed', async () => {
  const id = crypto.randomUUID()
  const target = join(under.folder, 'target')
  writeFileSync(target, 'untouched')
  mkdirSync(at(id), { recursive: true })
  symlinkSync(target, at(id, 'a.txt'))
  expect((await attach({ attachment_id: id, file_name: 'a.txt', content_base64: base64('new') })).status).toBe(200)
  expect([readFileSync(target, 'utf8'), readFileSync(at(id, 'a.txt'), 'utf8')]).toEqual(['untouched', 'new'])
  expect(lstatSync(at(id, 'a.txt')).isFile()).toBe(true)
})

test('a name that could be a path, or an id that is none, is refused and makes nothing', async () => {
  const good = { attachment_id: crypto.randomUUID(), file_name: 'a.txt', content_base64: '' }
  const before = readdirSync(under.folder, { recursive: true }).length
  const wrong = [
    ...['', '.', '..', '../a', 'a/b', 'a\\b', '-rf', 'a b', 'a\0b', 'x'.repeat(300)].map((file_name) => ({
      file_name,
    })),
    ...['', '..', 'x', `${good.attachment_id}/..`].map((attachment_id) => ({ attachment_id })),
    { content_base64: 7 },
  ]
  for (const each of wrong) expect([each, (await attach({ ...good, ...each })).status]).toEqual([each, 400])
  expect(readdirSync(under.folder, { recursive: true }).length).toBe(before)
})

test('what cannot be written says why', async () => {
  const id = crypto.randomUUID()
  mkdirSync(at(id, 'a.txt'), { recursive: true })
  const answer = await attach({ attachment_id: id, file_name: 'a.txt', content_base64: '' })
  expect([answer.status, await answer.json()]).toEqual([
    409,
    { code: 'attachment_not_written', error: expect.stringMatching(/^Couldn't write a\.txt: /) },
  ])
})
