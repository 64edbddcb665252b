/** Fifty concurrent readers of one project. Each reads again as soon as its response arrives. */
import { type Figure, timed } from '../report/figures.ts'

const readerCount = 50

export interface Readers {
  read: () => Promise<unknown>
  floor: string
  process: () => Promise<unknown>
  /** A project on an external host. */
  host?: { ask: () => Promise<unknown>; questions: () => Promise<number>; managed: () => Promise<unknown> }
}

export async function readerFigures({ read, floor, process, host }: Readers): Promise<Figure[]> {
  await perAnswer(readsBefore, read)
  const before = (await host?.questions()) ?? 0
  const slices: number[] = []
  const floors: number[] = []
  // Alternates the cases, so that a slower machine slows both.
  for (let turn = 0; turn < turns; turn++) {
    floors.push(await perAnswer(processes / turns, process))
    slices.push(await perAnswer(reads / turns, read))
  }
  const [ms, floorMs] = [mean(slices), mean(floors)]
  // Each process asks the host twice: for its protocol version and for the branches.
  const asked = ((await host?.questions()) ?? 0) - before - 2 * processes
  const note = `${Math.round(1000 / ms)} reads a second, ${(floorMs / ms).toFixed(0)} times as many`
  const figure = { what: `${readerCount} readers, a read each`, ms, floor, floorMs }
  if (host === undefined) return [{ ...figure, note }]
  return [
    { ...figure, note: `${note}, ${(reads / asked).toFixed(0)} reads a question to the host` },
    await overTheLeast(ms, floorMs, host),
  ]
}

/** A new server still interprets code that it compiles later. */
const readsBefore = 8_000
const reads = 4_000
const processes = 200
const turns = 4

const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * A response is never older than its request, and a reader has one request at a time, so at least one in fifty reads costs the
 * host a request. Host, server and readers share this machine, which makes this the floor.
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

/** Wall time of one response. */
async function perAnswer(count: number, ask: () => Promise<unknown>): Promise<number> {
  let left = count
  const reader = async () => {
    while (left-- > 0) await ask()
  }
  return (await timed(() => Promise.all(Array.from({ length: readerCount }, reader)))) / count
}
