/** The browser of the machine, for tests of pages. */
import { type Browser, chromium } from 'playwright-core'

/** Where it is, or undefined where there is none: tests that need it are skipped then. */
export const browserPath = ['chromium', 'chromium-browser', 'google-chrome']
  .map((name) => Bun.which(name) ?? undefined)
  .find((path) => path !== undefined)

/** A test browser connects only to the page. */
const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
  '--disable-component-update',
  '--disable-background-networking',
]

/** The time a page may take for one step on a machine that is busy with other tests. */
const patienceMs = 60_000

export async function openBrowser(moreArguments: string[] = []): Promise<Browser> {
  if (browserPath === undefined) throw new Error('There is no browser on this machine.')
  const browser = await chromium.launch({
    executablePath: browserPath,
    args: [...quiet, ...moreArguments],
    timeout: patienceMs,
  })
  const newContext = browser.newContext.bind(browser)
  browser.newContext = async (options) => {
    const context = await newContext(options)
    context.setDefaultTimeout(patienceMs)
    return context
  }
  return browser
}
