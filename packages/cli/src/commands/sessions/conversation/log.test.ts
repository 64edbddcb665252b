import type { Message, Prompt } from '@svc/sdk'
import { describe, expect, test } from 'bun:test'
import { ServiceError } from '@svc/contract/errors'
import { aQuestion } from '../../../testing/question.ts'
import { type Answers, aMember, aSession, ids, startService, svc } from '../../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }
const minute = (count: number) => `2026-11-21T11:${String(count).padStart(2, '0')}:00.000Z`
const message = (id: string, at: number, changes: Partial<Message>): Message => ({
  ...{ message_id: id, role: 'user', created_at: minute(at), completed_at: minute(at), error: null, parts: [] },
  ...changes,
})
const text = (words: string) => ({ type: 'text' as const, id: 't', text: words })
const prompt = (changes: Partial<Prompt>): Prompt => ({
  prompt_id: ids.session,
  text: 'Why is it red?',
  status: 'delivered',
  error: null,
  created_by: ids.user,
  created_at: minute(1),
  settled_at: minute(1),
  attachments: [],
  agent_name: null,
  model: null,
  ...changes,
})

const file = (name: string) => ({
  ...{ type: 'file' as const, id: `f-${name}`, attachment_id: ids.token, name, bytes: 8 },
  content_type: 'text/plain',
})

const tool = {
  ...{ type: 'tool' as const, id: 'x', tool: 'bash', status: 'completed' as const, title: 'npm publish' },
  ...{ input: '{"command":"npm publish"}', output: 'sent ```\n' },
}
const hostile = 'A comma.\n\n```\n<!--\n## Bo, 2026\n> Merge it'
const refused = 'There is no agent "house".'
const said: Answers = {
  getTranscript: () => ({
    messages: [
      message('msg_1', 1, { parts: [text('Why is it red?'), file('plan.txt'), file('`a`.png')] }),
      message('msg_2', 2, { role: 'assistant', parts: [text(hostile), tool] }),
      message('msg_3', 4, { parts: [text('Why is it red?')] }),
      message('msg_4', 5, {
        ...{ role: 'assistant', error: 'The model is away' },
        parts: [{ ...tool, id: 'y', exit_code: 2 }, { ...tool, id: 'z', exit_code: null }, text('As I')],
      }),
      message(ids.cr, 6, { parts: [text('Now?')], error: refused }),
    ],
  }),
  listPrompts: () => ({
    prompts: [
      prompt({ prompt_id: ids.sandbox, text: 'And then?', status: 'accepted', created_at: minute(7) }),
      prompt({ prompt_id: ids.cr, text: 'Now?', status: 'failed', created_at: minute(6), created_by: null }),
      prompt({ prompt_id: ids.token, created_at: minute(4), created_by: ids.token }),
      prompt({}),
    ],
  }),
  listQuestions: () => ({
    questions: [aQuestion({ asked_at: minute(3), status: 'answered', answer: 'once', answered_by: ids.token })],
  }),
  listMembers: () => [aMember(), aMember({ user_id: ids.token, name: 'Bo' })],
}
const log = (service: ReturnType<typeof startService>, ...flags: string[]) =>
  svc(['sessions', 'log', ids.session, ...flags], { service, env })

describe('svc sessions log', () => {
  test('prints who said what in the order of time, also of a session that stopped', async () => {
    await using service = startService({ ...said, getSession: () => aSession({ status: 'stopped', sandbox: null }) })
    const { code, stdout, stderr } = await log(service)
    expect(code).toBe(0)
    expect(stdout).toBe(
      [
        ...[
          `Ada, ${minute(1)}`,
          '› Why is it red?',
          '  attached: plan.txt',
          '  attached: `a`.png',
          ...hostile.split('\n'),
          '  ✓ bash  npm publish',
        ],
        ...['  ✓ Answered: Allow once', '', `Bo, ${minute(4)}`, '› Why is it red?'],
        ...['  ✗ bash  npm publish  exit 2', '  ✗ bash  npm publish  killed', 'As I', '✗ The model is away', ''],
        ...[`Prompt, ${minute(6)}`, '› Now?', `✗ ${refused}`, '', `Ada, ${minute(7)}`, '› And then?', ''],
      ].join('\n'),
    )
    expect(stderr).toContain('Queued: not delivered to the agent yet.')
  })

  test('shows the call that a cut turn left, and why it was cut', async () => {
    const reason = 'The sandbox ended.'
    const cut = { ...tool, id: 'y', status: 'running' as const, title: '', output: '' }
    await using service = startService({
      ...said,
      listPrompts: () => ({ prompts: [] }),
      listQuestions: () => ({ questions: [] }),
      getTranscript: () => ({ messages: [message('msg_2', 2, { role: 'assistant', parts: [tool, cut] })] }),
      getSession: () =>
        aSession({
          ...{ status: 'stopped', error: reason },
          last_turn_error: { code: 'sandbox_ended', message: reason, at: minute(3) },
        }),
    })
    expect((await log(service)).stdout).toBe(
      ['  ✓ bash  npm publish', '  ✗ bash  npm publish  interrupted', `✗ ${reason}`, ''].join('\n'),
    )
    const { stdout } = await log(service, '--markdown')
    expect(stdout).toContain('(interrupted)')
    expect(stdout).toEndWith(`**Failed:** ${reason}\n`)
  })

  test('shows the call that runs right now, and that the agent works', async () => {
    const runs = { ...tool, id: 'y', status: 'running' as const, title: '', output: '' }
    await using service = startService({
      ...{ listPrompts: () => ({ prompts: [] }), listQuestions: () => ({ questions: [] }) },
      getTranscript: () => ({ messages: [message('msg_2', 2, { role: 'assistant', parts: [tool, runs] })] }),
      getSession: () => aSession({ is_busy: true }),
    })
    const { stdout, stderr } = await log(service)
    expect(stdout).toBe(['  ✓ bash  npm publish', '  … bash  npm publish  running', ''].join('\n'))
    expect(stderr).toContain('The agent works on a prompt. To follow it: svc sessions watch 44444444')
  })

  test('says whether a trigger or another session began it, and needs no names', async () => {
    const noMembers = () => {
      throw new ServiceError('forbidden', 'Not with this token.')
    }
    const metadata = { trigger: { slug: 'nightly' } }
    await using fired = startService({ ...said, listMembers: noMembers, getSession: () => aSession({ metadata }) })
    expect((await log(fired)).stdout).toStartWith('Trigger nightly, ')
    const parent_session_id = ids.sandbox
    await using child = startService({ ...said, getSession: () => aSession({ parent_session_id }) })
    expect((await log(child)).stdout).toStartWith(`Session ${ids.sandbox.slice(0, 8)}, `)
  })

  test('--markdown is a document in which no words pass for others', async () => {
    await using service = startService(said)
    const { stdout, stderr } = await log(service, '--markdown')
    expect(stderr).not.toContain('Earlier')
    expect(stdout).toMatchSnapshot()
    const headings = stdout.split('\n').filter((line) => line.startsWith('#'))
    expect(headings).toEqual([
      ...['# Fix the test', `## Ada, ${minute(1)}`, `## Agent, ${minute(2)}`, `## Bo, ${minute(4)}`],
      ...[`## Agent, ${minute(5)}`, `## Prompt, ${minute(6)}`, `## Ada, ${minute(7)}`],
    ])
    expect((await log(service, '--markdown', '--json')).code).toBe(2)
  })

  test('--limit is the end of it, and says so; --json has everything there is', async () => {
    const last = message('msg_3', 4, { parts: [text('Why is it red?')] })
    const next = { Link: '</v1/x?cursor=c>; rel="next"' }
    const getTranscript = () => Response.json({ messages: [last] }, { headers: next })
    await using service = startService({ ...said, getTranscript })
    const { stdout, stderr } = await log(service, '-L', '1')
    expect(stdout).toStartWith(`Bo, ${minute(4)}\n`)
    expect(stdout).not.toContain('Answered')
    expect(stderr).toContain('Earlier messages: svc sessions log 44444444')
    expect(service.of('getTranscript')[0]!.query).toEqual({ limit: '1' })
    await using whole = startService(said)
    const json = (await log(whole, '--json')).json<Record<string, unknown[]>>()
    expect(Object.entries(json).map(([name, list]) => [name, list.length])).toEqual([
      ['messages', 5],
      ['questions', 1],
      ['prompts', 4],
    ])
  })

  test('of a session without a word says what to do', async () => {
    await using service = startService({
      listQuestions: () => ({ questions: [] }),
      listPrompts: () => ({ prompts: [] }),
    })
    const { code, stdout, stderr } = await log(service)
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toContain('No messages yet: svc sessions chat 44444444')
  })
})
