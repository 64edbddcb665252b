/** A database that fails in the middle of the work leaves no session in the wrong state. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Message, Session } from '@svc/contract'
import { sql } from 'kysely'
import { deliverWaitingPrompts, reconcileSessions } from './jobs.ts'
import { becomeRunning } from './lifecycle/become-running.ts'
import { beginAgain } from './lifecycle/begin-again.ts'
import { getSessionById } from './store.ts'
import { letDie, letLive, makeSessionApp, secondServer, type SessionApp, until } from './testing.ts'

let app: SessionApp
let aheadMs = 0
beforeAll(async () => {
  app = await makeSessionApp({ deps: { now: () => new Date(Date.now() + aheadMs) } })
}, 120_000)
afterAll(() => app.close())

describe('a database that refuses to record it', () => {
  /** As a database does that ends in the middle of the work. */
  async function refuseWhile(table: string, session: Session, work: () => Promise<void>): Promise<void> {
    const { db, sessions } = app.deps
    // A sequence counts what a transaction that failed did.
    await sql`create sequence refusals`.execute(db)
    await sql`create function refuse() returns trigger language plpgsql as $$ begin
      perform nextval('refusals'); raise exception 'the database refuses' using errcode = '57P01'; end $$`.execute(db)
    await sql`create trigger refuse before update on ${sql.table(table)}
      for each row execute function refuse()`.execute(db)
    await work()
    await until('it was refused, and the server has let go of the session', async () => {
      const { rows } = await sql<{ is_called: boolean }>`select is_called from refusals`.execute(db)
      return rows[0]!.is_called && !(await sessions.inHand()).includes(session.session_id)
    })
    await sql`drop function refuse cascade`.execute(db)
    await sql`drop sequence refusals`.execute(db)
  }

  /** The first `times` updates of a row to that status fail. */
  async function refuse(
    { table, status, times }: { table: string; status: string; times: number },
    work: () => Promise<void>,
  ): Promise<void> {
    const { db } = app.deps
    await sql`create sequence refusals`.execute(db)
    await sql`create function refuse() returns trigger language plpgsql as $$ begin
      if nextval('refusals') > ${sql.lit(times)} then return new; end if;
      raise exception 'the database refuses' using errcode = '57P01'; end $$`.execute(db)
    await sql`create trigger refuse before update on ${sql.table(table)}
      for each row when (new.status = ${sql.lit(status)}) execute function refuse()`.execute(db)
    await work()
    await sql`drop function refuse cascade`.execute(db)
    await sql`drop sequence refusals`.execute(db)
  }

  test('does not leave a session starting forever', async () => {
    app.driver.options.bootMs = 60_000
    const { body } = await app.create()
    const begun = await until('its sandbox boots', async () => {
      const found = await app.session(body.session_id)
      return found.sandbox !== null && (await app.driver.find(found.sandbox.sandbox_id)) ? found : null
    })
    await refuseWhile('project_sessions', begun, () => app.driver.crash(begun.sandbox!.sandbox_id))
    delete app.driver.options.bootMs
    expect((await app.session(begun.session_id)).status).toBe('provisioning')
    await reconcileSessions(app.deps)
    expect((await app.reaches(begun.session_id, 'running')).sandbox?.generation).toBe(2)
  })

  test('does not leave a session running without a sandbox, and the reason is kept', async () => {
    const session = await app.running()
    await refuseWhile('session_sandboxes', session, () =>
      app.driver.crash(session.sandbox!.sandbox_id, 'It ended with signal 9.'),
    )
    await reconcileSessions(app.deps)
    expect((await app.reaches(session.session_id, 'failed')).error).toStartWith('It ended with signal 9.')
  })

  test('does not keep a turn open whose prompt was delivered', async () => {
    const { deps, driver } = app
    const session = await app.running()
    const send = (text: string) => app.request('POST', app.path(session.session_id, 'prompt'), { body: { text } })
    await refuse({ table: 'session_prompts', status: 'delivered', times: 1_000 }, async () => {
      await send('one')
      // The second time, its turn has ended.
      await until('it was delivered twice', async () => {
        const { rows } = await sql<{ last_value: string }>`select last_value from refusals`.execute(deps.db)
        return Number(rows[0]!.last_value) >= 2
      })
    })
    await send('two')
    await until('every prompt had its turn', async () => {
      await deliverWaitingPrompts(deps)
      const { rows } = await sql`select from session_prompts
        where session_id = ${session.session_id} and status = 'accepted'`.execute(deps.db)
      return rows.length === 0 && deps.sessions.turnOf(session.session_id) === 'idle'
    })
    expect(driver.seen(session.sandbox!.sandbox_id)?.prompts.map(({ text }) => text)).toEqual(['one', 'two'])
  })

  test('does not end the turn of a prompt that was delivered twice before the runtime began it', async () => {
    const { deps, driver } = app
    const session = await app.running()
    const send = (text: string) => app.request('POST', app.path(session.session_id, 'prompt'), { body: { text } })
    await send('quick')
    const isIdle = () => deps.sessions.turnOf(session.session_id) === 'idle'
    await until('the first turn ended', async () => {
      const { body } = await app.request<{ messages: Message[] }>('GET', app.path(session.session_id, 'transcript'))
      return body.messages.length === 2 && isIdle()
    })
    const published: string[] = []
    deps.feed.subscribe(
      session.session_id,
      (event) => {
        if (event.type === 'turn') published.push(event.status)
        else if (event.type === 'message' && JSON.stringify(event).includes('the answer')) published.push('answer')
      },
      () => {},
    )
    const answer = Promise.withResolvers<string>()
    driver.options.onPrompt = () => answer.promise
    let deliveries = 0
    let asked = 0
    // A runtime that took a prompt is idle, and does not list it, until it begins.
    driver.options.around = async (path, next) => {
      if (path === '/svc/prompt') deliveries++
      const isStatus = path === '/session/status'
      if (!isStatus && !path.endsWith('/message')) return next()
      if (deliveries > 1) asked++
      return Response.json(isStatus ? {} : [])
    }
    try {
      await refuse({ table: 'session_prompts', status: 'delivered', times: 1 }, async () => {
        await send('slow')
        await until('it was delivered twice, and recorded', async () => {
          await deliverWaitingPrompts(deps)
          const { rows } = await sql`select from session_prompts
            where session_id = ${session.session_id} and status = 'accepted'`.execute(deps.db)
          return rows.length === 0 && asked > 0
        })
      })
      expect(deliveries).toBe(2)
    } finally {
      delete driver.options.onPrompt
      delete driver.options.around
      answer.resolve('the answer')
    }
    await until('the turn ended', () => published.includes('answer') && isIdle())
    expect([...new Set(published)]).toEqual(['busy', 'answer', 'idle'])
  })

  test('does not run a prompt again whose sandbox had it and ended', async () => {
    const { deps, driver } = app
    const session = await app.running()
    const [id, sandboxId] = [session.session_id, session.sandbox!.sandbox_id]
    driver.options.onPrompt = () => new Promise(() => {})
    const shown = async () =>
      (await app.request<{ messages: Message[] }>('GET', app.path(id, 'transcript'))).body.messages.map((message) => [
        message.parts.map((part) => (part.type === 'text' ? part.text : '')).join(),
        message.error,
      ])
    await refuse({ table: 'session_prompts', status: 'delivered', times: 1_000 }, async () => {
      await app.request('POST', app.path(id, 'prompt'), { body: { text: 'once' } })
      await until('it is in the conversation', async () => (await shown()).length > 0)
      await driver.crash(sandboxId, 'It ended with signal 9.')
      await until('its end is recorded', async () => (await driver.find(sandboxId)) === null)
    })
    delete driver.options.onPrompt
    const next = await until('the next sandbox runs, and no prompt waits', async () => {
      await reconcileSessions(deps)
      await deliverWaitingPrompts(deps)
      const { rows } = await sql`select from session_prompts
        where session_id = ${id} and status = 'accepted'`.execute(deps.db)
      const found = await app.session(id)
      return rows.length === 0 && found.status === 'running' && found.sandbox?.generation === 2 ? found : null
    })
    expect(driver.seen(next.sandbox!.sandbox_id)?.prompts).toEqual([])
    expect(await shown()).toEqual([
      ['once', null],
      ['', 'It ended with signal 9.'],
    ])
  })

  test('shows why a prompt that a server delivered has no answer when that server dies', async () => {
    const session = await app.running()
    const id = session.session_id
    const shown = async () =>
      (await app.request<{ messages: Message[] }>('GET', app.path(id, 'transcript'))).body.messages.map(
        ({ role, error }) => [role, error],
      )
    app.driver.options.onPrompt = () => new Promise(() => {})
    await refuse({ table: 'session_prompts', status: 'delivered', times: 1_000 }, async () => {
      await app.request('POST', app.path(id, 'prompt'), { body: { text: 'once' } })
      await until('its answer is in the conversation', async () => (await shown()).length === 2)
      await letDie(app.deps)
    })
    delete app.driver.options.onPrompt
    const next = await secondServer(app)
    await until('no prompt waits', async () => {
      await reconcileSessions(next.deps)
      await deliverWaitingPrompts(next.deps)
      const { rows } = await sql`select from session_prompts
        where session_id = ${id} and status = 'accepted'`.execute(next.deps.db)
      return rows.length === 0
    })
    expect(await shown()).toEqual([
      ['user', null],
      ['assistant', 'The server that ran this sandbox stopped.'],
    ])
    await next.close()
    await letLive(app.deps)
  })

  test('right after a start does not end its sandbox', async () => {
    const { feed, sessions } = app.deps
    const publish = feed.publish.bind(feed)
    let refused = 0
    feed.publish = (sessionId, event) => {
      if (event.type !== 'session' || event.session.status !== 'running' || refused++ > 0)
        return publish(sessionId, event)
      throw Object.assign(new Error('the database refuses'), { code: '57P01' })
    }
    const session = await app.running({ initial_prompt: 'begin' })
    feed.publish = publish
    expect(refused).toBeGreaterThan(0)
    expect(await sessions.inHand()).toContain(session.session_id)
    expect((await app.session(session.session_id)).sandbox?.generation).toBe(1)
  })

  /** The first `times` sandboxes that are ready cannot be recorded. */
  const refuseStarts = (times: number, work: () => Promise<void>) =>
    refuse({ table: 'session_sandboxes', status: 'active', times }, work)

  test('does not end a session that starts', () =>
    refuseStarts(1, async () => {
      const { body } = await app.create()
      const session = await app.reaches(body.session_id, 'running')
      expect(session.sandbox?.generation).toBe(2)
      expect(session.error).toBe(null)
    }))

  test('does not fail a session whose start it interrupts again and again for a minute', () =>
    refuseStarts(6, async () => {
      const { body } = await app.create()
      const session = await app.reaches(body.session_id, 'running')
      expect([session.sandbox?.generation, session.error]).toEqual([7, null])
    }))

  test('a stop that is requested while a session starts again stops it', () =>
    refuseStarts(1, async () => {
      const { driver, deps } = app
      const stop = driver.stop.bind(driver)
      let stops = 0
      const stopping = Promise.withResolvers<unknown>()
      const { body } = await app.create()
      driver.stop = async (sandboxId) => {
        // The failed start has read that the session is to run, and ends its sandboxes before the next one.
        if (++stops === 2) {
          stopping.resolve(app.request('POST', app.path(body.session_id, 'stop')))
          await until('the stop is requested', async () => {
            const { rows } = await sql`select from project_sessions where desired = 'stopped'`.execute(deps.db)
            return rows.length > 0
          })
        }
        return stop(sandboxId)
      }
      await stopping.promise
      driver.stop = stop
      expect((await app.reaches(body.session_id, 'stopped')).error).toBe(null)
    }))

  test('sends the first prompt again when the commit of a start got no answer', async () => {
    const { driver, deps } = app
    driver.options.bootMs = 60_000
    const { body } = await app.create({ initial_prompt: 'begin' })
    const sandboxId = await until(
      'its sandbox boots',
      async () => (await app.session(body.session_id)).sandbox?.sandbox_id ?? null,
    )
    const begun = (await getSessionById(deps.db, body.session_id))!
    expect(await becomeRunning(deps, begun, { sandboxId, firstPrompt: 'begin' })).toBe(true)
    expect((await getSessionById(deps.db, body.session_id))?.initial_prompt_delivered_at).not.toBe(null)
    await beginAgain(deps, begun, { error: 'The database was unavailable.', hasMoved: false })
    delete driver.options.bootMs
    expect((await getSessionById(deps.db, body.session_id))?.initial_prompt_delivered_at).toBe(null)
    await driver.crash(sandboxId)
    const { sandbox } = await until('the next start runs', async () => {
      await reconcileSessions(deps)
      const found = await app.session(body.session_id)
      return found.status === 'running' ? found : null
    })
    expect(driver.seen(sandbox?.sandbox_id ?? '')?.spec.env.SVC_INITIAL_PROMPT).toBe('begin')
  })

  test('fails when starts keep breaking', () =>
    refuseStarts(1_000, async () => {
      const { body } = await app.create()
      const { error } = await app.reaches(body.session_id, 'failed')
      expect(error).toBe('The database was unavailable while the session was starting. Try again.')
    }))
})

test('a session does not go on without its sandbox, also when nothing reported its end', async () => {
  const { driver, deps } = app
  const session = await app.running()
  await driver.stop(session.sandbox!.sandbox_id)
  const ended = until('the session has failed', async () => {
    await reconcileSessions(deps)
    const found = await app.session(session.session_id)
    aheadMs += 1_000
    return found.status === 'failed' ? found : null
  })
  expect((await ended).error).toStartWith('The sandbox ended by itself.')
})
