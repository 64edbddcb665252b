import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ChangeRequest, ErrorBody, Origins } from '@svc/contract'
import { makeTestApp, type TestApp, type TestReply } from '../../testing.ts'
import { type TestProject, testProject } from '../testing.ts'
import { commitAs, type Said, storeMessages } from './testing.ts'

let app: TestApp
let at: TestProject
let session: { session_id: string; token: string }
let cr: ChangeRequest
const began = Date.parse('2026-03-02T10:00:00Z')
const agent = { name: 'svc agent', email: 'agent@svc.invalid' }
const ada = { name: 'Ada', email: 'ada@example.test' }
const seconds = (after: number) => began + after * 1000
const deliver = 'src/deliver.ts'

const before = [
  'export async function deliver(event, to) {',
  '  const reply = await post(to.url)',
  '  return reply.ok',
  '}',
]
const first = [
  before[0],
  '  const reply = await retry(() => post(to.url))',
  '  await record(event.id)',
  ...before.slice(2),
]
const second = [before[0], '  const reply = await retry(() => post(to.url), { sleep })', ...first.slice(2)]
const third = [...second.slice(0, 3), '  // A 410 means that the endpoint is gone.', ...second.slice(3)]
const text = (lines: (string | undefined)[]) => `${lines.join('\n')}\n`

/** As the runtime stores the diff of an edit: without the shared indentation. */
const diffOf = (removed: string[], added: string[]) =>
  [
    '--- a',
    '+++ b',
    '@@ -2,1 +2,1 @@',
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
    '',
  ].join('\n')
const edit = (id: string, path: string, diff: string) => ({
  ...{ type: 'tool' as const, id, tool: 'edit', status: 'completed' as const, title: path, output: '' },
  ...{ input: JSON.stringify({ filePath: `/workspace/${path}`, oldString: 'o', newString: 'n' }), diff },
})
const bash = (id: string, command: string) => ({
  ...{ type: 'tool' as const, id, tool: 'bash', status: 'completed' as const, title: command, output: '' },
  ...{ input: JSON.stringify({ command, description: command }), exit_code: 0 },
})

const story: Said[] = [
  { id: 'msg_01', role: 'user', at: seconds(0), parts: [{ type: 'text', id: 'p1', text: 'Retry the deliveries.' }] },
  {
    ...{ id: 'msg_02', role: 'assistant', at: seconds(5), until: seconds(6) },
    parts: [
      edit('edit_1', deliver, diffOf([before[1]!.trim()], [first[1]!.trim(), first[2]!.trim()])),
      { ...edit('failed', deliver, diffOf([], ['// A 410 means that the endpoint is gone.'])), status: 'error' },
    ],
  },
  {
    ...{ id: 'msg_03', role: 'assistant', at: seconds(8), until: seconds(12) },
    parts: [bash('look', 'cat src/waits.json'), bash('run_1', 'node make-waits.js > src/waits.json')],
  },
  { id: 'msg_04', role: 'user', at: seconds(60), parts: [{ type: 'text', id: 'p4', text: 'Inject the sleep.' }] },
  {
    ...{ id: 'msg_05', role: 'assistant', at: seconds(65), until: seconds(66) },
    parts: [edit('edit_2', deliver, diffOf([first[1]!.trim()], [second[1]!.trim()]))],
  },
  {
    ...{ id: 'msg_06', role: 'assistant', at: seconds(70), until: seconds(71) },
    parts: [
      {
        ...{ type: 'tool', id: 'write_1', tool: 'write', status: 'completed', title: 'src/sleep.ts', output: '' },
        input: JSON.stringify({ filePath: 'src/sleep.ts', content: 'export const sleep = (ms) => {\n  wait(ms)\n}\n' }),
      },
    ],
  },
]

beforeAll(async () => {
  app = await makeTestApp()
  at = testProject(app, await app.managedProject({ [deliver]: text(before), 'old.txt': 'one\ntwo\nthree\n' }))
  session = await app.makeSession(at.project)
  await storeMessages(app.deps.db, session.session_id, story)
  const push = (files: Record<string, string>, who: typeof ada, after: number, message: string) =>
    commitAs(at.repo, session.session_id, files, { ...who, message, at: seconds(after) })
  await push({ [deliver]: text(first), 'src/waits.json': '[500, 1000]\n' }, agent, 12, 'Retry')
  await push(
    { [deliver]: text(second), 'src/sleep.ts': 'export const sleep = (ms) => {\n  wait(ms)\n}\n' },
    agent,
    80,
    'Inject',
  )
  await push({ [deliver]: text(third), 'old.txt': 'one\nthree\n' }, ada, 100, 'Explain 410')
  const made = await app.request<ChangeRequest>('POST', at.path(), {
    body: { title: 'Retry', head_ref: session.session_id, session_id: session.session_id },
  })
  cr = made.body
}, 120_000)
afterAll(() => app.close())

const get = (path: string, options: { token?: string } = {}, of = cr): Promise<TestReply<Origins & ErrorBody>> =>
  app.request('GET', `${at.path(of.cr_id, 'origins')}?path=${encodeURIComponent(path)}`, options)

describe('how changed lines were written', () => {
  test('names the prompt and the call of each line, and the commit where no call wrote it', async () => {
    const { status, body } = await get(deliver)
    expect(status).toBe(200)
    expect(
      body.lines.map(({ start, end, call_id, commit_sha }) => [start, end, call_id, nameOf(body, commit_sha)]),
    ).toEqual([
      // The later edit replaced a line of the earlier one.
      [2, 2, 'edit_2', 'svc agent'],
      [3, 3, 'edit_1', 'svc agent'],
      // A failed call wrote nothing.
      [4, 4, null, 'Ada'],
    ])
    expect(body.lines[2]!.candidates).toEqual([])
    expect(body.calls).toEqual([
      {
        ...{ call_id: 'edit_1', message_id: 'msg_02', session_id: session.session_id, prompt_id: 'msg_01' },
        ...{ tool: 'edit', title: deliver, at: new Date(seconds(5)).toISOString() },
      },
      expect.objectContaining({ call_id: 'edit_2', prompt_id: 'msg_04' }),
    ])
    expect(body.prompts.map(({ message_id, text }) => [message_id, text])).toEqual([
      ['msg_01', 'Retry the deliveries.'],
      ['msg_04', 'Inject the sleep.'],
    ])
    expect(body.commits.map(({ author_name, by_agent }) => [author_name, by_agent]).toSorted()).toEqual([
      ['Ada', false],
      ['svc agent', true],
      ['svc agent', true],
    ])
    expect(body).toMatchObject({ withheld: false, truncated: false, sessions: [{ session_id: session.session_id }] })
  })

  test('a whole file is from the call that wrote it, with its braces', async () => {
    const { body } = await get('src/sleep.ts')
    expect(body.lines).toMatchObject([{ start: 1, end: 3, call_id: 'write_1', candidates: [] }])
  })

  test('a command that names the file is a candidate and no answer', async () => {
    const { body } = await get('src/waits.json')
    expect(body.lines).toMatchObject([
      { start: 1, end: 1, call_id: null, candidates: [{ call_id: 'run_1', reason: 'names_file' }] },
    ])
    expect(body.calls).toMatchObject([{ call_id: 'run_1', tool: 'bash', prompt_id: 'msg_01' }])
  })

  test('removed lines without a call have no answer', async () => {
    const { body } = await get('old.txt')
    expect(body.lines).toEqual([{ side: 'old', start: 2, end: 2, call_id: null, commit_sha: null, candidates: [] }])
  })

  test('a branch that people pushed has commits alone', async () => {
    await commitAs(at.repo, 'by-hand', { 'hand.txt': 'by hand\n' }, { ...ada, message: 'By hand', at: seconds(200) })
    const pushed = await app.request<ChangeRequest>('POST', at.path(), { body: { title: 'Hand', head_ref: 'by-hand' } })
    const { body } = await get('hand.txt', {}, pushed.body)
    expect(body).toMatchObject({
      ...{ sessions: [], withheld: false, calls: [], prompts: [] },
      lines: [{ start: 1, end: 1, call_id: null, candidates: [] }],
      commits: [{ author_name: 'Ada', subject: 'By hand', by_agent: false }],
    })
  })

  test('refuses a file that the change request does not change, and a binary one', async () => {
    expect(await get('README.md')).toMatchObject({ status: 404, body: { code: 'not_found' } })
    await commitAs(at.repo, 'bytes', { 'a.bin': 'a\0b\n' }, { ...ada, message: 'Bytes', at: seconds(200) })
    const opened = await app.request<ChangeRequest>('POST', at.path(), { body: { title: 'Bytes', head_ref: 'bytes' } })
    expect(await get('a.bin', {}, opened.body)).toMatchObject({ status: 422, body: { code: 'unprocessable' } })
  })
})

describe('reading the transcript is for those who may', () => {
  test('another agent sees the commits alone, and is told that a transcript is withheld', async () => {
    const other = await app.makeSession(at.project)
    const { status, body, text } = await get(deliver, { token: other.token })
    expect(status).toBe(200)
    expect(body).toMatchObject({ withheld: true, sessions: [], calls: [], prompts: [] })
    expect(body.lines.map(({ call_id, candidates }) => [call_id, candidates])).toEqual(body.lines.map(() => [null, []]))
    expect(text).not.toContain('Retry the deliveries.')
    expect(text).not.toContain('edit_1')
  })

  test('its own agent and a member see it; a viewer and a stranger get nothing', async () => {
    const answers = async (token: string) => {
      const { status, body } = await get(deliver, { token })
      return [status, body.calls?.length ?? 0]
    }
    expect(await answers(session.token)).toEqual([200, 2])
    expect(await answers((await app.makeUser('member')).token)).toEqual([200, 2])
    expect(await answers((await app.makeUser('viewer')).token)).toEqual([403, 0])
    expect(await answers((await app.makeUser('owner', 'own')).token)).toEqual([403, 0])
  })

  test('a deleted session leaves the commits', async () => {
    const gone = await app.makeSession(at.project)
    await storeMessages(app.deps.db, gone.session_id, story)
    await commitAs(
      at.repo,
      gone.session_id,
      { 'src/sleep.ts': 'export const sleep = 1\n' },
      { ...agent, message: 'S', at: seconds(90) },
    )
    const opened = await app.request<ChangeRequest>('POST', at.path(), {
      body: { title: 'S', head_ref: gone.session_id },
    })
    expect((await get('src/sleep.ts', {}, opened.body)).body.sessions).toHaveLength(1)
    await app.deps.db.deleteFrom('project_sessions').where('session_id', '=', gone.session_id).execute()
    const { body } = await get('src/sleep.ts', {}, opened.body)
    expect(body).toMatchObject({ sessions: [], withheld: false, lines: [{ call_id: null, candidates: [] }] })
  })
})

const nameOf = ({ commits }: Origins, sha: string | null) => commits.find((each) => each.sha === sha)?.author_name
