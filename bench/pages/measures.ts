/** The measurements that all pages have: their paints, what scrolling costs, and their memory. */
import type { Page } from 'playwright-core'
import { type Figure, rounds } from '../report/figures.ts'
import { firstPaint, forgetTasks, longTasks, memoryOf, profiled, type Scrolled } from './probe.ts'
import type { World } from './world.ts'

export interface Report {
  figures: Figure[]
  remarks: string[]
}

const pageRounds = rounds(5)

/** The first two rounds fill the browser's cache with our scripts, as after a first visit. */
export async function paints(page: Page, address: string, selector: string): Promise<number[]> {
  const times: number[] = []
  for (let round = 0; round < pageRounds + 2; round++) times.push(await firstPaint(page, address, selector))
  return times.slice(2)
}

/** The longest task while `scroll` runs; with a name, profiled under it. */
export async function scrollFigure(
  page: Page,
  what: string,
  name: string | null,
  scroll: () => Promise<Scrolled>,
): Promise<{ figure: Figure; scrolled: Scrolled }> {
  await forgetTasks(page)
  const scrolled = name === null ? await scroll() : await profiled(page, name, scroll)
  const { count, longestMs } = await longTasks(page)
  const figure = { what, ms: longestMs, floor: 'what is promised', floorMs: 100, note: `${count} over 50 ms` }
  return { figure, scrolled }
}

export function scrollRemark(what: string, { px, frames, ms, worstFrameMs, nodesMax }: Scrolled, how = ''): string {
  return `${what}: ${px.toFixed(0)} px in ${frames} frames and ${(ms / 1000).toFixed(1)} s${how}, the worst frame ${worstFrameMs.toFixed(0)} ms; at most ${nodesMax} elements in the document.`
}

export async function memoryRemark(what: string, { page, whole }: World): Promise<string> {
  const { heapMiB, processMiB } = await memoryOf(page, whole)
  return `${what}: ${heapMiB.toFixed(0)} MiB of JavaScript, ${processMiB.toFixed(0)} MiB in the page's process.`
}

/** A key's way to the next paint. */
export const inputFigure = (what: string, ms: number): Figure => ({
  ...{ what, ms, floor: 'what is promised', floorMs: 100, note: 'the slowest' },
})
