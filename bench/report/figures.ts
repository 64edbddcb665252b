/**
 * Medians and a table: each figure beside its floor of the same run, because machines are shared and only ratios are
 * comparable.
 */

/** How often each figure is measured. */
export const rounds = (usual: number) => Number(process.env.BENCH_ROUNDS ?? usual)

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The value below which that percentage of the others lies. */
export function percentile(values: number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil((sorted.length * percent) / 100) - 1)]!
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

/** Runs several measurements in turn, so that a slower machine slows all of them. Returns the times of each in ms. */
export async function interleaved<Name extends string>(
  rounds: number,
  works: Record<Name, () => Promise<unknown>>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(works) as Name[]
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>
  for (const name of names) await works[name]()
  for (let round = 0; round < rounds; round++) for (const name of names) times[name].push(await timed(works[name]))
  return times
}

type Work = (round: number) => Promise<unknown>

/**
 * Alternates ours and its floor, so that both see the same noise; the first three rounds warm up. A function that ours returns
 * runs after the clock has stopped.
 */
export async function compare(
  what: string,
  rounds: number,
  { floor: [floor, runFloor], ours }: { floor: [string, Work]; ours: Work },
): Promise<Figure> {
  const times = { floor: [] as number[], ours: [] as number[] }
  for (let round = 0; round < rounds + 3; round++) {
    const floorMs = await timed(() => runFloor(round))
    let answer: unknown
    const oursMs = await timed(async () => (answer = await ours(round)))
    if (typeof answer === 'function') await (answer as () => Promise<unknown>)()
    if (round < 3) continue
    times.floor.push(floorMs)
    times.ours.push(oursMs)
  }
  return { what, ms: median(times.ours), floor, floorMs: median(times.floor) }
}

export interface Figure {
  what: string
  ms: number
  floor: string
  floorMs: number | null
  note?: string
}

export function printFigures(title: string, figures: Figure[]): void {
  const rows = figures.map(({ what, ms, floor, floorMs, note }) => [
    what,
    ms.toFixed(2),
    floor,
    floorMs === null ? '' : floorMs.toFixed(2),
    floorMs === null ? '' : `${(ms / floorMs).toFixed(2)} x`,
    note ?? '',
  ])
  const head = ['what', 'ms', 'floor', 'floor ms', 'ratio', '']
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]!.length)))
  const line = (cells: string[]) =>
    cells
      .map((cell, column) =>
        column === 0 || column === 2 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
      )
      .join('  ')
  console.log(`\n${title} (medians)`)
  console.log(line(head))
  console.log(widths.map((width) => '-'.repeat(width)).join('  '))
  for (const row of rows) console.log(line(row))
}
