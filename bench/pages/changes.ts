/** The diff of a very long file, and of very many files. */
import { longFile, manyFiles } from '../../test/e2e/large-fixtures.ts'
import { type Figure, median, rounds } from '../report/figures.ts'
import { inputFigure, memoryRemark, paints, type Report, scrollFigure, scrollRemark } from './measures.ts'
import { firstPaint, forgetTasks, inputsMs, longTasks, profiled } from './probe.ts'
import { type Files, makeProject, openChange, type Project, type World } from './world.ts'

const lineCount = 10_000
const fileCount = 3_000
const firstLine = 'diffs-container >>> [data-line]'
/** 7,200 px a second at sixty frames: faster than reading, but a finger scrolls that fast. */
const wheelPx = 120
const scroller = 'diffs-container'

export async function changes(world: World): Promise<Report> {
  const { server } = world
  const { project, clone } = await makeProject(server, 'changes', {
    'long.ts': longFile('was', lineCount),
    ...manyFiles('was', fileCount),
  })
  const open = (branch: string, files: Files) => openChange({ server, project, clone }, branch, files)
  const small = await open('small', { 'long.ts': longFile('was', lineCount).replace('was 7', 'is 7') })
  const long = await open('long', { 'long.ts': longFile('is', lineCount) })
  const many = await open('many', manyFiles('is', fileCount))
  const report: Report = { figures: [], remarks: [] }
  const floor = [
    'the same page, one line changed',
    median(await paints(world.page, addressOf(world, project, small), firstLine)),
  ] as const
  await measure(world, report, floor, { project, number: long, what: `a file of ${lineCount} changed lines` })
  await measure(world, report, floor, { project, number: many, what: `${fileCount} changed files` })
  return report
}

const addressOf = (world: World, project: Project, number: number) =>
  `${world.server.url}/projects/${project.slug}/change-requests/${number}?tab=files`

async function measure(
  world: World,
  { figures, remarks }: Report,
  [floor, floorMs]: readonly [string, number],
  { project, number, what }: { project: Project; number: number; what: string },
): Promise<void> {
  const { page } = world
  const name = what.replaceAll(' ', '-')
  const address = addressOf(world, project, number)
  const painted = await paints(page, address, firstLine)
  figures.push({ what: `${what}: first paint of the diff`, ms: median(painted), floor, floorMs })
  await profiled(page, `${name}-first`, () => paints(page, address, firstLine))
  const atStart = await longTasks(page)
  const fetched = await fetchAlone(world, project, number)
  figures.push({
    what: '  of that, the diff alone by the same browser',
    ms: fetched.ms,
    floor: '',
    floorMs: null,
    note: `${(fetched.bytes / 1e6).toFixed(1)} MB`,
  })
  remarks.push(`${what}: ${atStart.count} long tasks before it stands, the longest ${atStart.longestMs.toFixed(0)} ms.`)

  const byWheel = await scrollFigure(
    page,
    `  longest task while scrolling by a fast wheel, ${wheelPx} px a frame`,
    `${name}-wheel`,
    () => page.evaluate(([box, px]) => window.probe.scroll(box, px, '', 400), [scroller, wheelPx] as const),
  )
  await page.goto(address)
  await firstPaint(page, address, firstLine)
  const whole = await scrollFigure(page, '  the same from top to bottom, a window a frame', `${name}-scroll`, () =>
    page.evaluate((box) => window.probe.scroll(box, 700, ''), scroller),
  )
  figures.push(byWheel.figure, whole.figure)
  remarks.push(scrollRemark(what, whole.scrolled), await memoryRemark(what, world))
  figures.push(...(await measureKeys(world, project, number, name)))
}

/** Keys of the diff, then letters in the filter of its files. */
async function measureKeys(world: World, project: Project, number: number, name: string): Promise<Figure[]> {
  const { page } = world
  await page.goto(addressOf(world, project, number))
  await page.getByRole('searchbox', { name: 'Filter files' }).waitFor()
  await firstPaint(page, addressOf(world, project, number), firstLine)
  const byKey = await keys(
    page,
    `${name}-keys`,
    ['j', 'j', 'j', 'n', 'n', 'v', 'n', 'v', 'k', 'k'],
    '  a key to its frame',
  )
  await page.getByRole('searchbox', { name: 'Filter files' }).focus()
  const letters = ['1', '7', 'Backspace', 'Backspace', 'x', 'Backspace']
  return [byKey, await keys(page, `${name}-filter`, letters, '  a letter in the filter to its frame')]
}

async function keys(page: World['page'], name: string, pressed: string[], what: string): Promise<Figure> {
  await forgetTasks(page)
  await profiled(page, name, async () => {
    for (const key of pressed) {
      await page.keyboard.press(key)
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
    }
  })
  return inputFigure(what, await inputsMs(page))
}

/** The page's minimum: the response it shows, fetched and parsed. */
async function fetchAlone(world: World, project: Project, number: number): Promise<{ ms: number; bytes: number }> {
  const { page } = world
  const base = `/v1/projects/${project.project_id}/change-requests`
  const times: number[] = []
  let bytes = 0
  for (let round = 0; round < rounds(5); round++) {
    const one = await page.evaluate(
      async ([base, number]) => {
        const listed = await fetch(`${base}?number=${number}`)
        const { change_requests } = (await listed.json()) as { change_requests: { cr_id: string }[] }
        const began = performance.now()
        const text = await (await fetch(`${base}/${change_requests[0]!.cr_id}/diff?renames=1`)).text()
        JSON.parse(text)
        return { ms: performance.now() - began, bytes: text.length }
      },
      [base, number] as const,
    )
    times.push(one.ms)
    bytes = one.bytes
  }
  return { ms: median(times), bytes }
}
