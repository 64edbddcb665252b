/** `--attach`: files are read and checked before anything is sent. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aSession, ids, startService, svc } from '../../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-attach-'))
  await mkdir(join(folder, 'folder'))
  await writeFile(join(folder, 'notes.txt'), 'hello')
  await writeFile(join(folder, 'empty'), '')
  for (const name of ['large.bin', '1', '2', '3']) await writeFile(join(folder, name), '')
  await truncate(join(folder, 'large.bin'), 10 * 1024 ** 2 + 1)
  for (const name of ['1', '2', '3']) await truncate(join(folder, name), 7 * 1024 ** 2)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const at = (name: string) => join(folder, name)
const attached = (...names: string[]) => names.flatMap((name) => ['--attach', at(name)])
const hello = Buffer.from('hello').toString('base64')

test('new sends its files with the prompt', async () => {
  await using service = startService()
  const { code } = await svc(['sessions', 'new', '--prompt', 'Read', ...attached('notes.txt', 'empty')], {
    service,
    env,
  })
  expect(code).toBe(0)
  expect(service.of('createSession')[0]!.body).toEqual({
    initial_prompt: 'Read',
    attachments: [
      { name: 'notes.txt', content_base64: hello },
      { name: 'empty', content_base64: '' },
    ],
  })
})

test('chat sends its files with the prompt', async () => {
  const prompted = Promise.withResolvers<void>()
  const created_at = aSession().created_at
  const message = { created_at, completed_at: created_at, error: null }
  await using service = startService({
    getTranscript: () => ({ messages: [] }),
    promptSession: () => {
      prompted.resolve()
      return { prompt_id: ids.sandbox, status: 'accepted' }
    },
    async *streamSessionEvents() {
      yield { type: 'session', session: aSession() }
      await prompted.promise
      yield { type: 'message', message: { ...message, message_id: 'u', role: 'user', parts: [] } }
      yield { type: 'turn', status: 'busy', error: null }
      const parts = [{ type: 'text' as const, id: '1', text: 'Read it.' }]
      yield { type: 'message', message: { ...message, message_id: 'a', role: 'assistant', parts } }
      yield { type: 'turn', status: 'idle', error: null }
    },
  })
  const ask = ['sessions', 'chat', ids.session, '--prompt', 'Read', ...attached('notes.txt')]
  expect(await svc(ask, { service, env })).toMatchObject({ code: 0, stdout: 'Read it.\n' })
  expect(service.of('promptSession')[0]!.body).toEqual({
    text: 'Read',
    attachments: [{ name: 'notes.txt', content_base64: hello }],
  })
})

describe('nothing is sent', () => {
  test.each([
    ['of a file that is not there', ['nothing'], "nothing can't be read: there is no such file"],
    ['of a folder', ['folder'], 'folder is a folder'],
    ['of a file that is too large', ['notes.txt', 'large.bin'], 'large.bin is larger than 10 MiB'],
    ['of files that are too large together', ['1', '2', '3'], 'may be 20 MiB together'],
    ['of too many files', Array.from({ length: 11 }, () => 'notes.txt'), 'at most 10 attachments; these are 11'],
  ])('%s', async (_, names, words) => {
    await using service = startService()
    for (const command of [
      ['sessions', 'new'],
      ['sessions', 'chat', ids.session],
    ]) {
      const { code, stderr } = await svc([...command, '--prompt', 'Read', ...attached(...names)], { service, env })
      expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
    }
    expect([...service.of('createSession'), ...service.of('promptSession')]).toEqual([])
  })

  test('without a prompt', async () => {
    await using service = startService()
    const { code, stderr } = await svc(['sessions', 'new', ...attached('notes.txt')], { service, env })
    expect([code, stderr]).toEqual([2, expect.stringContaining('--attach needs --prompt')])
    expect(service.of('createSession')).toEqual([])
  })
})
