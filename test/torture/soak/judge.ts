/** Whether a figure stays flat over a run, or grows no faster than the work that it comes from. */
import { median } from '../../../bench/report/figures.ts'

export interface Point {
  atMs: number
  value: number
}

export type Rule =
  /** Allowed growth: this part of the value at the beginning, and at least so much. */
  | { is: 'flat'; part: number; least: number }
  /** Growth that is meant: at most so much for each unit of work, which `per` names. */
  | { is: 'kept'; because: string; per: string; most: number }

export interface Verdict {
  name: string
  /** Medians of the first and the last third. */
  first: number
  last: number
  growth: number
  allowed: number
  isFlat: boolean
}

/** Too few for a trend. */
export const pointsMin = 9

/**
 * Growth is what two measures agree on: the slope of Theil and Sen over the whole time, which a few outliers cannot move, and the
 * difference of the medians of the first and the last third. A sawtooth that is cut in the middle of a tooth moves only one of
 * them much. `work` is how often what a `kept` figure comes from happened in that time.
 */
export function judge(name: string, points: readonly Point[], rule: Rule, work = 0): Verdict | null {
  if (points.length < pointsMin) return null
  const third = Math.floor(points.length / 3)
  const first = median(points.slice(0, third).map(({ value }) => value))
  const last = median(points.slice(-third).map(({ value }) => value))
  const spanMs = points.at(-1)!.atMs - points[0]!.atMs
  const growth = Math.max(0, Math.min(slopeOf(points) * spanMs, last - first))
  const allowed = rule.is === 'flat' ? Math.max(rule.least, rule.part * first) : rule.most * work
  return { name, first, last, growth, allowed, isFlat: growth <= allowed }
}

/** The median of the slopes between all pairs of points, per millisecond. */
export function slopeOf(points: readonly Point[]): number {
  const slopes: number[] = []
  for (const [n, from] of points.entries())
    for (const to of points.slice(n + 1))
      if (to.atMs > from.atMs) slopes.push((to.value - from.value) / (to.atMs - from.atMs))
  return slopes.length === 0 ? 0 : median(slopes)
}
