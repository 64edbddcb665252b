import { beforeEach, expect, test } from 'bun:test'
import { JobTrouble } from './trouble.ts'

const clock = { ms: 0 }
let said: string[] = []
let trouble: JobTrouble
beforeEach(() => {
  said = []
  const hear = (fields: object, message: string) => {
    const { job, times, away_ms } = fields as { job?: string; times?: number; away_ms?: number }
    said.push([job, times, away_ms, message].filter((part) => part !== undefined).join(' '))
  }
  trouble = new JobTrouble({ info: hear as never, warn: hear as never }, () => clock.ms)
})

test('logs a failure once, again after a minute or when it changes, and when it ends', () => {
  for (let second = 0; second < 100; second++) {
    trouble.failed('sweep', new Error('no space'))
    clock.ms += 1_000
  }
  trouble.failed('sweep', new Error('no folder'))
  trouble.worked('sweep')
  trouble.worked('sweep')
  expect(said).toEqual([
    'sweep a job failed; retrying',
    'sweep 60 a job failed; retrying',
    'sweep a job failed; retrying',
    'sweep a failed job succeeded',
  ])
})

test('logs an unavailable database once for all jobs, and once when it is back', () => {
  const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' })
  for (let look = 0; look < 10; look++) {
    for (const job of ['fire', 'settle', 'send']) trouble.failed(job, away)
    // It needs no database, so it proves nothing.
    trouble.worked('read')
    clock.ms += 500
  }
  for (const job of ['settle', 'fire', 'send', 'read']) trouble.worked(job)
  expect(said).toEqual([
    'fire the database is unavailable; jobs retry until it is back',
    '5000 the database is available again',
  ])
})
