/** A short run of `npm run torture -- soak`, and whether its judge sees what grows. */
import { afterAll, expect, test } from 'bun:test'
import { closeSync, openSync } from 'node:fs'
import { judge, type Point, type Rule } from './soak/judge.ts'
import { LogReader } from './soak/log.ts'
import { ownFigures } from './soak/processes.ts'
import { Outages } from './soak/run.ts'
import { soakServer } from './soak/soak-server.ts'
import { randomFrom } from './random.ts'

const random = randomFrom(7)
const flat: Rule = { is: 'flat', part: 0.15, least: 20 }
/** Fifty minutes in steps of fifteen seconds. */
const series = (valueAt: (minute: number) => number): Point[] =>
  Array.from({ length: 200 }, (_, n) => ({ atMs: n * 15_000, value: valueAt(n / 4) + 30 * (random() - 0.5) }))

const harmless: [string, (minute: number) => number][] = [
  ['noise', () => 300],
  ['a sawtooth that restarts cut', (minute) => 250 + 40 * (minute % 5)],
  ['a sawtooth that is cut in the middle', (minute) => 250 + 12 * (minute % 33)],
  ['one peak', (minute) => (minute > 20 && minute < 24 ? 900 : 300)],
  ['a decline', (minute) => 400 - 3 * minute],
]
test.each(harmless)('%s counts as flat', (_, valueAt) => {
  expect(judge('memory', series(valueAt), flat)!.isFlat).toBe(true)
})

const leaks: [string, (minute: number) => number][] = [
  ['a slow leak', (minute) => 300 + 2 * minute],
  ['a leak below a sawtooth', (minute) => 250 + 40 * (minute % 5) + 2 * minute],
  ['a leak with steps', (minute) => 300 + 40 * Math.floor(minute / 12)],
]
test.each(leaks)('%s is found', (_, valueAt) => {
  const verdict = judge('memory', series(valueAt), flat)!
  expect(verdict.isFlat).toBe(false)
  expect(verdict.growth).toBeGreaterThan(verdict.allowed)
})

test('what is kept may grow with the work that it comes from, and no faster', () => {
  const rule: Rule = { is: 'kept', because: 'one row for each merge', per: 'merges', most: 1.1 }
  const rows = series((minute) => 1000 + 20 * minute)
  expect(judge('rows', rows, rule, 1_000)!.isFlat).toBe(true)
  expect(judge('rows', rows, rule, 500)!.isFlat).toBe(false)
})

const opened: number[] = []
afterAll(() => opened.forEach(closeSync))

test('handles that a process leaves open are found', () => {
  const points = Array.from({ length: 40 }, (_, n): Point => {
    opened.push(openSync('/dev/null', 'r'))
    return { atMs: n * 15_000, value: ownFigures(process.pid).handles }
  })
  const handles: Rule = { is: 'flat', part: 0, least: 10 }
  expect(judge('handles', points, handles)!.isFlat).toBe(false)
  const steady = points.map(({ atMs }) => ({ atMs, value: ownFigures(process.pid).handles }))
  expect(judge('handles', steady, handles)!.isFlat).toBe(true)
})

test('an error in the log is found unless a restart explains it, also when it arrives in two parts', () => {
  const log = new LogReader()
  const outages = new Outages()
  outages.all.push({
    how: 'SIGKILL',
    fromMs: Date.parse('2026-01-01T00:05:00Z'),
    toMs: Date.parse('2026-01-01T00:05:04Z'),
  })
  const line = (time: string) => `${JSON.stringify({ level: 50, time, msg: 'it broke' })}\n`
  const [explained, found] = [line('2026-01-01T00:05:08Z'), line('2026-01-01T00:09:00Z')]
  log.hear(`${explained}${found.slice(0, 20)}`)
  log.hear(found.slice(20))
  log.hear('panic: the last words\n')
  expect(log.judge(outages)).toEqual({
    found: ['panic: the last words', found.trim()],
    explained: { 'it broke (a restart)': 1 },
  })
})

test('a server under a little of everything is stopped and killed, and agrees with itself and with its backup', async () => {
  const said: string[] = []
  const report = await soakServer({
    ...{ sessions: 2, seed: 3, say: (line) => said.push(line) },
    pace: {
      ...{ runMs: 24_000, warmUpMs: 4_000, sampleMs: 1_000, restartMs: 8_000, projectMs: 12_000, fireMs: 5_000 },
      pauseMs: { min: 100, max: 500 },
    },
  })
  // A run of seconds has no trend, and most of it is a restart, which explains what is logged. The hour judges both.
  const grown = report.verdicts.filter(({ isFlat }) => !isFlat).map(({ name }) => `${name} grew`)
  const leftToTheHour = ['in the log', ...grown]
  expect(report.problems.filter((problem) => !leftToTheHour.some((of) => problem.startsWith(of)))).toEqual([])
  expect(report.done).toMatchObject({ 'restarts after SIGTERM': 1, commits: expect.any(Number) })
  expect(said.map((line) => line.split(':')[0]).slice(-4)).toEqual([
    ...['svc self-host check', 'svc self-host backup', 'svc self-host restore', 'svc self-host check'],
  ])
}, 240_000)
