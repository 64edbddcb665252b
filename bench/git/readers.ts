/** Fifty who read one project at once, each again as soon as it is answered. */
import { type Figure, timed } from '../report/figures.ts'

const readerCount = 50

export interface Readers {
  read: () => Promise<unknown>
  floor: string
  process: () => Promise<unknown>
  /** Of a project behind a host. */
  host?: { ask: () => Promise<unknown>; questions: () => Promise<number>; managed: () => Promise<unknown> }
}

export async function readerFigures({ read, floor, process, host }: Readers): Promise<Figure[]> {
  await perAnswer(readsBefore, read)
  const before = (await host?.questions()) ?? 0
  const slices: number[] = []
  const floors: number[] = []
  // By turns, so that a machine that slows down slows both.
  for (let turn = 0; turn < turns; turn++) {
    floors.push(await perAnswer(processes / turns, process))
    slices.push(await perAnswer(reads / turns, read))
  }
  const [ms, floorMs] = [mean(slices), mean(floors)]
  // Each process asks the host as well: once for what it speaks, and once for the branches.
  const asked = ((await host?.questions()) ?? 0) - before - 2 * processes
  const note = `${Math.round(1000 / ms)} reads a second, ${(floorMs / ms).toFixed(0)} times as many`
  const figure = { what: `${readerCount} readers, a read each`, ms, floor, floorMs }
  if (host === undefined) return [{ ...figure, note }]
  return [
    { ...figure, note: `${note}, ${(reads / asked).toFixed(0)} reads a question to the host` },
    await overTheLeast(ms, floorMs, host),
  ]
}

/** A server that just started interprets what one that runs has compiled. */
const readsBefore = 8_000
const reads = 4_000
const processes = 200
const turns = 4

const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * An answer is never older than its request, and a reader has one request at a time. So of fifty reads at least one
 * costs the host a question, and host, server and readers share this machine: less than this it cannot be.
 */
async function overTheLeast(
  ms: number,
  processMs: number,
  { ask, managed }: NonNullable<Readers['host']>,
): Promise<Figure> {
  await perAnswer(readsBefore, managed)
  const [questionMs, managedMs] = [await perAnswer(200, ask), await perAnswer(reads, managed)]
  const floorMs = managedMs + questionMs / readerCount
  return {
    what: '  the same, over the least there is',
    ms,
    floor: `a managed read + 1/${readerCount} of a question to the host`,
    floorMs,
    note: `a question takes the machine ${questionMs.toFixed(1)} ms; at most ${(processMs / floorMs).toFixed(0)} times as many`,
  }
}

/** What one answer costs in time of the wall. */
async function perAnswer(count: number, ask: () => Promise<unknown>): Promise<number> {
  let left = count
  const reader = async () => {
    while (left-- > 0) await ask()
  }
  return (await timed(() => Promise.all(Array.from({ length: readerCount }, reader)))) / count
}
