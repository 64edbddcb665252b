/** A server with the fake driver, and helpers for the tests of sessions. */
import { updateRows } from '../db/rows.ts'
import { randomUUID } from 'node:crypto'
import { isAttachmentBody, type Session, type SessionEvent } from '@svc/contract'
import type { Files } from '@svc/git/testing'
import { createFakeDriver, type FakeDriver, type FakeDriverOptions } from '@svc/sandbox/testing'
import type { Config } from '../config.ts'
import { LocalLocks } from '../db/lock.ts'
import type { Deps } from '../deps.ts'
import { EventNotifier } from '../events/notifier.ts'
import { Redaction } from '../redaction/redaction.ts'
import { withReconcilers } from '../build-deps.ts'
import { projectPath, serve } from '../test-app.ts'
import { letLive, makeTestApp, type TestApp, type TestRequest } from '../testing.ts'
import { readInBackground } from '../testing-events.ts'
import { until } from '../testing-until.ts'
import { mintToken } from '../tokens/mint.ts'
import { SessionFeed } from './conversation/feed.ts'

export { letLive, until }

export type SessionApp = Awaited<ReturnType<typeof makeSessionApp>>

export interface RunningSession extends Session {
  env: Record<string, string>
}

export const testModel = { url: 'http://127.0.0.1:9/v1', key: 'upstream-key', name: 'test-model' }

/** Like the daemon of a real sandbox. */
const refuseAttachment = (body: Record<string, unknown>) =>
  isAttachmentBody(body) ? null : { code: 'invalid', message: 'The file is not one that a sandbox takes.' }

export async function makeSessionApp(
  options: FakeDriverOptions & { files?: Files; configure?: Partial<Config>; deps?: Partial<Deps> } = {},
) {
  const { files, configure, deps, ...driverOptions } = options
  const driver = createFakeDriver({ refuseAttachment, ...driverOptions })
  const app = await makeTestApp({ sandboxes: driver, configure: { model: testModel, ...configure }, ...deps })
  const { project, repo } = await app.managedProject(files)
  /** The path of the sessions of the project, of one session, or of an action on one. */
  const path = (sessionId?: string, verb?: string) => projectPath(project, 'sessions', sessionId, verb)
  const session = async (sessionId: string) => (await app.request<Session>('GET', path(sessionId))).body
  const reaches = (sessionId: string, status: Session['status']) =>
    until(`session ${sessionId} is ${status}`, async () => {
      const found = await session(sessionId)
      return found.status === status ? found : null
    })
  const create = (body: object = {}, more: TestRequest = {}) =>
    app.request<Session & { code?: string }>('POST', path(), { body, ...more })
  return {
    ...app,
    driver,
    project,
    repo,
    path,
    create,
    session,
    reaches,
    /** Creates a session and waits until it runs. */
    async running(body?: object, options?: TestRequest): Promise<RunningSession> {
      const made = await create(body, options)
      if (made.status !== 201) throw new Error(`The session was not made: ${made.status} ${made.text}`)
      const found = await reaches(made.body.session_id, 'running')
      // The row changes before this server attaches to the sandbox.
      await app.deps.sessions.reconcile(found.session_id)
      return { ...found, env: driver.seen(found.sandbox?.sandbox_id ?? '')?.spec.env ?? {} }
    },
    async close() {
      await app.close()
      await driver.close()
    },
  }
}

export interface SecondServer {
  deps: Deps
  driver: FakeDriver
  request: TestApp['request']
  close(): Promise<void>
}

/** Another server on the same database, with its own locks, and its own sandboxes unless they are given. */
export async function secondServer(
  app: SessionApp,
  options: FakeDriverOptions = {},
  replaced: Partial<Pick<Deps, 'heartbeat' | 'sandboxes'>> = {},
): Promise<SecondServer> {
  const driver = createFakeDriver({ refuseAttachment, ...options })
  const base = {
    ...app.deps,
    sandboxes: driver,
    ...replaced,
    redaction: new Redaction(),
    instanceId: randomUUID(),
    localLocks: new LocalLocks(),
    feed: new SessionFeed(),
    events: new EventNotifier(app.deps),
  }
  const second = await serve(withReconcilers(base))
  return {
    deps: second.deps,
    driver,
    request: (method, path, more) => second.request(method, path, { token: app.ownerToken, ...more }),
    async close() {
      await second.close()
      await driver.close()
    },
  }
}

/** Makes the server look dead for a minute, until `letLive`. */
export async function letDie(deps: Pick<Deps, 'db' | 'instanceId'>): Promise<void> {
  await updateRows(
    deps.db,
    'server_instances',
    { instance_id: deps.instanceId },
    { heartbeat_at: new Date(Date.now() - 60_000) },
  )
}

export type EventReader = ReturnType<typeof readEvents>

/** Reads the server-sent events of a session as a client does. `find` takes the first past or future event that fits. */
export function readEvents(response: Response) {
  return readInBackground(response, ({ event, data }) => {
    const parsed = JSON.parse(data) as SessionEvent
    if (event !== parsed.type) throw new Error(`The event is named ${event} and is a ${parsed.type}.`)
    return parsed
  })
}

/** Mints a token, and optionally expires or revokes it. */
export async function insertToken(app: TestApp, grant: Partial<TokenGrant>): Promise<string> {
  const { expires_at = null, revoked_at = null, ...rest } = grant
  const minted = await mintToken(app.deps, app.deps.db, {
    name: `test ${randomUUID()}`,
    user_id: app.owner.user_id,
    project_id: null,
    session_id: null,
    generation: null,
    ...rest,
    expires_at: null,
  })
  await app.deps.db
    .updateTable('tokens')
    .set({ expires_at, revoked_at })
    .where('token_id', '=', minted.token_id)
    .execute()
  return minted.secret_key
}

interface TokenGrant {
  user_id: string
  project_id: string
  session_id: string
  generation: number
  expires_at: Date
  revoked_at: Date
}
