/** A session whose server was taken over. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Message } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { endOfProject } from '../../sandboxes/store.ts'
import { deliverWaitingPrompts, reconcileSessions } from '../jobs.ts'
import { makeSessionApp, secondServer, type SecondServer, type SessionApp, until } from '../testing.ts'
import { setReturning } from '../unfinished-work/store.ts'
import { startWorkDaemon } from '../unfinished-work/testing-work-daemon.ts'
import { saveWip } from '../unfinished-work/wip.ts'

setDefaultTimeout(120_000)
let app: SessionApp
let daemon: Awaited<ReturnType<typeof startWorkDaemon>>
let home: SecondServer
/** These reached the sandboxes at the new home, in this order. */
let requests: string[]

beforeAll(async () => {
  app = await makeSessionApp({ onPrompt: ({ text }) => Promise.resolve(`Answer to ${text}`) })
  daemon = await startWorkDaemon(app)
}, 120_000)
beforeEach(async () => {
  requests = []
  home = await secondServer(app, { onPrompt: ({ text }) => Promise.resolve(`Answer to ${text}`) })
})
afterEach(() => home.close())
afterAll(async () => {
  await daemon.close()
  await app.close()
})

const reason = 'Its server, ada, is gone, and bob took its project over.'

/** As a take-over does it. */
async function takeOver({ session_id, project_id }: { session_id: string; project_id: string }): Promise<void> {
  await setReturning(app.deps.db, { project_id })
  await endOfProject(app.deps.db, project_id, reason)
  await reconcileSessions(home.deps)
  expect(await app.reaches(session_id, 'stopped')).toMatchObject({ error: expect.stringContaining(reason) })
}

/** Saves the work of the first start. */
async function save(sessionId: string): Promise<string> {
  daemon.snapshot = await commit(daemon.work, `work-${randomUUID()}`, { 'a.txt': `${randomUUID()}\n` })
  const outcome = await saveWip(app.deps, daemon.addressOf(sessionId), AbortSignal.timeout(30_000))
  expect(outcome.kind).toBe('saved')
  return daemon.snapshot
}

/** The sandboxes at the new home apply that work, or refuse it. */
function sandboxApplies(sessionId: string, work: string | null): void {
  home.driver.options.around = async (path, answer) => {
    if (path === '/svc/prompt' || path === '/svc/recover') requests.push(path)
    if (path !== '/svc/recover') return answer()
    if (work === null)
      return Response.json({ error: 'a.txt would be overwritten.', code: 'recover_refused' }, { status: 409 })
    const { sandbox } = await app.session(sessionId)
    const token = home.driver.seen(sandbox!.sandbox_id)!.spec.env.SVC_CLI_TOKEN!
    await home.request('POST', app.path(sessionId, 'wip/recovered'), { token, body: { commit: work } })
    return answer()
  }
}

async function say(sessionId: string, text: string, at: Pick<SecondServer, 'request'> = home): Promise<void> {
  expect((await at.request('POST', app.path(sessionId, 'prompt'), { body: { text } })).status).toBeLessThan(300)
  await until(`the answer to ${text}`, async () => {
    const { body } = await at.request<{ messages: Message[] }>('GET', app.path(sessionId, 'transcript'))
    return JSON.stringify(body.messages).includes(`Answer to ${text}`)
  })
}

async function stop(sessionId: string): Promise<void> {
  await home.request('POST', app.path(sessionId, 'stop'))
  await app.reaches(sessionId, 'stopped')
}

const workOf = async (sessionId: string) =>
  (await home.request<{ commit: string | null; returns: boolean }>('GET', app.path(sessionId, 'wip'))).body

async function restored(sessionId: string) {
  type Step = { name: string; error: string | null; note: string | null }
  const { body } = await home.request<{ phases: Step[] }>('GET', app.path(sessionId, 'timeline'))
  return body.phases.filter(({ name }) => name === 'restore')
}

async function noteOf(sessionId: string): Promise<string | undefined> {
  const { sandbox } = await app.session(sessionId)
  return home.driver.seen(sandbox!.sandbox_id)!.prompts[0]!.note
}

test('stops with the reason, and begins with its saved work before the first prompt, once', async () => {
  const session = await app.running()
  const { session_id: sessionId } = session
  await say(sessionId, 'zero', app)
  const work = await save(sessionId)
  await takeOver(session)
  expect(await workOf(sessionId)).toMatchObject({ commit: work, returns: true })
  sandboxApplies(sessionId, work)
  await say(sessionId, 'one')
  expect(requests).toEqual(['/svc/recover', '/svc/prompt'])
  const [step, ...more] = await restored(sessionId)
  expect(more).toEqual([])
  expect(step!.note).toMatch(/^The work saved at 20\S+Z is back in the work tree\. Later changes are not in it\.$/)
  expect(await noteOf(sessionId)).toContain('What was not pushed is back in the work tree, as it was saved at 20')
  await until('the sandbox has saved it', async () => (await workOf(sessionId)).commit === null)
  await stop(sessionId)
  await say(sessionId, 'two')
  expect(requests).toEqual(['/svc/recover', '/svc/prompt', '/svc/prompt'])
  expect(await restored(sessionId)).toEqual([])
})

test('begins with it once more if the sandbox ended before it had saved', async () => {
  const session = await app.running()
  const { session_id: sessionId } = session
  const work = await save(sessionId)
  await takeOver(session)
  sandboxApplies(sessionId, work)
  const { around } = home.driver.options
  home.driver.options.around = async (path, answer) =>
    path === '/svc/wip' ? Response.json({}, { status: 500 }) : around!(path, answer)
  const restart = () => home.request('POST', app.path(sessionId, 'restart'))
  await restart()
  await until('it is applied', async () => (await restored(sessionId)).length === 1)
  await home.driver.crash((await app.session(sessionId)).sandbox!.sandbox_id)
  await app.reaches(sessionId, 'failed')
  await restart()
  await app.reaches(sessionId, 'running')
  await until('it is applied again', async () => (await restored(sessionId)).length === 1)
  expect(requests).toEqual(['/svc/recover', '/svc/recover'])
})

test('starts all the same when the sandbox refuses the work, says so, and does not try again', async () => {
  const session = await app.running()
  const { session_id: sessionId } = session
  await say(sessionId, 'zero', app)
  const work = await save(sessionId)
  await takeOver(session)
  sandboxApplies(sessionId, null)
  await say(sessionId, 'one')
  const [step] = await restored(sessionId)
  expect(step!.error).toMatch(
    /^The work saved at \S+ was not put back, and stays saved: a\.txt would be overwritten\. Try `svc sessions recover`\.$/,
  )
  expect(await noteOf(sessionId)).toContain('`svc sessions recover` brings them into the work tree')
  expect(await workOf(sessionId)).toMatchObject({ commit: work, returns: false })
  await stop(sessionId)
  await say(sessionId, 'two')
  expect(requests).toEqual(['/svc/recover', '/svc/prompt', '/svc/prompt'])
  expect(await restored(sessionId)).toEqual([step!])
  const { sandbox } = await app.session(sessionId)
  const token = home.driver.seen(sandbox!.sandbox_id)!.spec.env.SVC_CLI_TOKEN!
  await home.request('POST', app.path(sessionId, 'wip/recovered'), { token, body: { commit: work } })
  expect(await restored(sessionId)).toEqual([])
})

test('leaves the work to the next home when the project moves on meanwhile, and no prompt reaches this sandbox', async () => {
  const session = await app.running()
  const { session_id: sessionId, project_id } = session
  await say(sessionId, 'zero', app)
  const work = await save(sessionId)
  await takeOver(session)
  sandboxApplies(sessionId, null)
  const { around } = home.driver.options
  home.driver.options.around = async (path, answer) => {
    if (path === '/svc/recover') home.deps.homeGate.close(project_id)
    return around!(path, answer)
  }
  await home.request('POST', app.path(sessionId, 'prompt'), { body: { text: 'one' } })
  await app.reaches(sessionId, 'running')
  await until('the work was refused', () => requests.includes('/svc/recover'))
  await deliverWaitingPrompts(home.deps)
  expect(await restored(sessionId)).toEqual([])
  expect(await workOf(sessionId)).toMatchObject({ commit: work, returns: true })
  expect(requests).toEqual(['/svc/recover'])
  await home.deps.sessions.moveAway(sessionId)
  sandboxApplies(sessionId, work)
  home.deps.homeGate.open(project_id)
  await reconcileSessions(home.deps)
  await until('the prompt is delivered', () => requests.includes('/svc/prompt'))
  expect(requests).toEqual(['/svc/recover', '/svc/recover', '/svc/prompt'])
  expect(await restored(sessionId)).toMatchObject([{ error: null }])
})

test('of a session that was stopped before, the work waits to be recovered', async () => {
  const session = await app.running()
  const { session_id: sessionId } = session
  await app.request('POST', app.path(sessionId, 'stop'))
  await app.reaches(sessionId, 'stopped')
  const work = await save(sessionId)
  await setReturning(app.deps.db, session)
  sandboxApplies(sessionId, work)
  await say(sessionId, 'one')
  expect(requests).toEqual(['/svc/prompt'])
  expect(await workOf(sessionId)).toMatchObject({ commit: work, returns: false })
})
