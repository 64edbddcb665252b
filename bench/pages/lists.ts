/** A list of five thousand open change requests, each with its own branch. */
import { median } from '../report/figures.ts'
import { insertChangeRequests } from '../../test/e2e/large-fixtures.ts'
import { inputFigure, memoryRemark, paints, type Report, scrollFigure, scrollRemark } from './measures.ts'
import { forgetTasks, inputsMs } from './probe.ts'
import { makeProject, type Project, type World } from './world.ts'

const count = 5_000
const fewCount = 50
const row = '[aria-label="Change requests"] li'

export async function lists(world: World): Promise<Report> {
  const { server, page } = world
  const few = await makeProject(server, 'few', { 'a.txt': 'a\n' })
  const many = await makeProject(server, 'many', { 'a.txt': 'a\n' })
  await insertChangeRequests(server, few.project, fewCount, { areOpen: true })
  await insertChangeRequests(server, many.project, count, { areOpen: true })
  const addressOf = ({ slug }: Project) => `${server.url}/projects/${slug}/change-requests?status=open`
  const what = `a list of ${count} open change requests`
  const floorMs = median(await paints(page, addressOf(few.project), row))
  const ms = median(await paints(page, addressOf(many.project), row))
  const { figure, scrolled } = await scrollFigure(
    page,
    '  longest task while scrolling from top to bottom',
    'list-scroll',
    () => page.evaluate(() => window.probe.scroll(null, 700, `li[aria-posinset="${5000}"]`)),
  )
  await page.getByRole('link', { name: 'Change 1 #1', exact: true }).waitFor()
  const remarks = [
    scrollRemark(what, scrolled, ' with what was loaded on the way'),
    await memoryRemark(`${what}, all of it loaded`, world),
  ]
  await page.evaluate(() => scrollTo(0, 0))
  const filter = page.getByRole('searchbox')
  await filter.focus()
  await forgetTasks(page)
  const began = performance.now()
  await page.keyboard.type('Change 4711')
  await page.getByText('1 change request', { exact: true }).waitFor()
  const filteredMs = performance.now() - began
  return {
    figures: [
      { what: `${what}: first rows`, ms, floor: `the same page, ${fewCount}`, floorMs },
      figure,
      { what: '  eleven letters in the filter to their row', ms: filteredMs, floor: '', floorMs: null },
      inputFigure('  a letter in the filter to its frame', await inputsMs(page)),
    ],
    remarks,
  }
}
