import { expect, test } from 'bun:test'
import { GitError } from '../process/git.ts'
import { SharedAnswers } from './shared-results.ts'

const answers = (bytesMax: number) => new SharedAnswers<{ text: string }>(bytesMax, ({ text }) => text.length)

test('concurrent callers share one computation', async () => {
  const shared = answers(1000)
  const { promise, resolve } = Promise.withResolvers<{ text: string }>()
  let worked = 0
  const ask = () => shared.get('a', {}, () => (worked++, promise))
  const asking = Array.from({ length: 50 }, ask)
  resolve({ text: 'x' })
  expect(new Set((await Promise.all(asking)).map(({ text }) => text))).toEqual(new Set(['x']))
  await ask()
  expect(worked).toBe(1)
})

test('stays within its size limit by dropping the least recently used result', async () => {
  const shared = answers(100)
  let worked = 0
  const ask = (key: string, bytes = 40) => shared.get(key, {}, async () => (worked++, { text: 'x'.repeat(bytes) }))
  await ask('a')
  await ask('b')
  await ask('a')
  await ask('c')
  expect(worked).toBe(3)
  await ask('a')
  expect(worked).toBe(3)
  await ask('b')
  expect(worked).toBe(4)
  // Larger than all there may be: answered, and not kept.
  await ask('huge', 1000)
  await ask('huge', 1000)
  expect(worked).toBe(6)
})

test('an aborted caller leaves the computation to the others, and a failure is not cached', async () => {
  const shared = answers(100)
  const { promise, resolve } = Promise.withResolvers<{ text: string }>()
  const leaving = new AbortController()
  const left = shared.get('a', { signal: leaving.signal }, () => promise)
  const stayed = shared.get('a', {}, () => promise)
  leaving.abort(new Error('gone'))
  expect(await left.catch((error: Error) => error.message)).toBe('gone')
  resolve({ text: 'x' })
  expect(await stayed).toEqual({ text: 'x' })
  const failing = shared.get('b', {}, () => Promise.reject(new Error('no'))).catch((error: Error) => error.message)
  expect(await failing).toBe('no')
  expect(await shared.get('b', {}, async () => ({ text: 'y' }))).toEqual({ text: 'y' })
})

test('caches the refusal of an expensive computation for a while instead of starting it again', async () => {
  const shared = answers(100)
  let worked = 0
  const ask = (failure: 'limit' | 'output' | 'killed') =>
    shared
      .get(failure, {}, () => (worked++, Promise.reject(new GitError(failure, `ended by ${failure}`))))
      .catch((error: Error) => error.message)
  for (let n = 0; n < 3; n++) expect(await ask('limit')).toBe('ended by limit')
  expect(worked).toBe(1)
  for (let n = 0; n < 3; n++) expect(await ask('output')).toBe('ended by output')
  expect(worked).toBe(2)
  for (let n = 0; n < 2; n++) expect(await ask('killed')).toBe('ended by killed')
  expect(worked).toBe(4)
})
