/**
 * A git host that accepts every request and never responds, five hundred readers of a project on it, and one reader of another
 * project.
 */
import { once } from 'node:events'
import { join } from 'node:path'
import { commit, makeRepo, serveHttpBackend } from '../../packages/git/src/testing.ts'
import type { Server } from '../../test/e2e/harness.ts'
import { type Figure, median, percentile, timed } from '../report/figures.ts'
import { Client, othersRead } from './http.ts'
import { ignoreClosed } from '../../test/ignored.ts'

const readerCount = 500
/** The longest acceptable wait for stored data. */
const promisedMs = 2_000
/** The pause between a reader's requests: no shorter than for readers whose host hangs. */
const everyMs = 1_600
const turns = 4
const turnMs = 6_000

export async function hangingFigures(server: Server): Promise<Figure[]> {
  const origin = await makeRepo({ main: { 'README.md': 'hello\n' } })
  await commit(origin, 'work', { 'work.txt': 'work\n' })
  let isHanging = false
  let [inFlight, inFlightMax] = [0, 0]
  const host = await serveHttpBackend(origin.dir, {
    before: async (request) => {
      if (!isHanging) return
      inFlightMax = Math.max(inFlightMax, ++inFlight)
      await once(request.socket, 'close').catch(ignoreClosed)
      inFlight--
    },
  })
  const answering = await serveHttpBackend(origin.dir)
  try {
    const hung = new Client(server, await Client.project(server, { repo_url: host.url, name: 'hanging' }))
    const path = await hung.open({ base: 'main', head: 'work' })
    const healthy = new Client(server, await Client.project(server, { repo_url: answering.url, name: 'healthy' }))
    const healthyPath = await healthy.open({ base: 'main', head: 'work' })
    const other = await othersRead(server)
    // Alternates the cases, so that a slower machine slows all of them.
    const alone: number[] = []
    const besideHealthy: number[] = []
    const beside: number[] = []
    const waited: number[] = []
    for (let turn = 0; turn < turns; turn++) {
      await readFor(turnMs, other, alone)
      await Promise.all([readFor(turnMs, other, besideHealthy), readersOf(server, healthyPath)])
      isHanging = true
      const readers = readersOf(server, path)
      await Promise.all([readFor(turnMs, other, beside), readers.then((taken) => waited.push(...taken))])
      isHanging = false
    }
    const another = (what: string, of: (taken: number[]) => number): Figure[] => [
      {
        what: `another project's read beside them, ${what}`,
        ms: of(beside),
        floor: 'beside as many whose host answers',
        floorMs: of(besideHealthy),
      },
      { what: '', ms: of(beside), floor: 'beside nobody', floorMs: of(alone) },
    ]
    return [
      {
        what: `the slowest of ${readerCount} readers at once`,
        ms: percentile(waited, 100),
        floor: 'what is promised',
        floorMs: promisedMs,
        note: `${waited.length} reads, ${inFlightMax} questions to the host in flight at most`,
      },
      ...another('median', median),
      ...another('p99', (taken) => percentile(taken, 99)),
    ]
  } finally {
    await host.close()
    await answering.close()
    await origin.remove()
  }
}

async function readFor(ms: number, read: () => Promise<unknown>, taken: number[]): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end;) taken.push(await timed(read))
}

async function readersOf(server: Server, path: string): Promise<number[]> {
  const child = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, 'hanging-readers.ts'),
      server.url + path,
      server.token,
      String(readerCount),
      String(turnMs),
      String(everyMs),
    ],
    // Allows one connection per reader; the client's default limit is half of that.
    { stdout: 'pipe', env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: String(readerCount * 2) } },
  )
  const { taken, failed } = JSON.parse(await new Response(child.stdout).text()) as { taken: number[]; failed: number }
  if (failed > 0) throw new Error(`${failed} readers of the project whose host hangs were not answered.`)
  return taken
}
