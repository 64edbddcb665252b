import { expect, test } from 'bun:test'
import { durationText, planIn, toolOutcome, toolTarget } from './tool-outcome.ts'

const timeout = 'shell tool terminated command after exceeding timeout 120000 ms.'

test.each([
  [{ status: 'running' }, '…', ''],
  [{ status: 'completed' }, '✓', ''],
  [{ status: 'completed', exit_code: 0 }, '✓', ''],
  [{ status: 'completed', exit_code: 2 }, '✗', 'exit 2'],
  [{ status: 'completed', exit_code: null }, '✗', 'killed'],
  [{ status: 'completed', exit_code: null, output: timeout }, '✗', 'timed out'],
  [{ status: 'error' }, '✗', ''],
] as const)('a tool call with %j shows %s %s', (part, mark, note) => {
  expect(toolOutcome({ output: '', ...part })).toEqual({ mark, note, hasFailed: mark === '✗' })
})

test('a call without a result was interrupted once its turn is over', () => {
  const outcome = toolOutcome({ status: 'running', output: '' }, { isOver: true })
  expect(outcome).toEqual({ mark: '✗', hasFailed: true, note: 'interrupted' })
})

test.each([
  ['Runs the tests', '{"command":"npm test"}', 'Runs the tests'],
  ['', '{"description":"Runs the tests","command":"npm test"}', 'npm test'],
  ['', '{"command":"(cd src && npm test\\n)"}', 'cd src && npm test'],
  ['', '{"command":"(make || exit 2\\n)\\necho $?"}', 'make || exit 2\necho $?'],
  ['(cd src; npm test)', '{}', '(cd src; npm test)'],
  ['', '{"offset":3,"filePath":"src/a.ts"}', 'src/a.ts'],
  ['', '{"todos":[]}', '{"todos":[]}'],
  ['', '{}', ''],
  ['', '{"comm', '{"comm'],
] as const)('a tool call with the title %j and the input %j is about %j', (title, input, target) => {
  expect(toolTarget({ title, input })).toBe(target)
})

test('the plan is the input of the to-do tool', () => {
  const todos = [
    { content: 'Read', status: 'completed' },
    { content: 'Write', status: 'in_progress' },
    { content: 'Check', status: 'pending' },
    { status: 'pending' },
    'no item',
  ]
  const call = { tool: 'todowrite', status: 'completed', input: JSON.stringify({ todos }) } as const
  expect(planIn(call)).toEqual([
    { text: 'Read', state: 'done' },
    { text: 'Write', state: 'active' },
    { text: 'Check', state: 'pending' },
  ])
  expect(planIn({ ...call, tool: 'bash' })).toBeNull()
  expect(planIn({ ...call, status: 'error' })).toBeNull()
  expect(planIn({ ...call, input: '{"todos":' })).toBeNull()
})

test.each([
  [0, '0 ms'],
  [99.4, '99 ms'],
  [340, '0.3 s'],
  [9_949, '9.9 s'],
  [9_960, '10 s'],
  [125_000, '2 min 5 s'],
  [3_720_000, '1 h 2 min'],
])('%d ms are %s', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})
