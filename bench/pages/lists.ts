/** A list of five thousand change requests, half of them open, each with its own branch. */
import { type Figure, median } from '../report/figures.ts'
import { insertChangeRequests } from '../../test/e2e/large-fixtures.ts'
import type { Report } from './changes.ts'
import { firstPaint, forgetTasks, inputsMs, longTasks, memoryOf, profiled } from './probe.ts'
import { makeProject, type Project, type World } from './world.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const count = 5_000
const row = '[aria-label="Change requests"] li'

export async function lists(world: World): Promise<Report> {
  const { server, page } = world
  const few = await makeProject(server, 'few', { 'a.txt': 'a\n' })
  const many = await makeProject(server, 'many', { 'a.txt': 'a\n' })
  await insertChangeRequests(server, few.project, 10)
  await insertChangeRequests(server, many.project, count)
  const addressOf = ({ slug }: Project) => `${server.url}/projects/${slug}/change-requests?status=all`
  const paints = async (project: Project) => {
    const times: number[] = []
    for (let round = 0; round < rounds + 2; round++) times.push(await firstPaint(page, addressOf(project), row))
    return times.slice(2)
  }
  const what = `a list of ${count} change requests`
  const floorMs = median(await paints(few.project))
  const figures: Figure[] = [
    { what: `${what}: first paint`, ms: median(await paints(many.project)), floor: 'the same page, ten', floorMs },
  ]
  const remarks: string[] = []
  await forgetTasks(page)
  const scrolled = await profiled(page, 'list-scroll', () =>
    page.evaluate(() => window.probe.scroll(null, 700, `li[aria-posinset="${5000}"]`)),
  )
  const tasks = await longTasks(page)
  await page.getByRole('link', { name: '#1 Change 1', exact: true }).waitFor()
  figures.push({
    what: '  longest task while scrolling from top to bottom',
    ms: tasks.longestMs,
    floor: 'what is promised',
    floorMs: 100,
    note: `${tasks.count} over 50 ms`,
  })
  remarks.push(
    `${what}: ${scrolled.px.toFixed(0)} px in ${scrolled.frames} frames and ${(scrolled.ms / 1000).toFixed(1)} s with what was loaded on the way, the worst frame ${scrolled.worstFrameMs.toFixed(0)} ms; at most ${scrolled.nodesMax} elements in the document.`,
  )
  const { heapMiB, processMiB } = await memoryOf(page, world.whole)
  remarks.push(
    `${what}, all of it loaded: ${heapMiB.toFixed(0)} MiB of JavaScript, ${processMiB.toFixed(0)} MiB in the page's process.`,
  )
  await page.evaluate(() => scrollTo(0, 0))
  const filter = page.getByRole('searchbox')
  await filter.focus()
  await forgetTasks(page)
  const began = performance.now()
  await page.keyboard.type('Change 4711')
  await page.getByText('1 change request', { exact: true }).waitFor()
  figures.push({
    what: '  eleven letters in the filter to their row',
    ms: performance.now() - began,
    floor: '',
    floorMs: null,
  })
  figures.push({
    what: '  a letter in the filter to its frame',
    ms: await inputsMs(page),
    floor: 'a frame',
    floorMs: 1000 / 60,
    note: 'the slowest',
  })
  return { figures, remarks }
}
