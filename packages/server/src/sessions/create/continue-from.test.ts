/** Sessions that continue from a message of another one, by HTTP. The snapshots come from a daemon of our own. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Message, Session } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { gitText } from '../../change-requests/testing.ts'
import { makeFamily, tokenOf } from '../testing-family.ts'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../testing.ts'
import { markApplied } from '../unfinished-work/store.ts'
import { pruneWip } from '../unfinished-work/prune.ts'
import { savedReply, startWorkDaemon } from '../unfinished-work/testing-work-daemon.ts'
import { saveWip } from '../unfinished-work/wip.ts'

setDefaultTimeout(120_000)
let app: SessionApp
let daemon: Awaited<ReturnType<typeof startWorkDaemon>>

interface Work {
  commit: string | null
  generation: number | null
  files: number
}
type Refusal = { error: string; code: string; hint: string }

beforeAll(async () => {
  app = await makeSessionApp({ onPrompt: ({ text }) => Promise.resolve(`Answer to ${text}`) })
  daemon = await startWorkDaemon(app)
}, 120_000)
afterAll(async () => {
  await daemon.close()
  await app.close()
})

const messagesOf = async (sessionId: string) =>
  (await app.request<{ messages: Message[] }>('GET', app.path(sessionId, 'transcript'))).body.messages
const workOf = async (sessionId: string) => (await app.request<Work>('GET', app.path(sessionId, 'wip'))).body
const tip = (branch: string) => gitText(app.repo, 'rev-parse', branch)

/** Sends a prompt, and returns the last message of its turn. */
async function say(session: Session, text: string): Promise<string> {
  const before = (await messagesOf(session.session_id)).length
  await app.request('POST', app.path(session.session_id, 'prompt'), { body: { text } })
  const messages = await until(`the answer to ${text}`, async () => {
    const found = await messagesOf(session.session_id)
    const isOver = found.length >= before + 2 && found.every(({ completed_at }) => completed_at !== null)
    return isOver && app.deps.sessions.turnOf(session.session_id) === 'idle' ? found : null
  })
  return messages.at(-1)!.message_id
}

/** What the sandbox has when the agent rests after this message is saved. Null: all of it is pushed. */
async function rest(
  session: Session,
  messageId: string | null,
  files: Record<string, string> | null,
  generation = 1,
): Promise<string> {
  daemon.snapshot = files === null ? null : await commit(daemon.work, `work-${randomUUID()}`, files)
  const address = daemon.addressOf(session.session_id, generation)
  const outcome = await saveWip(app.deps, address, AbortSignal.timeout(30_000), {
    rest: { after: messageId, kept() {} },
  })
  expect(outcome.kind).toBe(files === null ? 'clean' : 'saved')
  return daemon.snapshot ?? ''
}

/** A session of two turns, with other work after each. */
async function twoTurns() {
  const session = await app.running()
  const first = await say(session, 'one')
  const afterFirst = await rest(session, first, { 'a.txt': `first ${randomUUID()}\n` })
  const second = await say(session, 'two')
  const afterSecond = await rest(session, second, { 'a.txt': `second ${randomUUID()}\n` })
  return { session, first, afterFirst, second, afterSecond }
}

const branch = (session: Session, message_id?: string, more: object = {}) =>
  app.create({ from: { session_id: session.session_id, ...(message_id === undefined ? {} : { message_id }) }, ...more })
const refusalOf = ({ status, body }: { status: number; body: unknown }) => [status, (body as Refusal).code]

async function seen(session: Session) {
  const { sandbox } = await app.session(session.session_id)
  return app.driver.seen(sandbox!.sandbox_id)!
}

test('has the code as it was after the turn, and leaves the original as it is', async () => {
  const { session, first, afterFirst, afterSecond } = await twoTurns()
  const [before, transcript] = [await workOf(session.session_id), await messagesOf(session.session_id)]
  const { status, body } = await branch(session, first)
  expect([status, body.base_ref]).toEqual([201, 'main'])
  expect(body.continues).toEqual({ session_id: session.session_id, message_id: first })
  expect(body.branch_name).toBe(body.session_id)
  expect(await tip(body.session_id)).toBe(await tip('main'))
  expect(await workOf(body.session_id)).toMatchObject({ commit: afterFirst, generation: 0, files: 1 })
  expect(await gitText(app.repo, 'rev-parse', `refs/svc/wip/${body.session_id}`)).toBe(afterFirst)
  expect([await workOf(session.session_id), await messagesOf(session.session_id)]).toEqual([before, transcript])
  expect(before.commit).toBe(afterSecond)
  expect((await app.session(session.session_id)).continues).toBeNull()
})

test('any message of a turn names it, and no message is the session as it is now', async () => {
  const { session, first, afterFirst, second } = await twoTurns()
  const [prompt] = await messagesOf(session.session_id)
  const ofPrompt = await branch(session, prompt!.message_id)
  expect(ofPrompt.body.continues).toMatchObject({ message_id: first })
  expect(await workOf(ofPrompt.body.session_id)).toMatchObject({ commit: afterFirst })
  await app.request('POST', app.path(session.session_id, 'stop'))
  await app.reaches(session.session_id, 'stopped')
  const now = await rest(session, second, { 'a.txt': 'as it is now\n' })
  const ofNow = await branch(session)
  expect(ofNow.body.continues).toMatchObject({ message_id: second })
  expect(await workOf(ofNow.body.session_id)).toMatchObject({ commit: now })
})

test('the agent gets the conversation up to there before the first prompt, also after a restart', async () => {
  const { session, first } = await twoTurns()
  const { body } = await branch(session, first, { initial_prompt: 'another way' })
  const running = await app.reaches(body.session_id, 'running')
  await until('its first answer', async () => (await messagesOf(body.session_id)).length === 2)
  const [prompt] = (await seen(running)).prompts
  expect(prompt!.text).toBe('another way')
  expect(prompt!.note).toContain(`This session continues from session ${session.session_id}`)
  expect(prompt!.note).toContain('<person>\none\n</person>\n<agent>\nAnswer to one\n</agent>\n</conversation>')
  expect((await messagesOf(body.session_id)).map(({ role }) => role)).toEqual(['user', 'assistant'])

  await app.request('POST', app.path(body.session_id, 'stop'))
  await app.reaches(body.session_id, 'stopped')
  await say(running, 'go on')
  const note = (await seen(running)).prompts[0]!.note!
  const at = ['one\n', 'Answer to one', 'another way', 'Answer to another way'].map((text) => note.indexOf(text))
  expect(at).toEqual(at.toSorted((a, b) => a - b))
  expect(at[0]).toBeGreaterThan(0)
  expect(note).not.toContain('two')
})

test('a branch of a branch knows the whole way', async () => {
  const { session, first } = await twoTurns()
  const { body: second } = await branch(session, first, { initial_prompt: 'and' })
  await app.reaches(second.session_id, 'running')
  await until('its answer', async () => (await messagesOf(second.session_id)).length === 2)
  const { body: third } = await branch(second, undefined, { initial_prompt: 'so' })
  const running = await app.reaches(third.session_id, 'running')
  await until('its answer', async () => (await messagesOf(third.session_id)).length === 2)
  const note = (await seen(running)).prompts[0]!.note!
  expect(note.indexOf('Answer to one')).toBeGreaterThan(0)
  expect(note.indexOf('Answer to and')).toBeGreaterThan(note.indexOf('Answer to one'))
})

test('begins at the commit that was pushed by then, with nothing besides', async () => {
  const session = await app.running()
  const first = await say(session, 'one')
  const pushed = await commit(app.repo, session.session_id, { 'b.txt': `${randomUUID()}\n` })
  await rest(session, first, null)
  await say(session, 'two')
  await commit(app.repo, session.session_id, { 'b.txt': 'later\n' })
  const { body } = await branch(session, first)
  expect(await tip(body.session_id)).toBe(pushed)
  expect(await workOf(body.session_id)).toMatchObject({ commit: null, files: 0 })
})

test('one key makes one session, and so does a chosen id', async () => {
  const { session, first } = await twoTurns()
  const headers = { 'idempotency-key': randomUUID() }
  const from = { session_id: session.session_id, message_id: first }
  const made = [await app.create({ from }, { headers }), await app.create({ from }, { headers })]
  expect(new Set(made.map(({ body }) => body.session_id)).size).toBe(1)
  const session_id = randomUUID()
  expect((await app.create({ session_id, from })).status).toBe(201)
  expect((await app.create({ session_id, from })).body.session_id).toBe(session_id)
  expect(refusalOf(await app.create({ session_id }))).toEqual([409, 'conflict'])
  const { message_id: _, ...whole } = from
  expect(refusalOf(await app.create({ session_id, from: whole }))).toEqual([409, 'conflict'])
})

test('continues with the agent and the model of the session, unless others are given', async () => {
  const { body: source } = await app.create({ name: 'First try', agent_name: 'plan', model: 'test-model' })
  const made = (await branch(source)).body
  expect(made).toMatchObject({ agent_name: 'plan', model: 'test-model', name: 'Branch of First try' })
  expect((await branch(source, undefined, { agent_name: 'build' })).body.agent_name).toBe('build')
})

test('refuses what it cannot continue from, and makes nothing', async () => {
  const { session, first } = await twoTurns()
  const other = await app.running()
  const elsewhere = await app.managedProject()
  const before = (await app.request<Session[]>('GET', app.path())).body.length
  expect(refusalOf(await branch(other, first))).toEqual([404, 'not_found'])
  expect(refusalOf(await app.create({ from: { session_id: randomUUID() } }))).toEqual([404, 'not_found'])
  const inOther = `/v1/projects/${elsewhere.project.project_id}/sessions`
  const from = { session_id: session.session_id }
  expect(refusalOf(await app.request('POST', inOther, { body: { from } }))).toEqual([404, 'not_found'])
  expect(refusalOf(await app.create({ from, base_ref: 'main' }))).toEqual([400, 'invalid'])
  const cut = { session_id: randomUUID(), branch_already_created: true }
  expect(refusalOf(await app.create({ from, ...cut }))).toEqual([400, 'invalid'])
  expect((await app.request<Session[]>('GET', app.path())).body).toHaveLength(before)
})

test('refuses a turn that still runs, and one whose work is not saved', async () => {
  const session = await app.running()
  const first = await say(session, 'one')
  const { promise: ended, resolve: end } = Promise.withResolvers<string>()
  app.driver.options.onPrompt = () => ended
  await app.request('POST', app.path(session.session_id, 'prompt'), { body: { text: 'two' } })
  const prompt = await until('the prompt', async () => (await messagesOf(session.session_id))[2] ?? null)
  const refused = await branch(session, prompt.message_id)
  expect(refusalOf(refused)).toEqual([409, 'conflict'])
  expect((refused.body as unknown as Refusal).error).toBe('The agent is still working on this turn.')
  end('Done.')
  delete app.driver.options.onPrompt
  await until('the end', async () => (await messagesOf(session.session_id)).length === 4)
  const lost = await branch(session, first)
  expect(refusalOf(lost)).toEqual([422, 'unprocessable'])
  expect((lost.body as unknown as Refusal).hint).toContain('seven days')
  app.driver.options.onPrompt = ({ text }) => Promise.resolve(`Answer to ${text}`)
})

async function restarted(session: Session, meanwhile: () => Promise<unknown> = async () => {}): Promise<void> {
  await app.request('POST', app.path(session.session_id, 'stop'))
  await app.reaches(session.session_id, 'stopped')
  await meanwhile()
  await app.request('POST', app.path(session.session_id, 'restart'))
  await app.reaches(session.session_id, 'running')
}

test('has the work after a turn, also when a restart without it followed', async () => {
  const session = await app.running()
  const first = await say(session, 'one')
  const afterFirst = await rest(session, first, { 'a.txt': `${randomUUID()}\n` })
  await restarted(session)
  app.driver.options.refuse = () => ({ code: 'refused', message: 'No.' })
  await app.request('POST', app.path(session.session_id, 'prompt'), { body: { text: 'two' } })
  const failed = await until('the prompt has failed', async () => (await messagesOf(session.session_id))[2] ?? null)
  delete app.driver.options.refuse
  await rest(session, failed.message_id, null, 2)
  expect(await workOf((await branch(session, first)).body.session_id)).toMatchObject({ commit: afterFirst })
})

test('has the saved work of the start of its turn when that turn was not recorded', async () => {
  const session = await app.running()
  const first = await say(session, 'one')
  let saved = ''
  await restarted(session, async () => {
    saved = await rest(session, null, { 'a.txt': `${randomUUID()}\n` })
  })
  expect(await workOf((await branch(session, first)).body.session_id)).toMatchObject({ commit: saved })
})

test('the agent is told of work that its sandbox saved before the first prompt', async () => {
  const { session, first, afterFirst } = await twoTurns()
  const { body } = await branch(session, first)
  const { session_id: sessionId } = body
  const running = await app.reaches(sessionId, 'running')
  await markApplied(app.deps.db, { sessionId, commit: afterFirst, generation: 1 })
  await rest(body, null, { 'a.txt': 'saved again\n' })
  await say(body, 'go on')
  expect((await seen(running)).prompts[0]!.note).toContain('are in the work tree, uncommitted')
})

test('work that the sandbox refused does not come by itself once the agent has worked', async () => {
  const { session, first, afterFirst } = await twoTurns()
  let tries = 0
  app.driver.options.around = async (path, answer) => {
    if (path !== '/svc/recover') return answer()
    tries++
    return Response.json({ error: 'Files here would be overwritten.', code: 'recover_refused' }, { status: 409 })
  }
  const { body } = await branch(session, first)
  await app.reaches(body.session_id, 'running')
  await say(body, 'do it anew')
  expect(tries).toBeGreaterThan(0)
  const before = tries
  await restarted(body)
  await say(body, 'go on')
  expect(tries).toBe(before)
  delete app.driver.options.around
  expect(await workOf(body.session_id)).toMatchObject({ commit: afterFirst, generation: 0 })
})

test('the work after a turn is kept for a week', async () => {
  const { session, first, afterFirst } = await twoTurns()
  const lost = await app.running()
  await app.driver.crash(lost.sandbox!.sandbox_id)
  expect((await app.reaches(lost.session_id, 'failed')).error).toContain('may not be saved')
  const now = app.deps.now().getTime()
  const prune = (days: number) =>
    pruneWip({ ...app.deps, now: () => new Date(now + days * 86_400_000) }, new AbortController().signal)
  await prune(6)
  const { body } = await branch(session, first)
  expect(await workOf(body.session_id)).toMatchObject({ commit: afterFirst })
  await prune(8)
  expect(refusalOf(await branch(session, first))).toEqual([422, 'unprocessable'])
  // What a session continues from stays with it.
  expect(await workOf(body.session_id)).toMatchObject({ commit: afterFirst })
})

test('a deleted session is not continued, and those that continue it go on', async () => {
  const { session, first, afterFirst } = await twoTurns()
  const { body } = await branch(session, first)
  await app.request('DELETE', app.path(session.session_id))
  expect(refusalOf(await branch(session, first))).toEqual([404, 'not_found'])
  expect((await app.session(body.session_id)).continues).toBeNull()
  expect(await workOf(body.session_id)).toMatchObject({ commit: afterFirst })
})

test('an agent continues its own session and those it started, and no other', async () => {
  const family = await makeFamily(app)
  const token = tokenOf(family.own)
  const as = (of: RunningSession) => app.create({ from: { session_id: of.session_id } }, { token })
  const [own, child, other] = [await as(family.own), await as(family.child), await as(family.other)]
  expect([own.status, child.status]).toEqual([201, 201])
  expect(own.body.parent_session_id).toBe(family.own.session_id)
  expect(refusalOf(other)).toEqual([403, 'forbidden'])
  const viewer = await app.makeUser('viewer')
  const refused = await app.create({ from: { session_id: family.own.session_id } }, { token: viewer.token })
  expect(refusalOf(refused)).toEqual([403, 'forbidden'])
})

/** The sandbox saves these files, or nothing at all. */
async function has(session: Session, files: Record<string, string> | null): Promise<string> {
  const base = await tip(session.branch_name)
  const made = files === null ? '' : await commit(daemon.work, `work-${randomUUID()}`, files, { from: base })
  const head = { state: 'saved', commit: made, base, files: 1, paths: ['a.txt'], unpushed: 0, notes: [] }
  app.driver.options.around = async (path, answer) => {
    if (path !== '/svc/wip') return answer()
    return files === null ? Response.json({}, { status: 500 }) : savedReply(daemon.work.dir, head, [])
  }
  return made
}

test('has the code of its turn although the event stream broke as the next prompt was delivered', async () => {
  const session = await app.running()
  const afterFirst = await has(session, { 'a.txt': `${randomUUID()}\n` })
  const first = await say(session, 'one')
  await until('its work is saved', async () => (await workOf(session.session_id)).commit === afterFirst)
  const opens = Promise.withResolvers<void>()
  const later = await has(session, { 'a.txt': 'of the next turn\n' })
  const { around } = app.driver.options
  app.driver.options.around = async (path, answer) => {
    if (path === '/event') await opens.promise
    return around!(path, answer)
  }
  app.driver.cutEvents(session.sandbox!.sandbox_id)
  const { promise: ended, resolve: end } = Promise.withResolvers<string>()
  app.driver.options.onPrompt = () => ended
  await app.request('POST', app.path(session.session_id, 'prompt'), { body: { text: 'two' } })
  expect((await app.request('POST', app.path(session.session_id, 'wip'))).status).toBe(200)
  expect((await workOf(session.session_id)).commit).toBe(later)
  end('Done.')
  opens.resolve()
  await until('the end', async () => (await messagesOf(session.session_id)).length === 4)
  delete app.driver.options.around
  expect(await workOf((await branch(session, first)).body.session_id)).toMatchObject({ commit: afterFirst })
  app.driver.options.onPrompt = ({ text }) => Promise.resolve(`Answer to ${text}`)
})

test('refuses the newest turn while its work is not saved, and continues from the last save without a message', async () => {
  const session = await app.running()
  const saved = await has(session, { 'a.txt': `${randomUUID()}\n` })
  await say(session, 'one')
  await until('its work is saved', async () => (await workOf(session.session_id)).commit === saved)
  await has(session, null)
  const second = await say(session, 'two')
  const refused = await branch(session, second)
  expect(refusalOf(refused)).toEqual([503, 'unavailable'])
  expect(await workOf((await branch(session)).body.session_id)).toMatchObject({ commit: saved })
  const afterSecond = await has(session, { 'a.txt': `${randomUUID()}\n` })
  await app.request('POST', app.path(session.session_id, 'wip'))
  expect(await workOf((await branch(session, second)).body.session_id)).toMatchObject({ commit: afterSecond })
  await has(session, null)
  await say(session, 'three')
  expect((await app.request('POST', `${app.path(session.session_id, 'stop')}?discard=true`)).status).toBe(200)
  const last = (await messagesOf(session.session_id)).at(-1)!.message_id
  expect(refusalOf(await branch(session, last))).toEqual([422, 'unprocessable'])
  delete app.driver.options.around
})
