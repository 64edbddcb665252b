/** How a figure grows with n, by least squares. */

export type Asymptote = 'flat' | 'n' | 'n log n'

/** A figure that grows by less than this from the smallest to the largest n counts as flat: runs differ by as much. */
const flatGrowthMax = 1.5

const shapes: [Asymptote, (n: number) => number][] = [
  ['n', (n) => n],
  ['n log n', (n) => n * Math.log(n)],
]

/** `n` unless `n log n` fits clearly better: a few points hardly tell them apart. */
export function asymptoteOf(points: { n: number; value: number }[]): Asymptote {
  const values = points.map(({ value }) => value)
  if (Math.max(...values) <= flatGrowthMax * Math.max(values[0]!, Number.MIN_VALUE)) return 'flat'
  const [linear, logLinear] = shapes.map(([, shape]) => misfit(points, shape)) as [number, number]
  return logLinear < linear / 2 ? 'n log n' : 'n'
}

/** The squared error of the best `a + b * shape(n)`. */
function misfit(points: { n: number; value: number }[], shape: (n: number) => number): number {
  const xs = points.map(({ n }) => shape(n))
  const ys = points.map(({ value }) => value)
  const mean = (all: number[]) => all.reduce((sum, each) => sum + each, 0) / all.length
  const [meanX, meanY] = [mean(xs), mean(ys)]
  const covariance = xs.reduce((sum, x, i) => sum + (x - meanX) * (ys[i]! - meanY), 0)
  const variance = xs.reduce((sum, x) => sum + (x - meanX) ** 2, 0)
  const slope = variance === 0 ? 0 : covariance / variance
  return ys.reduce((sum, y, i) => sum + (y - meanY - slope * (xs[i]! - meanX)) ** 2, 0)
}
