/**
 * Measures a first visit: the code of the first page, the requests before the first paint, and that paint. With
 * `BENCH_BEFORE=<dist/svc of another commit>` the first paints of both versions are compared, measured alternately.
 */
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { Server, until } from '../../test/e2e/harness.ts'
import { signInTo } from '../../test/e2e/page-story.ts'
import { type Figure, median, rounds } from '../report/figures.ts'
import type { Report } from './measures.ts'
import { makeProject, openChange, type Project, type World } from './world.ts'

const kilobytesMax = 200
const requestsMax = 3
const paintRounds = rounds(9)

interface Version {
  url: string
  project: Project
}

export async function first(world: World): Promise<Report> {
  const { page } = world
  const program = process.env.BENCH_BEFORE
  const ours = await fill(world.server)
  const figures: Figure[] = [
    await codeFigure(page, ours),
    ...(await requestFigures(page, ours)),
    ...(program === undefined ? [] : await compared(world, ours, program)),
  ]
  const remarks = program === undefined ? ['BENCH_BEFORE is not set, so no first paint was compared.'] : []
  return { figures, remarks }
}

async function fill(server: Server): Promise<Version> {
  const { project, clone } = await makeProject(server, 'first', { 'a.txt': 'a\n' })
  await openChange({ server, project, clone }, 'work', { 'a.txt': 'b\n' })
  return { url: server.url, project }
}

const pages = (version: Version) =>
  [
    ['home', `${version.url}/`],
    ['a change request', `${version.url}/projects/${version.project.slug}/change-requests/1`],
  ] as const

/** Counts the code that the browser compiles for the home page, as the service sends it. */
async function codeFigure(page: Page, { url }: Version): Promise<Figure> {
  const bodies: Promise<Buffer>[] = []
  const take = (response: { url(): string; body(): Promise<Buffer> }) => {
    if (new URL(response.url()).pathname.endsWith('.js')) bodies.push(response.body())
  }
  page.on('response', take)
  await contentfulPaint(page, `${url}/`)
  await page.waitForLoadState('networkidle')
  page.off('response', take)
  const bytes = (await Promise.all(bodies)).reduce((sum, body) => sum + gzipSync(body).length, 0)
  const floor = `${kilobytesMax} KB`
  return { what: 'JavaScript of the home page, KB gzipped', ms: bytes / 1000, floor, floorMs: kilobytesMax }
}

async function requestFigures(page: Page, version: Version): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [name, address] of pages(version)) {
    await contentfulPaint(page, address)
    const count = await page.evaluate(() => {
      const painted = performance.getEntriesByName('first-contentful-paint')[0]!.startTime
      const sent = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
      return sent.filter(({ name, responseEnd }) => name.includes('/v1/') && responseEnd < painted).length
    })
    const floor = `${requestsMax} requests`
    figures.push({ what: `${name}: requests answered before its first paint`, ms: count, floor, floorMs: requestsMax })
  }
  return figures
}

/** Both versions and a blank page in turn. The ratio is that of what both take beyond the blank page. */
async function compared(world: World, ours: Version, program: string): Promise<Figure[]> {
  const other = await Server.start({}, ['/bin/sh', '-c', 'shift; exec "$0" "$@"', program], { fromNothing: true })
  const context = await world.browser.newContext({ viewport: { width: 1280, height: 800 } })
  try {
    const before = await fill(other)
    const page = await context.newPage()
    await signInTo(other, page)
    const [now, earlier] = [pages(ours), pages(before)]
    const figures: Figure[] = []
    for (const [at, [name, address]] of now.entries()) {
      const times = { blank: [] as number[], ours: [] as number[], before: [] as number[] }
      // The first two rounds fill the caches of the browser with our scripts, as after a first visit.
      for (let round = 0; round < paintRounds + 2; round++) {
        const each = {
          blank: await blankPaint(page, other.url),
          ours: await contentfulPaint(world.page, address),
          before: await contentfulPaint(page, earlier[at]![1]),
        }
        if (round > 1) for (const key of ['blank', 'ours', 'before'] as const) times[key].push(each[key])
      }
      const blank = median(times.blank)
      figures.push({
        what: `${name}: first paint beyond a blank page`,
        ms: median(times.ours) - blank,
        floor: 'BENCH_BEFORE, beyond the same',
        floorMs: median(times.before) - blank,
        note: `a blank page takes ${blank.toFixed(0)} ms`,
      })
    }
    return figures
  } finally {
    await context.close()
    await other.end()
  }
}

async function contentfulPaint(page: Page, address: string): Promise<number> {
  await page.goto('about:blank')
  await page.goto(address, { waitUntil: 'commit' })
  return until(`${address} to be painted`, () =>
    page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null),
  )
}

async function blankPaint(page: Page, url: string): Promise<number> {
  const address = `${url}/blank-page`
  await page.route(address, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html><p>Blank' }))
  return contentfulPaint(page, address)
}
