/** The setup of the stories in the browser: a server, a signed-in page that records its errors, and an agent that plays a script. */
import { expect } from 'bun:test'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { root, Server, until } from './harness.ts'

/** Where the pictures go, to be looked at. */
export const pictures = join(root, 'dist/screens')

export interface PageStory {
  server: Server
  browser: Browser
  page: Page
  /** The errors of the page and the violations of its policy. */
  complaints: string[]
  end(): Promise<void>
}

export async function beginPageStory(
  env: Record<string, string> = {},
  options: BrowserContextOptions = {},
): Promise<PageStory> {
  await mkdir(pictures, { recursive: true })
  const server = await Server.start(env)
  const browser = await openBrowser()
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  const complaints = listenForComplaints(page)
  await signInTo(server, page)
  return {
    server,
    browser,
    page,
    complaints,
    async end() {
      await browser.close()
      await server.end()
    },
  }
}

export async function signInTo(server: Server, page: Page): Promise<void> {
  await page.goto(/(http:\/\/\S+\/sign-in#\S+)/.exec(server.output)?.[1] ?? '')
  await page.getByRole('button', { name: 'Sign in' }).click()
  // Not for a heading: this page has one, too, and whoever goes on from it is not signed in.
  await page.waitForURL(`${server.url}/`)
}

export function listenForComplaints(page: Page): string[] {
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    // The browser's own line about an answer that is a refusal; what the page makes of it is what counts.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  return complaints
}

/** One shell command a line, run by the scripted model through the runtime's own bash tool. */
export function script(...commands: string[]): string {
  return ['Do this.', '', '```svc-script', ...commands, '```'].join('\n')
}

/** Presses Tab, like a user without a mouse, until the element with this name has the focus. */
export async function pressTabTo(page: Page, name: RegExp): Promise<void> {
  for (let i = 0; i < 60; i++) {
    const text = (await page.evaluate(
      '(document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "").slice(0, 200)',
    )) as string
    if (name.test(text)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Sixty times Tab did not lead to ${name}.`)
}

/** Nothing on the page is wider than the screen. */
export async function expectItFits(page: Page): Promise<void> {
  // An open menu follows a new width a frame later.
  await until(
    'the page to fit its screen',
    () => page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
    10_000,
  )
}

export { gatewayOf } from './harness.ts'

/** The violations that axe finds on the page, with the first element of each. */
export async function axeViolations(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(require.resolve('axe-core/axe.min.js'), 'utf8'))
  return (await page.evaluate(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 160)}`))',
  )) as string[]
}

/** In both themes at two widths, without loading it again. It stays as the last one leaves it: narrow and dark. */
export async function takePictures(page: Page, name: string, options: { fullPage?: boolean } = {}): Promise<void> {
  for (const width of [1280, 360])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme })
      await page.screenshot({ path: join(pictures, `${name}-${colorScheme}-${width}.png`), ...options })
    }
}

/** In three widths and both themes: it fits, axe finds nothing, and there are pictures. */
export async function expectItLooksRight({ page, complaints }: PageStory, name: string): Promise<void> {
  const before = complaints.length
  const found: string[] = []
  for (const colorScheme of ['dark', 'light'] as const)
    for (const width of [360, 1024, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await expectItFits(page)
      await page.screenshot({ path: join(pictures, `${name}-${colorScheme}-${width}.png`) })
      if (width !== 1024) found.push(...(await axeViolations(page)))
    }
  // axe makes style elements of its own, which the page's policy refuses.
  complaints.length = before
  expect(found).toEqual([])
}
