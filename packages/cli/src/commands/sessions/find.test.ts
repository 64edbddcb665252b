import { expect, test } from 'bun:test'
import { aSession, ids, startService, svc } from '../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }

test('a session is found by its name, unless several have it', async () => {
  const [one, other] = [aSession({ name: 'Fix the parser' }), aSession({ session_id: ids.token, name: 'Other work' })]
  await using service = startService({ listSessions: () => [one, other], getSession: () => one })
  const found = await svc(['sessions', 'info', 'Fix the parser'], { service, env })
  expect([found.code, service.of('getSession')[0]?.params]).toEqual([
    0,
    { projectId: ids.project, sessionId: one.session_id },
  ])
  const none = await svc(['sessions', 'info', 'No such work'], { service, env })
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('No session matches "No such work"')])
  await using twice = startService({ listSessions: () => [one, { ...other, name: one.name }] })
  const both = await svc(['sessions', 'stop', 'Fix the parser'], { service: twice, env })
  expect([both.code, both.stderr]).toEqual([1, expect.stringContaining('2 sessions match "Fix the parser"')])
})
