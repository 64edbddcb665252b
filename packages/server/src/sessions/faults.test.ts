/** After any crash, a session ends up running, stopped or failed with the true reason, and leaves nothing behind. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Session } from '@svc/contract'
import { sql } from 'kysely'
import { Heartbeat } from '../scheduler/heartbeat.ts'
import { archiveOldSandboxes, reconcileSessions, sweepIdleSessions } from './jobs.ts'
import { letDie, letLive, makeSessionApp, type SecondServer, secondServer, type SessionApp, until } from './testing.ts'

let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp()
}, 120_000)
// One that died in a test before comes back.
beforeEach(() => letLive(app.deps))
afterAll(() => app.close())

const prompt = (sessionId: string, text: string) =>
  app.request<{ prompt_id: string; status: string }>('POST', app.path(sessionId, 'prompt'), { body: { text } })
const whoAmI = async (token: string) => (await app.request('GET', '/v1/token', { token })).status
const promptsOf = (server: Pick<SessionApp, 'driver'>, session: Session) =>
  (server.driver.seen(session.sandbox?.sandbox_id ?? '')?.prompts ?? []).map((each) => each.text)
const livingCredentials = async (sessionId: string) => {
  const { rows } = await sql<{ n: number }>`select
    (select count(*) from tokens where session_id = ${sessionId} and revoked_at is null)::int +
    (select count(*) from sandbox_credentials where session_id = ${sessionId} and revoked_at is null)::int as n`.execute(
    app.deps.db,
  )
  return rows[0]!.n
}

describe('a sandbox that cannot be created', () => {
  test.each([
    ['no-isolation', /bubblewrap is not installed\. apt-get install -y bubblewrap$/],
    ['no-space', /^The disk is full\. Free some disk space\.$/],
    ['boot-failed', /did not start/],
  ] as const)('the driver error %s fails the session with the reason and the fix', async (kind, reason) => {
    app.driver.failures.push(kind)
    const { body } = await app.create({ initial_prompt: 'kept for later' })
    const failed = await app.reaches(body.session_id, 'failed')
    expect(failed.error).toMatch(reason)
    expect(failed.sandbox?.status).toBe('error')
    expect(await livingCredentials(body.session_id)).toBe(0)
    const { body: timeline } = await app.request<{ phases: { name: string; error: string | null }[] }>(
      'GET',
      app.path(body.session_id, 'timeline'),
    )
    expect(timeline.phases.at(-1)).toMatchObject({ name: 'sandbox', error: expect.any(String) })
    // The prompt was never delivered, so the next start delivers it.
    expect((await app.request('POST', app.path(body.session_id, 'restart'))).status).toBe(202)
    const again = await app.reaches(body.session_id, 'running')
    await until('it is said', () => promptsOf(app, again).length === 1)
    expect(promptsOf(app, again)).toEqual(['kept for later'])
  })

  test('names the command that installs the isolation on a machine without it', async () => {
    app.driver.probeOutcome = {
      kind: 'missing',
      problem: 'There is no bubblewrap.',
      install: 'apt-get install bubblewrap',
    }
    const { body } = await app.create()
    expect((await app.reaches(body.session_id, 'failed')).error).toBe(
      'There is no bubblewrap. apt-get install bubblewrap',
    )
    const ready = await app.request<{ sandbox: object }>('GET', '/v1/ready', { token: null })
    expect(ready.body.sandbox).toEqual({
      driver: 'fake',
      ready: false,
      problem: 'There is no bubblewrap.',
      install: 'apt-get install bubblewrap',
      missing_limits: [],
    })
    app.driver.probeOutcome = { kind: 'ready', warnings: ['No limits here.'], missingLimits: ['memory', 'cpu'] }
    const unlimited = await app.request<{ sandbox: object }>('GET', '/v1/ready', { token: null })
    expect(unlimited.body.sandbox).toMatchObject({ ready: true, missing_limits: ['memory', 'cpu'] })
    app.driver.probeOutcome = { kind: 'ready', warnings: [], missingLimits: [] }
  })

  test('a session that failed to start can be deleted', async () => {
    app.driver.failures.push('boot-failed')
    const { body } = await app.create()
    await app.reaches(body.session_id, 'failed')
    expect((await app.request('DELETE', app.path(body.session_id))).status).toBe(200)
  })
})

describe('a sandbox that ends by itself', () => {
  test('fails its session with its last lines, and ends its credentials', async () => {
    const session = await app.running()
    await app.driver.crash(session.sandbox!.sandbox_id, 'It ended with signal 9: out of memory.')
    const failed = await app.reaches(session.session_id, 'failed')
    expect(failed.error).toBe(
      'It ended with signal 9: out of memory. The last changes of this session may not be saved. The sandbox cannot be reached. An earlier state is saved, if there was one.',
    )
    expect(failed.sandbox?.status).toBe('error')
    expect(await whoAmI(session.env.SVC_CLI_TOKEN!)).toBe(401)
    expect(await livingCredentials(session.session_id)).toBe(0)
  })

  test('fails its session at once while it boots, not after a timeout', async () => {
    app.driver.options.bootMs = 60_000
    const { body } = await app.create()
    const sandbox = await until('it boots', async () => {
      const found = (await app.session(body.session_id)).sandbox
      return found !== null && (await app.driver.find(found.sandbox_id)) ? found : null
    })
    await app.driver.crash(sandbox.sandbox_id, 'It ended with exit code 3 while it cloned.')
    delete app.driver.options.bootMs
    expect((await app.reaches(body.session_id, 'failed')).error).toBe('It ended with exit code 3 while it cloned.')
    expect(await livingCredentials(body.session_id)).toBe(0)
  })

  test('fails its session with the reason, even when it was read before the driver reported it', async () => {
    const session = await app.running()
    const told = app.driver.crash(session.sandbox!.sandbox_id, 'It ended while somebody looked.')
    await app.deps.sessions.reconcile(session.session_id)
    await told
    expect((await app.reaches(session.session_id, 'failed')).error).toStartWith('It ended while somebody looked.')
  })

  test('starts again for an undelivered prompt', async () => {
    const session = await app.running()
    app.driver.options.bootMs = Number.MAX_SAFE_INTEGER
    expect((await prompt(session.session_id, 'owed')).body.status).toBe('accepted')
    delete app.driver.options.bootMs
    await app.driver.crash(session.sandbox!.sandbox_id)
    const again = await until('the next generation runs', async () => {
      const found = await app.session(session.session_id)
      return found.status === 'running' && found.sandbox?.generation === 2 ? found : null
    })
    await until('the prompt is delivered', () => promptsOf(app, again).length === 1)
  })

  test('fails after repeated ends, and the prompt waits for the next restart', async () => {
    const session = await app.running()
    app.driver.options.bootMs = Number.MAX_SAFE_INTEGER
    expect((await prompt(session.session_id, 'owed still')).body.status).toBe('accepted')
    let asked = 0
    // Each sandbox ends before it takes the prompt.
    app.driver.options.around = async (path, answer) => {
      if (path !== '/svc/prompt') return answer()
      asked++
      return Response.json({ code: 'runtime_booting', error: 'The agent runtime is still starting.' }, { status: 503 })
    }
    delete app.driver.options.bootMs
    for (const generation of [1, 2, 3]) {
      const { sandbox } = await until(`generation ${generation} runs`, async () => {
        const found = await app.session(session.session_id)
        return found.status === 'running' && found.sandbox?.generation === generation ? found : null
      })
      if (generation > 1) await until('it is asked to take the prompt', () => asked >= generation - 1)
      await app.driver.crash(sandbox!.sandbox_id, 'It ended again.')
    }
    delete app.driver.options.around
    expect((await app.reaches(session.session_id, 'failed')).error).toStartWith('It ended again.')
    expect((await app.request('POST', app.path(session.session_id, 'restart'))).status).toBe(202)
    const again = await app.reaches(session.session_id, 'running')
    await until('the prompt is delivered', () => promptsOf(app, again).includes('owed still'))
  })
})

describe('a server that died', () => {
  let second: SecondServer
  beforeAll(async () => {
    second = await secondServer(app)
  })
  beforeEach(() => letLive(second.deps))
  afterAll(() => second.close())

  /** Everything the process had is gone with it: its sandboxes without a word to anybody. What it still had to do is waited for before, because it cannot really be killed here. */
  async function kill(session: Session): Promise<void> {
    if (session.sandbox !== null) await app.driver.stop(session.sandbox.sandbox_id)
    await letDie(app.deps)
  }

  const onSecond = (sessionId: string, status: Session['status']) =>
    until(`the second server has it ${status}`, async () => {
      const found = await app.session(sessionId)
      return found.status === status && found.sandbox !== null ? found : null
    })

  test('another server continues a start, and the prompt is delivered once', async () => {
    app.driver.options.bootMs = 60_000
    const { body } = await app.create({ initial_prompt: 'go on' })
    const begun = await until('its sandbox is claimed', async () => {
      const found = await app.session(body.session_id)
      return found.sandbox !== null && (await app.driver.find(found.sandbox.sandbox_id)) ? found : null
    })
    await kill(begun)
    await reconcileSessions(second.deps)
    const running = await onSecond(body.session_id, 'running')
    expect(running.sandbox?.generation).toBe(2)
    await until('the prompt is said', () => promptsOf(second, running).length === 1)
    expect(promptsOf(second, running)).toEqual(['go on'])
    delete app.driver.options.bootMs
  })

  test('a running session is stopped with the reason, and its credentials end', async () => {
    const session = await app.running()
    await kill(session)
    await reconcileSessions(second.deps)
    const stopped = await onSecond(session.session_id, 'stopped')
    expect(stopped.error).toMatch(/server that ran this sandbox stopped/)
    expect(stopped.sandbox?.status).toBe('error')
    expect(await whoAmI(session.env.SVC_CLI_TOKEN!)).toBe(401)
    expect(await livingCredentials(session.session_id)).toBe(0)
  })

  test('a session with an undelivered prompt is started again', async () => {
    const session = await app.running()
    app.driver.options.bootMs = Number.MAX_SAFE_INTEGER
    await prompt(session.session_id, 'still owed')
    await app.deps.sessions.reconcile(session.session_id)
    await kill(session)
    await reconcileSessions(second.deps)
    const running = await until('the second server runs it', async () => {
      const found = await app.session(session.session_id)
      return found.status === 'running' && found.sandbox?.generation === 2 ? found : null
    })
    await until('the prompt is delivered', () => promptsOf(second, running).length === 1)
    delete app.driver.options.bootMs
  })

  test('another server finishes a stop', async () => {
    const session = await app.running()
    await app.deps.db
      .updateTable('project_sessions')
      .set({ desired: 'stopped' })
      .where('session_id', '=', session.session_id)
      .execute()
    await kill(session)
    await reconcileSessions(second.deps)
    expect((await onSecond(session.session_id, 'stopped')).error).toBeNull()
    expect(await livingCredentials(session.session_id)).toBe(0)
  })

  test('a start that is interrupted three times fails and says so', async () => {
    app.driver.options.bootMs = 60_000
    const { body } = await app.create()
    const begun = await until('its sandbox is claimed', async () => {
      const found = await app.session(body.session_id)
      return found.sandbox !== null && (await app.driver.find(found.sandbox.sandbox_id)) ? found : null
    })
    await kill(begun)
    delete app.driver.options.bootMs
    // Two more starts that died with their servers.
    for (const generation of [2, 3])
      await sql`insert into session_sandboxes (sandbox_id, session_id, driver, status, generation, instance_id)
        values (gen_random_uuid(), ${body.session_id}, 'fake', 'provisioning', ${generation}, gen_random_uuid())`.execute(
        app.deps.db,
      )
    await sql`update project_sessions set generation = 3 where session_id = ${body.session_id}`.execute(app.deps.db)
    await reconcileSessions(second.deps)
    expect((await onSecond(body.session_id, 'failed')).error).toBe('The start was interrupted 3 times.')
  })

  test('a server that comes back does not touch what another server did meanwhile', async () => {
    app.driver.options.bootMs = 60_000
    const { body } = await app.create()
    await until('its sandbox is claimed', async () => (await app.session(body.session_id)).sandbox !== null)
    await letDie(app.deps)
    await reconcileSessions(second.deps)
    const running = await onSecond(body.session_id, 'running')
    const token = second.driver.seen(running.sandbox!.sandbox_id)!.spec.env.SVC_CLI_TOKEN!
    // The first server wakes and finishes its start of a generation that is over.
    const [row] = await sql<{ sandbox_id: string }>`select sandbox_id from session_sandboxes
      where session_id = ${body.session_id} and generation = 1`
      .execute(app.deps.db)
      .then(({ rows }) => rows)
    app.driver.options.bootMs = 0
    await until('it gives its own sandbox up', async () => (await app.driver.find(row!.sandbox_id)) === null)
    delete app.driver.options.bootMs
    expect(await app.session(body.session_id)).toMatchObject({
      status: 'running',
      sandbox: { generation: 2, status: 'active' },
    })
    expect(await whoAmI(token)).toBe(200)
  })
})

describe('two live servers', () => {
  let second: SecondServer
  beforeAll(async () => {
    second = await secondServer(app)
  })
  beforeEach(() => letLive(second.deps))
  afterAll(() => second.close())

  test("leave each other's sessions alone, whichever gets a prompt", async () => {
    const session = await app.running()
    await reconcileSessions(second.deps)
    const reply = await second.request<{ status: string }>('POST', app.path(session.session_id, 'prompt'), {
      body: { text: 'through the other door' },
    })
    expect([reply.status, reply.body.status]).toEqual([202, 'accepted'])
    await second.deps.sessions.reconcile(session.session_id)
    expect(await app.session(session.session_id)).toMatchObject({ status: 'running', sandbox: { generation: 1 } })
    await app.deps.sessions.deliverPrompts(session.session_id)
    expect(promptsOf(app, session)).toEqual(['through the other door'])
  })

  test('do not take each other for dead when both lost the database', async () => {
    const clock = { ms: 0 }
    const heartbeat = new Heartbeat(() => clock.ms)
    const third = await secondServer(app, {}, { heartbeat })
    const session = await app.running()
    const looked = async () => {
      await reconcileSessions(third.deps)
      await third.deps.sessions.reconcile(session.session_id)
      return (await app.session(session.session_id)).status
    }
    clock.ms += 600_000
    await letDie(app.deps)
    expect(await looked()).toBe('running')
    // It is back, and so is the heartbeat of the one; the other has as long for that as ever.
    heartbeat.recorded()
    expect(await looked()).toBe('running')
    for (let beats = 0; beats < 4; beats++) {
      clock.ms += 5_000
      heartbeat.recorded()
    }
    expect(await looked()).toBe('stopped')
    await third.close()
  })

  test('start a session once when both see it', async () => {
    for (let round = 0; round < 5; round++) {
      const { body } = await app.create()
      await Promise.all([second.deps.sessions.reconcile(body.session_id), app.deps.sessions.reconcile(body.session_id)])
      const running = await app.reaches(body.session_id, 'running')
      expect(running.sandbox?.generation).toBe(1)
      expect(running.error).toBeNull()
    }
  })

  test('one ends what the other was asked to stop or delete', async () => {
    for (const [method, verb] of [
      ['POST', 'stop'],
      ['DELETE', undefined],
    ] as const) {
      const session = await app.running()
      expect((await second.request(method, app.path(session.session_id, verb))).status).toBe(200)
      expect(await whoAmI(session.env.SVC_CLI_TOKEN!)).toBe(401)
      await reconcileSessions(app.deps)
      expect(await app.driver.find(session.sandbox!.sandbox_id)).toBeNull()
    }
  })
})

test('a sandbox is archived thirty days after its end, and its session can start again', async () => {
  const session = await app.running()
  await app.request('POST', app.path(session.session_id, 'stop'))
  const statusAfter = async (days: number) => {
    const now = () => new Date(Date.now() + days * 24 * 60 * 60_000)
    await archiveOldSandboxes({ ...app.deps, now })
    return (await app.session(session.session_id)).sandbox?.status
  }
  expect([await statusAfter(29), await statusAfter(31)]).toEqual(['stopped', 'archived'])
  expect((await app.request('POST', app.path(session.session_id, 'restart'))).status).toBe(202)
  expect((await app.reaches(session.session_id, 'running')).sandbox).toMatchObject({ status: 'active', generation: 2 })
})

describe('the sweep of idle sessions', () => {
  const age = (sessionId: string, minutes: number) =>
    sql`update project_sessions set last_active_at = now() - make_interval(mins => ${minutes})
      where session_id = ${sessionId}`.execute(app.deps.db)

  test('stops a session after an hour without use, with the reason, and no other', async () => {
    const [old, young] = [await app.running(), await app.running()]
    await age(old.session_id, 61)
    await age(young.session_id, 59)
    await sweepIdleSessions(app.deps)
    expect((await app.reaches(old.session_id, 'stopped')).error).toBe(
      'Stopped after 60 minutes without activity. The next prompt starts it again.',
    )
    expect((await app.session(young.session_id)).status).toBe('running')
  })

  test('keeps a session with an undelivered prompt', async () => {
    const session = await app.running()
    app.driver.options.bootMs = Number.MAX_SAFE_INTEGER
    expect((await prompt(session.session_id, 'do not sleep')).body.status).toBe('accepted')
    await age(session.session_id, 600)
    await sweepIdleSessions(app.deps)
    await app.deps.sessions.reconcile(session.session_id)
    expect((await app.session(session.session_id)).status).toBe('running')
    delete app.driver.options.bootMs
    await app.deps.sessions.deliverPrompts(session.session_id)
    expect(promptsOf(app, session)).toEqual(['do not sleep'])
  })

  test('keeps a session whose agent is working quietly', async () => {
    app.driver.options.onPrompt = () => new Promise<string>(() => {})
    const session = await app.running()
    await prompt(session.session_id, 'think long')
    await until('it works', () => app.deps.sessions.turnOf(session.session_id) === 'busy')
    await age(session.session_id, 600)
    await sweepIdleSessions(app.deps)
    await app.deps.sessions.reconcile(session.session_id)
    expect((await app.session(session.session_id)).status).toBe('running')
    // Another server cannot see the turn, and knows it all the same.
    const other = await secondServer(app)
    await until('it is written', async () => {
      const { rows } = await sql`select 1 from project_sessions
        where session_id = ${session.session_id} and is_busy`.execute(app.deps.db)
      return rows.length === 1
    })
    await age(session.session_id, 600)
    await sweepIdleSessions(other.deps)
    await reconcileSessions(other.deps)
    expect((await app.session(session.session_id)).status).toBe('running')
    await other.close()
    delete app.driver.options.onPrompt
    await app.request('POST', app.path(session.session_id, 'stop'))
  })

  test('a prompt that arrives during the stop starts the session again', async () => {
    const session = await app.running()
    const asked: ReturnType<typeof prompt>[] = []
    await app.deps.db.transaction().execute(async (trx) => {
      await trx
        .updateTable('project_sessions')
        .set({ desired: 'stopped' })
        .where('session_id', '=', session.session_id)
        .execute()
      asked.push(prompt(session.session_id, 'just in time'))
      await until('the prompt waits for the sweep', async () => {
        const { rows } = await sql`select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(app.deps.db)
        return rows.length > 0
      })
    })
    app.deps.sessions.enqueue(session.session_id)
    expect((await asked[0])!.status).toBe(202)
    const again = await until('it runs again', async () => {
      const found = await app.session(session.session_id)
      return found.status === 'running' && found.sandbox?.generation === 2 ? found : null
    })
    await until('the prompt is delivered', () => promptsOf(app, again).length === 1)
    expect(promptsOf(app, session)).toEqual([])
  })

  test('loses no prompt that arrives during a sweep of many sessions', async () => {
    const sessions = await Promise.all(Array.from({ length: 8 }, () => app.running()))
    for (const session of sessions) await age(session.session_id, 61)
    const [replies] = await Promise.all([
      Promise.all(sessions.map((session) => prompt(session.session_id, `for ${session.session_id}`))),
      ...Array.from({ length: 5 }, () => sweepIdleSessions(app.deps)),
    ])
    expect(replies.map((reply) => reply.status)).toEqual(sessions.map(() => 202))
    await until('every prompt is delivered', async () => {
      await reconcileSessions(app.deps)
      const { rows } = await sql`select 1 from session_prompts
        where status = 'accepted' and session_id = any(${sessions.map(({ session_id }) => session_id)})`.execute(
        app.deps.db,
      )
      return rows.length === 0
    })
  }, 120_000)
})

test('a server without a driver says so in the session', async () => {
  const bare = await makeSessionApp({ deps: { sandboxes: null } })
  try {
    const { body } = await bare.create()
    expect((await bare.reaches(body.session_id, 'failed')).error).toContain('SVC_SANDBOX_DRIVER')
  } finally {
    await bare.close()
  }
})

test('a closing server ends its sandboxes and leaves a starting session to the next server', async () => {
  const first = await makeSessionApp()
  const second = await secondServer(first)
  try {
    const running = await first.running()
    first.driver.options.bootMs = 60_000
    const { body } = await first.create()
    await until('it starts', async () => (await first.session(body.session_id)).sandbox !== null)
    await first.deps.sessions.close({ endsSandboxes: true })
    expect(await first.driver.list()).toEqual([])
    await letDie(first.deps)
    await reconcileSessions(second.deps)
    expect((await first.reaches(body.session_id, 'running')).sandbox?.generation).toBe(2)
    expect((await first.reaches(running.session_id, 'stopped')).error).toMatch(/stopped/)
  } finally {
    await second.close()
    await first.close()
  }
})
