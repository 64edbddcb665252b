/** From a hunk to the prompt and the tool call that wrote it, and back, in a browser with a real agent. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { commit } from '@svc/git/testing'
import { browserPath } from './browser.ts'
import { git } from './harness.ts'
import { axeViolations, beginPageStory, expectItFits, gatewayOf, type PageStory, pictures } from './page-story.ts'

setDefaultTimeout(600_000)
const slow = { timeout: 120_000 }

let story: PageStory
let project: { project_id: string; slug: string }
let sessionId: string
const inProject = () => ['--project', project.project_id]
const filler = (name: string) => Array.from({ length: 20 }, (_, at) => `export const ${name}${at} = ${at}\n`).join('')
const deliver = [
  filler('before'),
  'export async function deliver(event, to) {\n  const reply = await post(to.url, event)\n  return reply.ok\n}\n',
  filler('after'),
  'export const last = 1\n',
].join('')
const path = '/workspace/src/deliver.ts'
const asked = (text: string, ...commands: string[]) => [text, '', '```svc-script', ...commands, '```'].join('\n')
const edit = (oldString: string, newString: string) =>
  `@edit ${JSON.stringify({ filePath: path, oldString, newString })}`
const push = (message: string) => `git add -A && git commit -qm '${message}' && git push -q origin HEAD`

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_MODEL_NAME: 'svc-scripted-demo' })
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'Payments API'])
  const dir = join(server.env['SVC_DATA_DIR']!, 'repositories', `${project.project_id}.git`)
  await commit({ dir, remote: null }, 'main', { 'src/deliver.ts': deliver })
  const made = await server.json<{ session_id: string; branch_name: string }>([
    ...['sessions', 'new', '--no-wait', '--model', 'svc-scripted-demo', '--name', 'Webhook retries', '--prompt'],
    asked(
      'Webhook deliveries are lost when the receiver is down. Retry them with backoff.',
      `@read ${JSON.stringify({ filePath: path })}`,
      edit('await post(to.url, event)', 'await retry(() => post(to.url, event))\n  await record(event.id)'),
      edit('last = 1', 'last = 2'),
      'echo [500,1000] > src/waits.json',
      push('Retry deliveries'),
      "svc cr open --title 'Retry webhook deliveries with backoff'",
    ),
    ...inProject(),
  ])
  sessionId = made.session_id
  const { page } = story
  await page.goto(`${server.url}/projects/${project.slug}/sessions/${sessionId}`)
  await page.getByText('All 6 commands of the script ran.').waitFor(slow)
  await page.getByText('ready for review', { exact: true }).waitFor(slow)
  const chat = await server.svc([
    ...['sessions', 'chat', sessionId, ...inProject(), '--prompt'],
    asked(
      'The sleep between attempts must be injected.',
      `@read ${JSON.stringify({ filePath: path })}`,
      edit('post(to.url, event))', 'post(to.url, event), { sleep })'),
      push('Inject the sleep'),
    ),
  ])
  expect(`${chat.code} ${chat.stderr.slice(-500)}`).toStartWith('0')
  await page.getByText('All 3 commands of the script ran.').waitFor(slow)
  // A person pushes on top.
  const clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'clone', '--quiet', '--branch', made.branch_name, gatewayOf(server, project), '.')
  const file = join(clone, 'src/deliver.ts')
  const before = await Bun.file(file).text()
  await Bun.write(
    file,
    before.replace('  return reply.ok', '  // A 410 means the endpoint is gone.\n  return reply.ok'),
  )
  await git(clone, 'commit', '--quiet', '-am', 'Explain 410')
  await git(clone, 'push', '--quiet', 'origin', 'HEAD')
}, 600_000)
afterAll(() => story?.end())

async function look(page: Page, name: string): Promise<void> {
  for (const width of [1440, 1024, 360])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await expectItFits(page)
      await page.screenshot({ path: join(pictures, `origins-${name}-${width}-${colorScheme}.png`) })
    }
  expect(await axeViolations(page)).toEqual([])
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
  expect(await axeViolations(page)).toEqual([])
}

test.skipIf(!browserPath)('a hunk leads to its prompts, its calls and the commit of a person', async () => {
  const { page, server, complaints } = story
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.goto(`${server.url}/projects/${project.slug}/change-requests/1`)
  await page.getByText('await record(event.id)').first().waitFor()
  const asks = page.getByRole('button', { name: 'How was this written?', exact: true })
  await asks.first().waitFor()
  await page.screenshot({ path: join(pictures, 'origins-buttons-1440-light.png') })
  await asks.first().click()
  const pane = page.getByRole('dialog', { name: 'How this was written' })
  const prompts = pane.getByRole('list', { name: 'Prompts and tool calls' })
  await prompts.getByText('Retry them with backoff.').waitFor()
  await prompts.getByText('The sleep between attempts must be injected.').waitFor()
  // The other hunk of the file is not part of it.
  expect(await pane.getByText('export const last = 2').count()).toBe(0)
  await pane.getByText(/committed it in [0-9a-f]{10}: Explain 410/).waitFor()
  await pane.getByRole('button', { name: 'Line 22' }).click()
  await look(page, 'pane')
  // axe makes style elements of its own, which the page's policy refuses.
  expect(complaints.splice(0).filter((text) => !text.includes('Content Security Policy'))).toEqual([])

  // The pane closes and gives the focus back to the button in the diff.
  await page.keyboard.press('Escape')
  await pane.waitFor({ state: 'detached' })
  expect(await asks.first().evaluate((button) => button.matches(':focus'))).toBe(true)
})

test.skipIf(!browserPath)('the key opens it, also for the whole file and for one that a command wrote', async () => {
  const { page } = story
  const tree = page.getByRole('navigation', { name: 'Changed files' })
  await tree.getByRole('button', { name: /deliver\.ts/ }).click()
  await page.keyboard.press('h')
  const pane = page.getByRole('dialog', { name: 'How this was written' })
  await pane.getByRole('button', { name: 'Whole file' }).click()
  await pane.getByText('export const last = 2').waitFor()
  await page.keyboard.press('Escape')

  await page.getByRole('button', { name: 'How was this written? src/waits.json' }).click()
  await pane.getByText('Lines without a known tool call').waitFor()
  await pane.getByText('May come from').waitFor()
  await pane.getByText('names this file').waitFor()
  await look(page, 'command')
  await pane.getByRole('button', { name: 'Close' }).click()
})

test.skipIf(!browserPath)('a call links to its place in the session, and back to its lines', async () => {
  const { page, complaints } = story
  await page.getByRole('button', { name: 'How was this written? src/deliver.ts' }).click()
  const pane = page.getByRole('dialog', { name: 'How this was written' })
  await pane
    .getByRole('link', { name: /^Edited/ })
    .first()
    .click()
  await page.waitForURL(/\/sessions\/[^?]+\?message=msg_\w+&part=/)
  const call = page.locator('details[open]').filter({ hasText: 'await record(event.id)' })
  await call.getByRole('link', { name: /^In #1, / }).waitFor()
  expect(await call.locator('summary').evaluate((summary) => summary.matches(':focus'))).toBe(true)
  await look(page, 'session')
  await call.getByRole('link', { name: /^In #1, / }).click()
  await page.waitForURL(/\/change-requests\/1\?.*line=\d+/)
  await page.getByText('await record(event.id)').first().waitFor()
  expect(complaints.filter((text) => !text.includes('Content Security Policy'))).toEqual([])
})
