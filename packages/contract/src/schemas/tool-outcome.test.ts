import { expect, test } from 'bun:test'
import { toolOutcome } from './tool-outcome.ts'

test.each([
  [{ status: 'running' }, '…', ''],
  [{ status: 'completed' }, '✓', ''],
  [{ status: 'completed', exit_code: 0 }, '✓', ''],
  [{ status: 'completed', exit_code: 2 }, '✗', 'exit 2'],
  [{ status: 'completed', exit_code: null }, '✗', 'killed'],
  [{ status: 'error' }, '✗', ''],
] as const)('a tool call with %j shows %s %s', (part, mark, note) => {
  expect(toolOutcome(part)).toEqual({ mark, note, hasFailed: mark === '✗' })
})
