/** The docs site in a real browser, served by the built program: it works offline, under its policy, and search finds pages. */
import { expect, test } from 'bun:test'
import { browserPath, openBrowser } from './browser.ts'
import { Server } from './harness.ts'

test.skipIf(!browserPath)(
  'the search of the docs site finds a page, and its links work without an error in the browser',
  async () => {
    const server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
    const browser = await openBrowser()
    try {
      const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage()
      const complaints: string[] = []
      const foreign: string[] = []
      page.on('pageerror', (error) => complaints.push(error.message))
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
      page.on('request', (request) => {
        if (!/^(?:data:|blob:)/.test(request.url()) && !request.url().startsWith(server.url))
          foreign.push(request.url())
      })

      await page.goto(`${server.url}/docs/`)
      await page.getByRole('button', { name: 'Search' }).first().click()
      await page.getByRole('searchbox').or(page.locator('#localsearch-input')).first().fill('idempotency')
      await page.locator('.results a').first().waitFor()
      await page.getByRole('searchbox').or(page.locator('#localsearch-input')).first().fill('work that was not pushed')
      const hit = page.locator('.results a[href*="/guide/sessions.html"]').first()
      await hit.waitFor()
      await hit.click()
      await page.locator('h1', { hasText: 'Sessions' }).waitFor()

      await page.goto(`${server.url}/docs/api/`)
      await page.getByRole('link', { name: /POST .*\/merge$/ }).click()
      await page.locator('#mergechangerequest').waitFor()

      await page.setViewportSize({ width: 360, height: 640 })
      expect(await page.evaluate('document.documentElement.scrollWidth <= 360')).toBe(true)
      expect(foreign).toEqual([])
      expect(complaints).toEqual([])
    } finally {
      await browser.close()
      await server.end()
    }
  },
  120_000,
)
