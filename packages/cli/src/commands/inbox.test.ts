import { expect, test } from 'bun:test'
import type { InboxItem } from '@svc/sdk'
import { ids, startService, svc } from '../testing.ts'
import { anInboxItem } from '../testing/inbox.ts'

const uuid = (n: number) => `aaaaaaaa-aaaa-4aaa-8aaa-00000000000${n}`
const question: Partial<InboxItem> = {
  ...{ key: `question.${uuid(1)}`, kind: 'question', group: 'answer', state: 'permission', title: 'Run a command' },
  ...{ number: null, cr_id: null, question_id: uuid(1), why: 'Session “Parser” is waiting · npm publish' },
  session: { session_id: ids.session, name: 'Parser', agent_name: 'build' },
}
const counts = { answer: 1, review: 3, unblock: 0, running: 0 }
const full = () =>
  startService({
    getInbox: ({ query }) =>
      query.view === 'open'
        ? { items: [anInboxItem(question), anInboxItem()], counts, snoozed: 1, done: 2 }
        : { items: query.view === 'done' ? [anInboxItem()] : [], counts, snoozed: 1, done: 2 },
  })

test('svc inbox lists the groups with their counts, why each item is there, and the next command', async () => {
  await using service = full()
  const { code, stdout, stderr } = await svc(['inbox', '--no-color'], { service, terminal: true })
  expect(code).toBe(0)
  expect(stdout).toBe(`Answer 1
   aaaaaaaa  Run a command  app  Session “Parser” is waiting · npm publish  1 minute ago
Review 3
   55555555  #3 Add a greeting  app  2 of 2 checks pass  1 minute ago
`)
  expect(stderr).toContain('2 more: --limit 3')
  expect(stderr).toContain('Put away: 1 snoozed, 2 done')
  expect(stderr).toContain('svc sessions answer 44444444 --project app')
  expect(service.of('getInbox')[0]!.query).toEqual({ view: 'open', per_group: '20' })
})

test('svc inbox prints rows or one JSON document for programs', async () => {
  await using service = full()
  const rows = (await svc(['inbox'], { service })).stdout.trimEnd().split('\n')
  expect(rows.map((line) => line.split('\t').slice(0, 4))).toEqual([
    ['answer', `question.${uuid(1)}`, 'app', ''],
    ['review', `change_request.${ids.cr}`, 'app', '#3'],
  ])
  const json = (await svc(['inbox', '--json'], { service })).json<{ items: InboxItem[]; counts: object }>()
  expect(json).toMatchObject({ counts, snoozed: 1, done: 2 })
  expect(json.items).toHaveLength(2)
})

test('svc inbox marks an item as done, snoozes it and returns it', async () => {
  await using service = full()
  const done = await svc(['inbox', '#3', '--done'], { service })
  expect(done.code).toBe(0)
  expect(done.stderr).toContain('svc inbox 55555555 --undo')
  expect(service.of('putAwayInboxItem')[0]).toMatchObject({
    params: { key: `change_request.${ids.cr}` },
    body: { version: 'c0ffee', until: null },
  })
  expect((await svc(['inbox', '5555', '--snooze', '1d'], { service })).code).toBe(0)
  expect(service.of('putAwayInboxItem')[1]!.body).toEqual({ version: 'c0ffee', until: '2026-11-22T12:00:00.000Z' })
  expect((await svc(['inbox', '5555', '--undo'], { service })).code).toBe(0)
  expect(service.of('restoreInboxItem')[0]!.params).toEqual({ key: `change_request.${ids.cr}` })
})

test.each([
  [['inbox', '--done'], 'Missing the item'],
  [['inbox', '5555', '--done', '--undo'], 'Give one of --done, --snooze and --undo'],
  [['inbox', '5555', '--snooze', 'soon'], '--snooze must be a span (3h, 2d, 1w) or a date to come'],
])('svc %p is refused with what to do', async (args, message) => {
  await using service = full()
  const { code, stderr } = await svc(args, { service })
  expect(code).toBe(2)
  expect(stderr).toContain(message)
})

test('svc inbox says that nothing needs you, and names an item that is gone', async () => {
  await using service = startService({
    getInbox: () => ({ items: [], counts: { answer: 0, review: 0, unblock: 0, running: 0 }, snoozed: 0, done: 0 }),
  })
  expect((await svc(['inbox'], { service, terminal: true })).stderr).toContain('Nothing needs you.')
  const gone = await svc(['inbox', 'abcd1234', '--done'], { service })
  expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('No item matches "abcd1234"')])
})
