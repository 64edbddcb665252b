/** A home that restarts while a project leaves it: no sandbox ends before this server has saved its work. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { insertRow, updateRows } from '../../db/rows.ts'
import { getProjectOrDeleted } from '../../projects/store.ts'
import {
  letDie,
  makeSessionApp,
  secondServer,
  type SecondServer,
  type SessionApp,
  until,
} from '../../sessions/testing.ts'
import { handOver } from './source.ts'
import { activeMoveOf, insertMove } from './store.ts'

setDefaultTimeout(120_000)

let app: SessionApp
let target: Bun.Server<undefined>
beforeAll(async () => {
  app = await makeSessionApp({ outlives: true, deps: { serverName: 'ada', home: 'ada' } })
  await updateRows(app.deps.db, 'projects', {}, { home: 'ada' })
  // It answers as a server of an earlier version, which proves no name.
  target = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
  const peer_url = `http://127.0.0.1:${target.port}`
  for (const [server_name, url] of [
    ['ada', 'http://127.0.0.1:9'],
    ['bob', peer_url],
  ] as const)
    await insertRow(app.deps.db, 'servers', { server_name, data_folder: randomUUID(), peer_url: url })
  await insertRow(app.deps.db, 'server_instances', {
    ...{ instance_id: randomUUID(), data_folder: randomUUID(), server_name: 'bob', peer_url },
    heartbeat_at: new Date(Date.now() + 3_600_000).toISOString(),
  })
})
afterAll(async () => {
  await target.stop(true)
  await app.close()
})

const moveOf = async () => (await activeMoveOf(app.deps.db, app.project.project_id))!
const projectNow = async () => (await getProjectOrDeleted(app.deps.db, app.project.project_id))!
const homeState = async () => (await projectNow()).home_state

/** As after a kill in the middle of the hand-over. */
async function restartedWhileClosing(): Promise<SecondServer> {
  const { project_id, home_epoch } = await projectNow()
  const move = { move_id: randomUUID(), project_id, from_server: 'ada', to_server: 'bob', home_epoch }
  await insertMove(app.deps.db, { ...move, cause: 'request', phase: 'copied' })
  await updateRows(app.deps.db, 'projects', { project_id }, { home_state: 'closing' })
  await app.deps.sessions.close({ endsSandboxes: false })
  await letDie(app.deps)
  return secondServer(app, {}, { sandboxes: app.deps.sandboxes })
}

test('a home that restarts takes its sandboxes over before the move goes on, and saves their work', async () => {
  const { session_id: sessionId, sandbox } = await app.running()
  const next = await restartedWhileClosing()
  try {
    app.driver.options.answerMs = 3_600_000
    await handOver(next.deps, await moveOf())
    expect(await homeState()).toBe('open')
    await handOver(next.deps, await moveOf())
    expect((await moveOf()).waits_for).toEndWith('is not connected to its sandbox yet.')
    expect(await homeState()).toBe('open')
    expect(await app.driver.find(sandbox!.sandbox_id)).not.toBeNull()
    delete app.driver.options.answerMs
    await until('the sandbox is taken over', () => next.deps.sessions.wipOf(sessionId) !== null)
    const asked: string[] = []
    app.driver.options.around = (path, answer) => {
      asked.push(path)
      return answer()
    }
    await handOver(next.deps, await moveOf())
    expect(asked).toContain('/svc/wip')
    expect(await homeState()).toBe('frozen')
    expect(await app.driver.find(sandbox!.sandbox_id)).toBeNull()
  } finally {
    await next.close()
  }
})
