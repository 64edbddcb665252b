/** Judges the figures of a run, and shows them. */
import { writeFile } from 'node:fs/promises'
import { median } from '../../../bench/report/figures.ts'
import { judge, type Verdict } from './judge.ts'
import { ruleOf } from './limits.ts'
import type { Pace } from './run.ts'
import type { Sample } from './sample.ts'

export interface SoakReport {
  minutes: number
  samples: Sample[]
  verdicts: Verdict[]
  done: Record<string, number>
  /** Until each next server was ready. */
  readyMs: number[]
  /** How much memory a server gains per minute of a life, after its first minute: the median over its lives. */
  growthInLife: number | null
  explained: Record<string, number>
  slowestLagMs: number
}

/** Figures of a server are young for so long after its start. */
const youngMs = 30_000

export function judgeSamples(samples: Sample[], pace: Pace): Verdict[] {
  const settled = samples.filter(({ atMs }) => atMs >= pace.warmUpMs)
  const names = new Set(settled.flatMap(({ figures }) => Object.keys(figures)))
  const work = (per: string) => (settled.at(-1)?.done[per] ?? 0) - (settled[0]?.done[per] ?? 0)
  return [...names].flatMap((name) => {
    const rule = ruleOf(name)
    if (rule === null) return []
    const isOfServer = /server|connections|lag/.test(name)
    const points = settled
      .filter(({ lifeMs }) => !isOfServer || lifeMs >= Math.min(youngMs, pace.restartMs / 4))
      .filter(({ figures }) => name in figures || / of |: /.test(name))
      .map(({ atMs, figures }) => ({ atMs, value: figures[name] ?? 0 }))
    const verdict = judge(name, points, rule, rule.is === 'kept' ? work(rule.per) : 0)
    return verdict === null ? [] : [verdict]
  })
}

export function growthInLife(samples: Sample[]): number | null {
  const lives: Sample[][] = []
  for (const sample of samples.filter(({ lifeMs }) => lifeMs > 60_000)) {
    const life = lives.at(-1)
    if (life !== undefined && life.at(-1)!.lifeMs < sample.lifeMs) life.push(sample)
    else lives.push([sample])
  }
  const gains = lives
    .filter((life) => life.length > 3)
    .map((life) => {
      const [first, last] = [life[0]!, life.at(-1)!]
      const memory = (sample: Sample) => sample.figures['memory: server'] ?? 0
      return (memory(last) - memory(first)) / ((last.atMs - first.atMs) / 60_000)
    })
  return gains.length === 0 ? null : median(gains)
}

/** One line of the run. */
export function lineOf({ atMs, figures, done }: Sample, finds: number): string {
  const of = (name: string) => Math.round(figures[name] ?? 0)
  const sum = (prefix: string) =>
    Object.entries(figures).reduce((all, [name, value]) => all + (name.startsWith(prefix) ? value : 0), 0)
  const parts = [
    `server ${of('memory: server')} MiB, ${of('handles: server')} handles, lag ${of('event loop lag')} ms`,
    `${of('processes')} processes, ${of('processes: daemon')} sandboxes`,
    `${sum('rows of ')} rows, ${Math.round(sum('disk of '))} MiB`,
    `${done.sessions ?? 0} sessions, ${done.commits ?? 0} commits, ${done.merges ?? 0} merges, ${done.firings ?? 0} firings`,
    `${finds} finds`,
  ]
  return `${(atMs / 60_000).toFixed(0).padStart(3)} min: ${parts.join('; ')}`
}

export function show(report: SoakReport): void {
  const rounded = (value: number) => Number(value.toFixed(value < 10 ? 1 : 0))
  console.table(
    report.verdicts
      .filter(({ first, last }) => first > 0 || last > 0)
      .toSorted((a, b) => Number(a.isFlat) - Number(b.isFlat) || b.growth / b.allowed - a.growth / a.allowed)
      .map(({ name, first, last, growth, allowed, isFlat }) => ({
        ...{ figure: name, first: rounded(first), last: rounded(last), growth: rounded(growth) },
        ...{ allowed: rounded(allowed), flat: isFlat ? 'yes' : 'NO' },
      })),
  )
  const done = Object.entries(report.done).map(([what, count]) => `${count} ${what}`)
  console.log(done.join(', '))
  const ready = report.readyMs.slice(1).toSorted((a, b) => a - b)
  const seconds = (ms: number | undefined) => ((ms ?? 0) / 1000).toFixed(1)
  console.log(`ready again after ${seconds(ready[ready.length >> 1])} s (median), ${seconds(ready.at(-1))} s at most`)
  console.log(`memory of the server within a life: ${report.growthInLife?.toFixed(1) ?? '?'} MiB a minute (median)`)
  console.log(`event loop lag: ${Math.round(report.slowestLagMs)} ms at most`)
  for (const [what, count] of Object.entries(report.explained)) console.log(`explained, ${count} times: ${what}`)
}

export async function writeReport(path: string, report: SoakReport & { problems: string[] }): Promise<void> {
  await writeFile(path, `${JSON.stringify(report)}\n`)
}
