import { expect, test } from 'bun:test'
import { beginSessions, reconcileSessions } from './jobs.ts'
import { makeSessionApp } from './testing.ts'

test('a database that is away while a server begins its work does not end the server', async () => {
  const { deps, close } = await makeSessionApp()
  await close()
  const errors: unknown[] = []
  const log = { ...deps.log, error: (facts: { err: unknown }) => errors.push(facts.err) } as never
  expect(reconcileSessions(deps)).rejects.toThrow()
  await beginSessions({ ...deps, log })
  expect(errors).toHaveLength(1)
})
