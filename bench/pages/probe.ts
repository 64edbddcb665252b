/** Runs in the page and measures paints, long tasks and the number of nodes. */
import type { CDPSession, Page } from 'playwright-core'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../../test/e2e/harness.ts'

interface Task {
  at: number
  ms: number
}

interface Probe {
  tasks: Task[]
  /** From a key or a click to the next frame that shows its effect. */
  inputs: number[]
  paintedAt: number | null
  /** Resolves in the frame after this condition holds. */
  watch(selector: string): void
  nodes(): number
  /** Scrolls the box of `selector` by this many pixels per frame until `isAtEnd` is visible. */
  scroll(selector: string | null, px: number, isAtEnd: string, framesMax?: number): Promise<Scrolled>
}

export interface Scrolled {
  ms: number
  frames: number
  /** The longest time between two frames. */
  worstFrameMs: number
  nodesMax: number
  px: number
}

declare global {
  interface Window {
    probe: Probe
  }
}

/** Injected into a document before its own scripts. Looks into shadow roots, where the diff viewer renders. */
function install(): void {
  const probe: Probe = {
    tasks: [],
    inputs: [],
    paintedAt: null,
    watch(selector) {
      probe.paintedAt = null
      const look = () => {
        if (find(document, selector) === null) requestAnimationFrame(look)
        else requestAnimationFrame(() => (probe.paintedAt = performance.now()))
      }
      requestAnimationFrame(look)
    },
    nodes: () => count(document),
    scroll: (selector, px, isAtEnd, framesMax = Infinity) =>
      new Promise((resolve) => {
        const box = scrollerOf(selector === null ? null : document.querySelector(selector))
        const began = performance.now()
        let [frames, worstFrameMs, nodesMax, last, moved, still] = [0, 0, 0, began, 0, 0]
        const step = () => {
          const now = performance.now()
          worstFrameMs = Math.max(worstFrameMs, now - last)
          last = now
          if (frames++ % 30 === 0) nodesMax = Math.max(nodesMax, count(document))
          const before = box.scrollTop
          box.scrollTop += px
          moved += Math.abs(box.scrollTop - before)
          // A list that loads more near its end does not scroll while it waits.
          still = box.scrollTop === before ? still + 1 : 0
          const isOver = still > 3 && (isAtEnd === '' || find(document, isAtEnd) !== null || still > 600)
          if (isOver || frames >= framesMax) resolve({ ms: now - began, frames, worstFrameMs, nodesMax, px: moved })
          else requestAnimationFrame(step)
        }
        requestAnimationFrame(step)
      }),
  }
  window.probe = probe
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) probe.tasks.push({ at: startTime, ms: duration })
  }).observe({ type: 'longtask', buffered: true })
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as (PerformanceEntry & { interactionId?: number })[])
      if (entry.name === 'keydown' || entry.name === 'input') probe.inputs.push(entry.duration)
  }).observe({ type: 'event', durationThreshold: 16, buffered: true } as PerformanceObserverInit)

  /** The scrolling box around an element, or the document. */
  function scrollerOf(element: Element | null): Element {
    if (element === null) return document.documentElement
    return getComputedStyle(element).overflowY === 'auto' ? element : scrollerOf(element.parentElement)
  }
  function find(root: Document | ShadowRoot, selector: string): Element | null {
    const [here = '', ...inside] = selector.split(' >>> ')
    if (inside.length === 0) return root.querySelector(here)
    for (const host of root.querySelectorAll(here)) {
      const found = host.shadowRoot === null ? null : find(host.shadowRoot, inside.join(' >>> '))
      if (found !== null) return found
    }
    return null
  }
  function count(root: Document | ShadowRoot): number {
    const all = root.querySelectorAll('*')
    let total = all.length
    for (const { shadowRoot } of all) if (shadowRoot !== null) total += count(shadowRoot)
    return total
  }
}

export const probeScript = `(${install.toString()})()`

/** From navigation to the frame that shows `selector`, in ms. */
export async function firstPaint(page: Page, address: string, selector: string): Promise<number> {
  await page.goto('about:blank')
  await page.goto(address, { waitUntil: 'commit' })
  await page.evaluate((wanted) => window.probe.watch(wanted), selector)
  return until(`${selector} to be painted`, () => page.evaluate(() => window.probe.paintedAt), 60_000)
}

/** Resets the counters for the next action. */
export async function forgetTasks(page: Page): Promise<void> {
  await page.evaluate(() => {
    window.probe.tasks.length = 0
    window.probe.inputs.length = 0
  })
}

export interface LongTasks {
  count: number
  longestMs: number
}

/** Tasks over 50 ms by the browser's count, since the last reset. */
export async function longTasks(page: Page): Promise<LongTasks> {
  const tasks = await page.evaluate(() => window.probe.tasks)
  return { count: tasks.length, longestMs: Math.max(0, ...tasks.map(({ ms }) => ms)) }
}

/**
 * The slowest key press since the last reset, to the frame that shows its effect. The browser reports none below 16 ms, so that
 * is the minimum.
 */
export async function inputsMs(page: Page): Promise<number> {
  return Math.max(16, ...(await page.evaluate(() => window.probe.inputs)))
}

export interface Memory {
  /** The JavaScript heap after a garbage collection. */
  heapMiB: number
  /** The page's process with its workers; shared pages are divided by the number of sharers. */
  processMiB: number
}

export async function memoryOf(page: Page, browserSession: CDPSession): Promise<Memory> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await session.detach()
  const { processInfo } = await browserSession.send('SystemInfo.getProcessInfo')
  const sizes = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => proportionalKiB(id))
  return { heapMiB: usedSize / 1024 ** 2, processMiB: Math.max(0, ...sizes) / 1024 }
}

function proportionalKiB(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0)
  } catch {
    // The process has ended.
    return 0
  }
}

const profileDir = process.env.BENCH_PROFILE

/** `BENCH_PROFILE=<folder>` writes a CPU profile there, for the browser's developer tools. */
export async function profiled<T>(page: Page, name: string, work: () => Promise<T>): Promise<T> {
  if (profileDir === undefined) return work()
  const session = await page.context().newCDPSession(page)
  await session.send('Profiler.enable')
  await session.send('Profiler.setSamplingInterval', { interval: 500 })
  await session.send('Profiler.start')
  try {
    return await work()
  } finally {
    const { profile } = await session.send('Profiler.stop')
    writeFileSync(join(profileDir, `${name}.cpuprofile`), JSON.stringify(profile))
    await session.detach()
  }
}
