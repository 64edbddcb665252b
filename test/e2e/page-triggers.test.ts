/** A person switches a trigger on its page in a real browser, and sets the secret that another one needs. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Locator } from 'playwright-core'
import { browserPath } from './browser.ts'
import { git } from './harness.ts'
import { beginPageStory, expectItLooksRight, gatewayOf, type PageStory } from './page-story.ts'

let story: PageStory
let clone: string
let project: { project_id: string; slug: string }
const slow = { timeout: 60_000 }

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' })
  project = await story.server.json(['projects', 'create', '--name', 'garden'])
  clone = await mkdtemp(join(story.server.dir, 'clone-'))
  await git(clone, 'init', '--quiet', '--initial-branch=main')
  await git(clone, 'remote', 'add', 'origin', gatewayOf(story.server, project))
  const manifest = '[[triggers]]\nslug = "nightly"\ntype = "cron"\ncron = "0 3 * * *"\nprompt = "Tidy up."\n'
  await Bun.write(join(clone, 'svc.toml'), manifest)
  await git(clone, 'add', '--all', '.')
  await git(clone, 'commit', '--quiet', '-m', 'Add a trigger')
  await git(clone, 'push', '--quiet', 'origin', 'main')
}, 180_000)
afterAll(() => story?.end(), 120_000)

const lightnessOf = (element: Locator) =>
  element.evaluate((of) =>
    getComputedStyle(of)
      .backgroundColor.match(/\d+/g)!
      .reduce((sum, part) => sum + Number(part), 0),
  )

test.skipIf(!browserPath)(
  'a trigger is disabled after a dialog that says what it changes in the repository',
  async () => {
    const { page, server, complaints } = story
    const tip = async () => (await git(clone, 'ls-remote', 'origin', 'refs/heads/main')).split(/\s/)[0]
    const before = await tip()
    await page.goto(`${server.url}/projects/${project.slug}/triggers`)
    await page.getByRole('button', { name: 'Disable' }).click(slow)
    const dialog = page.getByRole('alertdialog', { name: 'Disable nightly?' })
    await dialog.getByText('This changes svc.toml on main with a change request that is merged at once').waitFor(slow)
    await expectItLooksRight(story, 'trigger-dialog')
    // A dialog is lighter than the cards of the page below it.
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await lightnessOf(dialog)).toBeGreaterThan(await lightnessOf(page.locator('main section').first()))
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ ...slow, state: 'detached' })
    expect(await tip()).toBe(before)
    await page.getByRole('button', { name: 'Disable' }).click()
    await dialog.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Enable' }).waitFor(slow)
    expect(await tip()).not.toBe(before)
    await page.getByRole('button', { name: 'Enable' }).click()
    const enabling = page.getByRole('alertdialog', { name: 'Enable nightly?' })
    const enable = enabling.getByRole('button', { name: 'Enable' })
    await enable.waitFor(slow)
    await expectItLooksRight(story, 'trigger-dialog-enable')
    // Red warns of what stops or deletes something.
    expect(await enable.getAttribute('class')).not.toContain('bg-bad-fill')
    await enable.click()
    await page.getByRole('button', { name: 'Disable' }).waitFor(slow)
    expect(complaints).toEqual([])
  },
  180_000,
)

test.skipIf(!browserPath)(
  'the effects of a change request show the next times in the zone of the trigger',
  async () => {
    const { page, server, complaints } = story
    await git(clone, 'checkout', '--quiet', '-B', 'earlier', 'origin/main')
    await git(clone, 'pull', '--quiet', 'origin', 'main')
    const manifest = await Bun.file(join(clone, 'svc.toml')).text()
    const zone = 'timezone = "America/New_York"\n'
    await Bun.write(join(clone, 'svc.toml'), manifest.replace('cron = "0 3 * * *"\n', `cron = "0 2 * * *"\n${zone}`))
    await git(clone, 'commit', '--quiet', '-am', 'Run it earlier')
    await git(clone, 'push', '--quiet', 'origin', 'earlier')
    const { number } = await server.json<{ number: number }>([
      ...['cr', 'open', '--title', 'Run it earlier', '--head', 'earlier', '--project', project.project_id],
    ])
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto(`${server.url}/projects/${project.slug}/change-requests/${number}`)
    const next = page.getByRole('list', { name: 'Effects of landing' }).getByText(/^Next: /)
    await next
      .getByText(/02:00 E[SD]T/)
      .first()
      .waitFor(slow)
    expect(complaints).toEqual([])
  },
  180_000,
)

test.skipIf(!browserPath)(
  'the secrets of a project name each trigger and connector that needs one, until it is set',
  async () => {
    const { page, server, complaints } = story
    const orchard = await server.json<typeof project>(['projects', 'create', '--name', 'orchard'])
    const manifest = `[env]
required = ["API_KEY"]

[[triggers]]
slug = "on-push"
type = "webhook"
secret_env = "HOOK_SECRET"
prompt = "Look."

[[connectors]]
slug = "tracker"
type = "http"
url = "https://tracker.test"
auth = { type = "bearer", secret_env = "API_KEY" }
`
    await Bun.write(join(clone, 'svc.toml'), manifest)
    await git(clone, 'commit', '--quiet', '--all', '-m', 'Add a webhook and a connector')
    await git(clone, 'push', '--quiet', gatewayOf(server, orchard), 'HEAD:main')
    await page.setViewportSize({ width: 1280, height: 800 })
    // The page of the triggers says once that it is missing, beside the hook.
    await page.goto(`${server.url}/projects/${orchard.slug}/triggers`)
    await page.getByText(/HOOK_SECRET is not set/).waitFor(slow)
    expect(await page.getByText(/is not set/).count()).toBe(1)
    await page.getByRole('link', { name: 'Set the secret' }).click()
    const row = (name: string) =>
      page.getByRole('list', { name: 'Secrets' }).getByRole('listitem').filter({ hasText: name })
    await row('HOOK_SECRET').getByText('Needed by trigger on-push').waitFor(slow)
    await row('API_KEY').getByText('Needed by [env], connector tracker').waitFor()
    await row('HOOK_SECRET').getByText('needed, not set').waitFor()
    await expectItLooksRight(story, 'secrets-needed')
    await row('HOOK_SECRET').getByRole('button', { name: 'Set HOOK_SECRET' }).click()
    await page.getByLabel('Value').fill('signs the calls of this hook')
    await page.getByRole('button', { name: 'Set secret' }).click()
    await row('HOOK_SECRET').getByText('set', { exact: true }).waitFor(slow)
    await row('HOOK_SECRET').getByText('Needed by trigger on-push').waitFor()
    // On a phone the buttons of a row are beside its name, also where there are two.
    await page.setViewportSize({ width: 390, height: 844 })
    for (const name of ['HOOK_SECRET', 'API_KEY']) {
      const { y, height } = (await row(name).getByText(name, { exact: true }).boundingBox())!
      for (const button of await row(name).getByRole('button').all())
        expect((await button.boundingBox())!.y).toBeLessThan(y + height)
    }
    await expectItLooksRight(story, 'secrets-set')
    await page.goBack()
    await page.getByText('Calls must be signed with the secret HOOK_SECRET').waitFor(slow)
    await page.getByText(/is not set/).waitFor({ ...slow, state: 'detached' })
    expect(complaints).toEqual([])
  },
  180_000,
)
