/** One story, from a session to a change request whose repository is damaged, by the lines that it leaves in the log. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { commit } from '@svc/git/testing'
import { makeLog } from '../log.ts'
import { projectPath } from '../test-app.ts'
import { makeSessionApp, type SessionApp } from '../sessions/testing.ts'

interface Line {
  level: number
  msg: string
  request_id?: string
  session_id?: string
  cr_id?: string
}

const lines: Line[] = []
let app: SessionApp
beforeAll(async () => {
  const log = makeLog(
    'json',
    (text) => text,
    (line) => void lines.push(JSON.parse(line) as Line),
  )
  app = await makeSessionApp({ deps: { log } })
}, 120_000)
afterAll(() => app.close())

test('every line that a request causes has its id, and those about a session or a change request have that', async () => {
  const session = await app.running()
  const running = lines.find(({ msg }) => msg === 'a session is running')
  // The sandbox boots after the answer.
  expect([running?.session_id, typeof running?.request_id]).toEqual([session.session_id, 'string'])

  await commit(app.repo, 'work', { 'a.txt': 'a\n' })
  const of = (id?: string, verb?: string) => projectPath(app.project, 'change-requests', id, verb)
  const body = { title: 'Work', head_ref: 'work', base_ref: 'main' }
  const { cr_id } = (await app.request<{ cr_id: string }>('POST', of(), { body })).body
  await rm(join(app.repo.dir, 'objects'), { recursive: true })
  const merged = await app.request('POST', of(cr_id, 'merge'))
  expect(merged.status).toBeGreaterThanOrEqual(400)
  const refused = lines.filter((line) => line.request_id === merged.headers.get('x-request-id'))
  expect(refused.length).toBeGreaterThan(0)
  for (const line of refused) expect(line).toMatchObject({ cr_id })

  const without = lines.filter(({ level, request_id }) => level >= 30 && typeof request_id !== 'string')
  expect(without).toEqual([])
}, 120_000)

test('a line outside of requests has no id of one', () => {
  const { log } = app.deps
  log.info('a job ran')
  expect(lines.at(-1)).not.toHaveProperty('request_id')
})
