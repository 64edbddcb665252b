import { describe, expect, test } from 'bun:test'
import { ServiceError } from '@svc/contract/errors'
import { aPrompt } from '../../testing/prompt.ts'
import { aQuestion } from '../../testing/question.ts'
import { aRefresh, aSession, ids, noUnfinishedWork, sha, startService, svc } from '../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }
const other = aSession({ session_id: '4444aaaa-4444-4444-8444-444444444444', name: 'Other' })
const at = aSession().created_at

describe('svc sessions', () => {
  test('new sends what it was given', async () => {
    await using service = startService()
    const flags = ['--prompt', '-', '--name', 'n', '--agent', 'a', '--base', 'develop', '--model', 'm']
    const { code, stdout } = await svc(['sessions', 'new', ...flags], { service, env, stdin: 'Fix it\n' })
    expect(code).toBe(0)
    expect(stdout).toStartWith(`${ids.session}\tprovisioning\tFix the test`)
    expect(service.of('createSession')[0]!.body).toEqual({
      initial_prompt: 'Fix it',
      name: 'n',
      agent_name: 'a',
      base_ref: 'develop',
      model: 'm',
    })
    expect(service.of('createSession')[0]!.headers.get('idempotency-key')).toMatch(/^[0-9a-f-]{36}$/)
    expect(service.of('getTimeline')).toEqual([])
  })

  test('new --from continues a session, after the turn of a message', async () => {
    await using service = startService()
    const from = ['sessions', 'new', '--from', ids.session]
    expect((await svc([...from, '--message', 'msg_1', '--prompt', 'Go'], { service, env })).code).toBe(0)
    expect((await svc(from, { service, env })).code).toBe(0)
    expect(service.of('createSession').map(({ body }) => body)).toEqual([
      { from: { session_id: ids.session, message_id: 'msg_1' }, initial_prompt: 'Go' },
      { from: { session_id: ids.session } },
    ])
    const lone = await svc(['sessions', 'new', '--message', 'msg_1'], { service, env })
    expect([lone.code, lone.stderr]).toEqual([2, expect.stringContaining('--message needs --from <session>')])
    const both = await svc([...from, '--base', 'develop'], { service, env })
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("--from and --base can't be combined")])
  })

  test('new shows the start on a terminal, or with --wait', async () => {
    let looks = 0
    await using service = startService({
      getSession: () => aSession({ status: ++looks < 3 ? 'provisioning' : 'running' }),
      getTimeline: () => ({
        phases: [
          { name: 'branch', started_at: at, ms: 12, error: null },
          { name: 'clone', started_at: at, ms: looks < 2 ? null : 1500, error: null },
        ],
      }),
    })
    const { code, stdout, stderr } = await svc(['sessions', 'new', '--wait'], { service, env })
    expect(code).toBe(0)
    expect(stdout).toContain('\trunning\t')
    expect(stderr).toMatch(/✓ branch {2}12 ms\n✓ clone {2}1\.5 s\n✓ running/)
    expect(stderr).not.toContain('\r')
    looks = 0
    const terminal = await svc(['sessions', 'new'], { service, env, terminal: true })
    expect(terminal.stderr).toContain('⠋ clone')
    expect(terminal.stdout).toContain('sandbox URL:')
  })

  test('the total of a start that began before the command covers all its phases', async () => {
    let looks = 0
    const later = new Date(Date.parse(at) + 600).toISOString()
    await using service = startService({
      getSession: () => aSession({ status: ++looks < 2 ? 'provisioning' : 'running' }),
      getTimeline: () => ({
        phases: [
          { name: 'restore', started_at: '2026-11-01T00:00:00.000Z', ms: 5, error: 'of an earlier start' },
          { name: 'branch', started_at: at, ms: 600, error: null },
          { name: 'runtime', started_at: later, ms: 3_700_000, error: null },
          { name: 'clone', started_at: later, ms: 1500, error: null },
        ],
      }),
    })
    const { stderr } = await svc(['sessions', 'new', '--wait'], { service, env })
    expect(stderr).toContain('✓ running  61 min 41 s in all')
  })

  test('the line of a start says why it waits', async () => {
    let looks = 0
    const note = 'Place 2 of 3 in line: 2 other sandboxes are starting.'
    await using service = startService({
      getSession: () => aSession({ status: ++looks < 3 ? 'provisioning' : 'running' }),
      getTimeline: () => ({ phases: [{ name: 'queue', started_at: at, ms: null, error: null, note }] }),
    })
    const { stderr } = await svc(['sessions', 'new'], { service, env, terminal: true })
    expect(Bun.stripANSI(stderr)).toMatch(/⠋ queue 10 min.* {2}Place 2 of 3 in line: 2 other/)
  })

  test('new --wait goes on when the server restarts meanwhile', async () => {
    let looks = 0
    const away = new ServiceError('unavailable', 'The server is stopping.')
    const proxied = new Response('<h1>Bad gateway</h1>', { status: 502, headers: { 'Content-Type': 'text/html' } })
    await using service = startService({
      getSession: () => {
        if (++looks === 1) throw away
        return looks === 2 ? proxied : aSession()
      },
    })
    const { code, stderr } = await svc(['sessions', 'new', '--wait'], { service, env })
    expect(code).toBe(0)
    expect(stderr.match(/Reconnecting…/g)).toHaveLength(1)
  })

  test('new ends with 1 and the true reason when the start fails', async () => {
    await using service = startService({
      getSession: () => aSession({ status: 'failed', error: 'bubblewrap is not installed' }),
      getTimeline: () => ({ phases: [{ name: 'sandbox', started_at: at, ms: 3, error: 'no driver' }] }),
    })
    const { code, stderr } = await svc(['sessions', 'new', '--wait'], { service, env })
    expect(code).toBe(1)
    expect(stderr).toContain('✗ sandbox')
    expect(stderr).toContain('error: bubblewrap is not installed')
    expect((await svc(['sessions', 'new', '--wait', '--no-wait'], { service, env })).code).toBe(2)
  })

  test('questions lists what an agent asks, and answer answers it', async () => {
    const waiting = aSession({ waiting_for: 'person' })
    await using service = startService({ listSessions: () => [waiting], getSession: () => waiting })
    const asked = await svc(['sessions', 'questions'], { service, env, terminal: true })
    expect(Bun.stripANSI(asked.stdout)).toContain(
      '99999999  Run a command  session 44444444\n  npm publish\n  once | reject\n',
    )
    expect(asked.stderr).toContain('svc sessions answer <session> <answer>')
    const json = await svc(['sessions', 'questions', '--json'], { service, env })
    expect(json.json()).toEqual({ questions: [{ ...aQuestion(), session_id: ids.session }] })
    const answered = await svc(['sessions', 'answer', ids.session, 'once'], { service, env })
    expect([answered.code, answered.stdout]).toEqual([0, '✓ Run a command: Allow once\n'])
    expect(service.of('answerQuestion').map(({ body }) => body)).toEqual([{ answer: 'once' }])
    expect((await svc(['sessions', 'ls'], { service, env })).stdout).toContain('\twaiting for you\t')
    const info = await svc(['sessions', 'info', ids.session], { service, env })
    expect(info.stderr).toContain('svc sessions questions 44444444')
  })

  test('answer needs to know which question, where several are open', async () => {
    const two = [
      aQuestion(),
      aQuestion({ question_id: '88888888-8888-4888-8888-888888888888', title: 'Change a file' }),
    ]
    await using service = startService({ listQuestions: () => ({ questions: two }) })
    const ambiguous = await svc(['sessions', 'answer', ids.session, 'once'], { service, env })
    expect([ambiguous.code, ambiguous.stderr]).toEqual([1, expect.stringContaining('--question')] as never)
    const one = await svc(['sessions', 'answer', ids.session, 'once', '--question', '8888'], { service, env })
    expect(one.code).toBe(0)
    await using quiet = startService({ listQuestions: () => ({ questions: [] }) })
    const none = await svc(['sessions', 'answer', ids.session, 'once'], { service: quiet, env })
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('The agent has no open question')] as never)
  })

  test('info shows the fields and the phases', async () => {
    await using service = startService()
    const { stdout } = await svc(['sessions', 'info', ids.session], { service, env })
    for (const part of ['status:', 'branch:', 'base ref:', 'agent:', 'sandbox URL:', 'clone', '420 ms'])
      expect(stdout).toContain(part)
    const asJson = await svc(['sessions', 'info', ids.session, '--json'], { service, env })
    expect(asJson.json()).toEqual({
      session: aSession(),
      phases: [{ name: 'clone', started_at: at, ms: 420, error: null, note: null }],
      unfinished_work: noUnfinishedWork,
    })
  })

  test('info says whether the agent works right now', async () => {
    const shown = async (changes: Parameters<typeof aSession>[0]) => {
      await using service = startService({ getSession: () => aSession(changes) })
      const { stdout } = await svc(['sessions', 'info', ids.session], { service, env })
      expect(service.of('getSession')[0]!.query).toEqual({ include: 'activity' })
      return /^activity: +(.*)$/m.exec(stdout)?.[1] ?? null
    }
    expect(await shown({ is_busy: true })).toBe('the agent works on a prompt')
    expect(await shown({ is_busy: false })).toBe('the agent is idle and waits for a prompt')
    expect(await shown({ is_busy: true, waiting_for: 'person' })).toBeNull()
    expect(await shown({ status: 'stopped', is_busy: false })).toBeNull()
  })

  test('info in a sandbox says which sessions an agent controls when it asks for another', async () => {
    const hint = 'An agent controls its own session and those it started: `svc sessions new`.'
    await using service = startService({
      getSession: () => {
        throw new ServiceError('forbidden', 'This token belongs to another session.', { hint })
      },
    })
    const { code, stderr } = await svc(['sessions', 'info', ids.session], { service, env })
    expect(code).toBe(1)
    expect(stderr).toContain('This token belongs to another session.')
    expect(stderr).toContain(hint)
  })

  test('info says why the last turn failed', async () => {
    const last_turn_error = { code: 'turn_failed', message: 'The model is away', at }
    await using service = startService({ getSession: () => aSession({ last_turn_error }) })
    const { stdout } = await svc(['sessions', 'info', ids.session], { service, env })
    expect(stdout).toContain('failed: The model is away')
  })

  test('info says once why a session ended in a turn', async () => {
    const error = 'It was stopped by the operator.'
    const last_turn_error = { code: 'sandbox_ended', message: error, at }
    await using service = startService({ getSession: () => aSession({ status: 'stopped', error, last_turn_error }) })
    const { stdout } = await svc(['sessions', 'info', ids.session], { service, env })
    expect(stdout.match(/stopped by the operator/g)).toHaveLength(1)
  })

  test('refresh says what it applied, what needs a restart, and what waits', async () => {
    const run = async (changes: Parameters<typeof aRefresh>[0]) => {
      await using service = startService({ refreshSession: () => aSession({ refresh: aRefresh(changes) }) })
      return await svc(['sessions', 'refresh', ids.session], { service, env })
    }
    const done = await run({ needs_restart: ['sandbox.cpu'], error: 'The session branch was not pulled: no.' })
    expect(done.stdout).toContain('Applied: agents, sandbox.egress')
    expect(done.stdout).toContain('The session branch was not pulled: no.')
    expect(done.stdout).toContain('Needs a restart: sandbox.cpu')
    expect(done.stderr).toContain(`svc sessions restart ${ids.session.slice(0, 8)}`)
    const waiting = await run({ status: 'waiting', settled_at: null, applied: [] })
    expect(waiting.stdout).toContain('waits for the end of the turn')
    const away = await run({ status: 'waiting', settled_at: null, applied: [], error: 'The host is away.' })
    expect(away.stdout).toContain('waits: The host is away.')
    const failed = await run({ status: 'failed', applied: [], error: 'The refresh failed: it is away.' })
    expect([failed.code, failed.stdout]).toEqual([1, ''])
    expect(failed.stderr).toContain('The refresh failed: it is away.')
  })

  test('restart --agent sends the agent, and without it the session keeps its own', async () => {
    await using service = startService()
    await svc(['sessions', 'restart', ids.session, '--agent', 'plan'], { service, env })
    await svc(['sessions', 'restart', ids.session], { service, env })
    expect(service.of('restartSession').map(({ body }) => body ?? null)).toEqual([{ agent: 'plan' }, null])
  })

  test('restart names what brings a cut turn and saved files back', async () => {
    const sandbox = { sandbox_id: ids.sandbox, driver: 'local', status: 'active' as const, generation: 2 }
    const last_turn_error = { code: 'sandbox_ended', message: 'It was stopped.', at }
    const saved = { saved_at: at, commit: sha('c'), base: sha('b'), generation: 1, files: 1, unpushed_commits: 0 }
    await using service = startService({
      getSession: () => aSession({ sandbox, last_turn_error }),
      getUnfinishedWork: () => ({ ...noUnfinishedWork, ...saved, paths: ['a'] }),
    })
    const { stderr } = await svc(['sessions', 'restart', ids.session, '--wait'], { service, env })
    expect(stderr).toContain('The last turn was cut')
    expect(stderr).toContain('1 file. svc sessions recover 44444444 --into-sandbox')
    expect(stderr).toContain('svc sessions chat 44444444 --prompt "continue"')
    await using clean = startService()
    const nothing = await svc(['sessions', 'restart', ids.session, '--wait'], { service: clean, env })
    expect(nothing.stderr).not.toContain('svc sessions')
  })

  test('info names the session whose agent started it', async () => {
    await using service = startService({ getSession: () => aSession({ parent_session_id: other.session_id }) })
    const { stdout } = await svc(['sessions', 'info', ids.session], { service, env })
    expect(stdout).toContain(`session ${other.session_id}`)
  })

  test('info names the session that it continues', async () => {
    const continues = { session_id: other.session_id, message_id: 'msg_1' }
    await using service = startService({ getSession: () => aSession({ continues }) })
    const { stdout } = await svc(['sessions', 'info', ids.session], { service, env })
    expect(stdout).toMatch(new RegExp(`continues:\\s+session ${other.session_id}`))
  })

  test('info, restart and rm say that the merged branch was deleted, and where a restart begins', async () => {
    const deleted = aSession({ status: 'stopped', branch_deleted_at: at })
    await using service = startService({ getSession: () => deleted, restartSession: () => deleted })
    const shown = await svc(['sessions', 'info', ids.session], { service, env, terminal: true })
    expect(shown.stdout).toContain('10 minutes ago, after its merge; a restart creates it again from main')
    const restarted = await svc(['sessions', 'restart', ids.session], { service, env })
    expect(restarted.stderr).toContain('Its branch was deleted after its merge, so it starts again from main.')
    const removed = await svc(['sessions', 'rm', ids.session, '--yes'], { service, env })
    expect([removed.code, removed.stderr]).toEqual([0, expect.not.stringContaining('stays')])
  })

  test('what was not pushed is shown by info and ls, with the way to get it back', async () => {
    const saved = { saved_at: at, commit: sha('c'), base: sha('b'), generation: 1, files: 3, unpushed_commits: 1 }
    await using service = startService({
      getUnfinishedWork: () => ({
        ...noUnfinishedWork,
        ...saved,
        paths: ['a'],
        notes: ['huge.bin is larger than 100 MiB, so it is not saved.'],
      }),
      listUnfinishedWork: () => [{ session_id: ids.session, saved_at: at, files: 3, unpushed_commits: 0 }],
    })
    const shown = await svc(['sessions', 'info', ids.session], { service, env, terminal: true })
    for (const part of ['3 files and 1 commit', 'saved 10 minutes ago', 'huge.bin is larger'])
      expect(shown.stdout).toContain(part)
    expect(shown.stderr).toContain('svc sessions recover 44444444')
    const listed = await svc(['sessions', 'ls'], { service, env, terminal: true })
    expect(listed.stdout).toContain('NOT PUSHED')
    expect(listed.stdout).toContain('3 files')
  })

  test('a person sees that the agent sleeps, and a program still reads the status', async () => {
    const asleep = aSession({ asleep_since: at })
    await using service = startService({ getSession: () => asleep, listSessions: () => [asleep] })
    const shown = await svc(['sessions', 'info', ids.session], { service, env, terminal: true })
    expect(shown.stdout).toContain('the agent fell asleep 10 minutes ago; the next prompt wakes it')
    expect((await svc(['sessions', 'ls'], { service, env, terminal: true })).stdout).toContain('asleep')
    expect((await svc(['sessions', 'ls'], { service, env })).stdout).toContain('\trunning\t')
  })

  test('an id may be abbreviated while it means one session', async () => {
    await using service = startService({
      listSessions: () => [aSession(), other],
      stopSession: () => aSession({ status: 'stopped' }),
    })
    expect((await svc(['sessions', 'stop', '44444444'], { service, env })).code).toBe(0)
    expect((await svc(['sessions', 'stop', '4444A'], { service, env })).code).toBe(0)
    expect(service.of('stopSession').map((request) => request.params.sessionId)).toEqual([
      ids.session,
      other.session_id,
    ])
    const both = await svc(['sessions', 'stop', '4444', '--json'], { service, env })
    expect(both.code).toBe(1)
    expect(both.problem()).toMatchObject({ code: 'ambiguous', sessions: [ids.session, other.session_id] })
    expect((await svc(['sessions', 'stop', 'ffff'], { service, env })).code).toBe(1)
    expect((await svc(['sessions', 'stop', '444'], { service, env })).code).toBe(2)
    expect((await svc(['sessions', 'stop', 'no such name'], { service, env })).code).toBe(1)
  })

  test('rm asks a person and names --yes to a program', async () => {
    await using service = startService()
    const without = await svc(['sessions', 'rm', ids.session], { service, env })
    expect(without.code).toBe(2)
    expect(without.stderr).toContain(`svc sessions rm ${ids.session} --yes`)
    expect(service.of('deleteSession')).toEqual([])
    const yes = await svc(['sessions', 'rm', ids.session], {
      service,
      env,
      terminal: true,
      types: [{ after: /Delete the session/, keys: 'y\r' }],
    })
    expect(yes.code).toBe(0)
  })

  test('work that cannot be saved is lost only with --discard', async () => {
    await using service = startService({
      deleteSession: ({ query }) => {
        if (query.discard === 'true') return { ok: true }
        throw new ServiceError('work_not_saved', 'The session still runs.')
      },
    })
    const refused = await svc(['sessions', 'rm', ids.session, '--yes'], { service, env })
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toContain('With --discard the session ends')
    expect((await svc(['sessions', 'rm', ids.session, '--yes', '--discard'], { service, env })).code).toBe(0)
    for (const verb of ['stop', 'restart']) await svc(['sessions', verb, ids.session, '--discard'], { service, env })
    for (const route of ['stopSession', 'restartSession']) expect(service.of(route)[0]!.query.discard).toBe('true')
  })

  test('a full disk names its operator, and no time for the next try', async () => {
    await using service = startService({
      stopSession: () => {
        const hint = 'Its operator must free space in the data folder.'
        const detail = { retry_after_seconds: 60, waiting_for: 'operator' }
        throw new ServiceError('unavailable', 'The disk of this server is full.', { hint, detail })
      },
    })
    const { stderr } = await svc(['sessions', 'stop', ids.session], { service, env })
    expect(stderr).toContain('Its operator must free space')
    expect(stderr).not.toMatch(/try again/i)
  })

  test('rename sends the name, and nothing else', async () => {
    await using service = startService()
    const { code, stdout } = await svc(['sessions', 'rename', ids.session, 'Parser tests'], { service, env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: `✓ Renamed to Parser tests  ${ids.session}\n` })
    expect(service.of('updateSession')[0]!.body).toEqual({ name: 'Parser tests' })
  })

  test('queue lists the prompts that wait, and cancel takes one back', async () => {
    const second = '66666666-6666-4666-8666-666666666666'
    const two = [aPrompt({ prompt_id: second, text: 'And then\nthe docs.' }), aPrompt()]
    await using service = startService({ listPrompts: () => ({ prompts: two }) })
    const list = await svc(['sessions', 'queue', ids.session], { service, env })
    expect(list.stdout).toMatch(/Then run the tests\.[^]*And then/)
    const ambiguous = await svc(['sessions', 'cancel', ids.session], { service, env })
    expect([ambiguous.code, ambiguous.stderr]).toEqual([1, expect.stringContaining('2 prompts wait')] as never)
    const one = await svc(['sessions', 'cancel', ids.session, '6666'], { service, env })
    expect([one.code, one.stdout]).toEqual([0, expect.stringContaining('✓ Cancelled ')] as never)
    expect(service.of('cancelPrompt').map(({ params }) => params.promptId)).toEqual([second])
    expect(service.of('listPrompts')[0]!.query).toMatchObject({ status: 'accepted' })

    await using quiet = startService({ listPrompts: () => ({ prompts: [] }) })
    const none = await svc(['sessions', 'queue', ids.session], { service: quiet, env })
    expect([none.code, none.stderr]).toEqual([0, expect.stringContaining('No prompt waits.')] as never)
    const nothing = await svc(['sessions', 'cancel', ids.session], { service: quiet, env })
    expect([nothing.code, nothing.stderr]).toEqual([1, expect.stringContaining('svc sessions abort')] as never)
    await using late = startService({
      cancelPrompt: () => {
        throw new ServiceError('conflict', 'The agent has this prompt already, so it can no longer be cancelled.')
      },
    })
    const begun = await svc(['sessions', 'cancel', ids.session, second], { service: late, env })
    expect([begun.code, begun.stderr]).toEqual([1, expect.stringContaining('has this prompt already')] as never)
  })

  test('abort says whether there was anything to abort', async () => {
    await using busy = startService({ getSession: () => aSession({ is_busy: true }) })
    const aborted = await svc(['sessions', 'abort', ids.session], { service: busy, env })
    expect(aborted.stdout).toStartWith('✓ Aborted the turn of Fix the test')
    expect(busy.of('abortSession')).toHaveLength(1)
    await using idle = startService({ getSession: () => aSession({ is_busy: false }) })
    const nothing = await svc(['sessions', 'abort', ids.session], { service: idle, env })
    expect(nothing.stdout).toStartWith('The agent of Fix the test was idle')
    const json = (await svc(['sessions', 'abort', ids.session, '--json'], { service: idle, env })).json()
    expect(json).toEqual({ session_id: ids.session, was_busy: false })
    await using stopped = startService({
      abortSession: () => {
        throw new ServiceError('conflict', 'This session is stopped, so nothing runs that could be aborted.')
      },
    })
    expect((await svc(['sessions', 'abort', ids.session], { service: stopped, env })).code).toBe(1)
  })
})
