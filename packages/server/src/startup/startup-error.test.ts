import { expect, test } from 'bun:test'
import { startupLine } from './startup-error.ts'

test('a database that does not answer during the start is one line for the operator', () => {
  const error = new Error('timeout exceeded when trying to connect')
  expect(startupLine(error, null)).toBe(
    'The database does not answer: timeout exceeded when trying to connect. Start again when it does.',
  )
  expect(startupLine(new Error('a bug'), null)).toBeNull()
})
