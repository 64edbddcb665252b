/** The page of a session in a browser: the conversation with its tool calls, and beside it what comes of it. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { browserPath } from './browser.ts'
import { commit } from '@svc/git/testing'
import { until } from './harness.ts'
import { axeViolations, beginPageStory, expectItFits, type PageStory, pictures, script } from './page-story.ts'

setDefaultTimeout(600_000)
const slow = { timeout: 120_000 }

let story: PageStory
let project: { project_id: string; slug: string }
/** The folder of the project's repository, at the server. */
let repository: string
const inProject = () => ['--project', project.project_id]

beforeAll(async () => {
  story = await beginPageStory({ SVC_MODEL_NAME: 'svc-scripted-demo' })
  project = await story.server.json(['projects', 'create', '--name', 'Payments API'])
  repository = join(story.server.env['SVC_DATA_DIR']!, 'repositories', `${project.project_id}.git`)
  await commit({ dir: repository, remote: null }, 'main', { 'package.json': '{ "name": "payments" }\n' })
}, 300_000)
afterAll(() => story?.end())

const start = async (...commands: string[]) =>
  (
    await story.server.json<{ session_id: string }>([
      ...['sessions', 'new', '--no-wait', '--model', 'svc-scripted-demo', '--name', 'Release 2.4'],
      ...['--prompt', script(...commands), ...inProject()],
    ])
  ).session_id
const address = (sessionId: string) => `${story.server.url}/projects/${project.slug}/sessions/${sessionId}`
const statusOf = async (sessionId: string) =>
  (await story.server.json<{ session: { status: string } }>(['sessions', 'info', sessionId, ...inProject()])).session
    .status
const call = (page: Page, text: string): Locator =>
  page.getByRole('article', { name: 'Answer' }).locator('details').filter({ hasText: text })

async function look(page: Page, name: string): Promise<void> {
  for (const width of [1440, 900, 360])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await expectItFits(page)
      await page.screenshot({ path: join(pictures, `session-${name}-${width}-${colorScheme}.png`) })
    }
  expect(await axeViolations(page)).toEqual([])
  await page.setViewportSize({ width: 1440, height: 900 })
  expect(await axeViolations(page)).toEqual([])
}

const todos = (...states: string[]) => {
  const texts = ['Collect merged change requests', 'Write the changelog', 'Check the package']
  return `@todowrite ${JSON.stringify({
    todos: texts.map((content, at) => ({ content, status: states[at], priority: 'medium', id: String(at) })),
  })}`
}
const write = (filePath: string, content: string) => `@write ${JSON.stringify({ filePath, content })}`

let sessionId: string
test.skipIf(!browserPath)('a working session shows its calls, its plan and its changes', async () => {
  const { page, complaints } = story
  sessionId = await start(
    todos('in_progress', 'pending', 'pending'),
    'git log --oneline | head -3',
    write('/workspace/CHANGELOG.md', '# 2.4\n\n- Refunds keep their currency\n- Webhooks retry with backoff\n'),
    `@edit ${JSON.stringify({ filePath: '/workspace/CHANGELOG.md', oldString: '# 2.4', newString: '# 2.4.0' })}`,
    todos('completed', 'completed', 'in_progress'),
    'sleep 25',
    'echo "checking the package"; echo "npm error Missing required field files" >&2; exit 2',
  )
  await page.goto(address(sessionId))
  await call(page, 'git log --oneline').getByLabel('completed').waitFor(slow)
  await page.getByRole('list', { name: 'Plan' }).getByText('Check the package').waitFor(slow)
  const edit = call(page, 'CHANGELOG.md').last()
  await edit.waitFor(slow)
  await page.getByRole('list', { name: 'Changed files' }).getByText('CHANGELOG.md').waitFor(slow)
  await call(page, 'sleep 25').getByLabel('running').waitFor(slow)
  await page.getByRole('button', { name: 'Stop turn' }).waitFor()
  await look(page, 'working')

  // On a tablet the name and the state have room beside the actions.
  await page.setViewportSize({ width: 834, height: 900 })
  const [name, state, files] = await Promise.all(
    [
      page.getByRole('heading', { name: 'Release 2.4' }),
      page.getByRole('main').getByText('running', { exact: true }).first(),
      page.getByRole('main').getByRole('link', { name: 'Files', exact: true }),
    ].map(async (part) => (await part.boundingBox(slow))!),
  )
  expect(name!.width).toBeGreaterThan(60)
  expect(name!.x + name!.width).toBeLessThanOrEqual(state!.x)
  expect(state!.x + state!.width).toBeLessThanOrEqual(files!.x)

  // On a phone the panel follows the conversation, which the page opens at the end of.
  await page.setViewportSize({ width: 360, height: 740 })
  await page.reload()
  await call(page, 'sleep 25').waitFor(slow)
  await until('the end of the conversation', () => isAtEnd(page))
  expect(await page.evaluate('document.documentElement.scrollHeight > scrollY + innerHeight + 100')).toBe(true)
  for (const menu of ['Model', 'Agent']) {
    await page.getByRole('button', { name: new RegExp(`^${menu}: `) }).click()
    const { x, y, width, height } = (await page.getByRole('menu').boundingBox(slow))!
    expect(Math.min(x, y)).toBeGreaterThanOrEqual(0)
    expect([x + width <= 360, y + height <= 740]).toEqual([true, true])
    await page.screenshot({ path: join(pictures, `session-menu-${menu.toLowerCase()}-360.png`) })
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
  }
  await page.getByRole('link', { name: 'Show changes and details' }).click()
  await until('the changes to be on the screen', () => isOnScreen(page.getByRole('heading', { name: 'Changes' })))
  await page.screenshot({ path: join(pictures, 'session-panel-360.png') })
  await page.setViewportSize({ width: 1440, height: 900 })
  expect(complaints).toEqual([])
})

test.skipIf(!browserPath)('a failed command looks failed, with its exit code and the end of its output', async () => {
  const { page, complaints } = story
  const failed = call(page, 'exit 2')
  await failed.getByText(/^exit 2 · /).waitFor(slow)
  await failed.getByLabel('failed').waitFor()
  await page.getByLabel('End of the output').getByText('Missing required field files').waitFor()
  await call(page, 'git log --oneline')
    .getByText(/^exit 0 · /)
    .waitFor()
  await look(page, 'failed-command')

  const edit = call(page, 'Edited')
  await edit.locator('summary').click()
  await edit.getByText('+# 2.4.0').waitFor()
  await edit.getByText('-# 2.4', { exact: true }).waitFor()
  await look(page, 'edit')

  await page.getByText('not pushed: 1 file').waitFor(slow)
  await page.getByRole('button', { name: 'Open diff' }).click()
  const diff = page.getByRole('dialog', { name: 'Changes' })
  await diff.getByText('- Webhooks retry with backoff').waitFor(slow)
  await diff.getByText('not pushed', { exact: true }).waitFor()
  await diff
    .getByRole('navigation', { name: 'Changed files' })
    .getByRole('button', { name: /CHANGELOG\.md/ })
    .click()
  await look(page, 'diff')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menu').waitFor()
  expect(await axeViolations(page)).toEqual([])
  await page.keyboard.press('Escape')
  // axe makes style elements of its own, which the page's policy refuses.
  expect(complaints.splice(0).filter((text) => !text.includes('Content Security Policy'))).toEqual([])
})

/** The page shows the end of the conversation at the bottom of the screen. */
async function isAtEnd(page: Page): Promise<boolean> {
  const beyond = "Math.abs(document.querySelector('[data-pane]').getBoundingClientRect().bottom - innerHeight)"
  return Number(await page.evaluate(beyond)) <= 1
}

const isOnScreen = (element: Locator) =>
  element.evaluate((node) => {
    const { top, bottom } = node.getBoundingClientRect()
    return top >= 0 && bottom <= innerHeight
  })

test.skipIf(!browserPath)('a stopped session offers its unfinished work in one banner', async () => {
  const { page, complaints } = story
  const saved = page.getByText('Unfinished work saved: 1 file')
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
  await until('the end of the conversation', () => isAtEnd(page))
  await page.evaluate('scrollTo(0, 0)')
  // The page also follows what was added between a scroll and its event, as on a busy machine.
  await page.evaluate(() => {
    scrollTo(0, document.documentElement.scrollHeight)
    const added = document.querySelector('[data-pane]')!.appendChild(document.createElement('div'))
    added.id = 'added'
    added.style.height = '400px'
  })
  await until('the end of what was added', () => isAtEnd(page))
  await page.evaluate(() => document.getElementById('added')!.remove())
  await until('the end without it', () => isAtEnd(page))
  // Without scrolling to the button, which a click of the driver does.
  await page.getByRole('button', { name: 'Stop session' }).dispatchEvent('click')
  await saved.waitFor(slow)
  // A reader at the end sees it, and one who opens the page.
  await until('the banner to be on the screen', () => isOnScreen(saved))
  await page.reload()
  await saved.waitFor(slow)
  await until('the banner to be on the screen again', () => isOnScreen(saved))
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete session' }).click()
  await page.getByRole('alertdialog').getByText('Unpushed work goes with it: 1 file.').waitFor(slow)
  await look(page, 'delete')
  await page.keyboard.press('Escape')
  await until('the session to be stopped', async () => (await statusOf(sessionId)) === 'stopped')
  await page.getByRole('button', { name: 'Restart session' }).waitFor(slow)
  await page.getByRole('list', { name: 'Changed files' }).getByText('CHANGELOG.md').waitFor(slow)
  await page.evaluate('scrollTo(0, 0)')
  await look(page, 'stopped')

  await page.getByRole('button', { name: 'Restart session' }).click()
  await page.getByRole('button', { name: 'Restore work' }).waitFor(slow)
  const notRestored = page.getByText('Saved work is not in the work tree yet: 1 file.')
  await notRestored.waitFor(slow)
  const banners = page.locator('main [role=alert], main [role=status].rounded-lg')
  await until('one banner', async () => (await banners.count()) === 1)
  await look(page, 'restarted')
  await page.getByRole('button', { name: 'Restore work' }).click()
  await page.getByRole('button', { name: 'Restore work' }).waitFor({ ...slow, state: 'detached' })
  await page.getByText('Restored the saved work.').waitFor(slow)
  await notRestored.waitFor({ ...slow, state: 'detached' })
  await page.getByRole('list', { name: 'Changed files' }).getByText('CHANGELOG.md').waitFor(slow)
  await story.server.svc(['sessions', 'stop', sessionId, ...inProject()])
  expect(complaints).toEqual([])
})

test.skipIf(!browserPath)(
  'a failed session says why in one sentence, with what else is known, and the bar has the one action',
  async () => {
    const { page, server, complaints } = story
    const ends = await server.json<{ project_id: string; slug: string }>(['projects', 'create', '--name', 'Ends'])
    const dir = join(server.env['SVC_DATA_DIR']!, 'repositories', `${ends.project_id}.git`)
    const command = '[runtime]\ncommand = ["sh", "-c", "echo no license here; exit 3"]\n'
    await commit({ dir, remote: null }, 'main', { 'svc.toml': `svc_version = 1\n${command}` })
    const { session_id: id } = await server.json<{ session_id: string }>([
      ...['sessions', 'new', '--no-wait', '--name', 'Nightly update', '--project', ends.project_id],
    ])
    await page.goto(`${server.url}/projects/${ends.slug}/sessions/${id}`)
    const banner = page.getByRole('alert').filter({ hasText: 'no license here' })
    const [why, more] = [banner.getByText(/exit code 3/), banner.getByText('no license here')]
    await more.waitFor(slow)
    expect(await why.textContent()).toMatch(/^[^.]+\.$/)
    const sizeOf = (text: Locator) => text.evaluate((element) => parseFloat(getComputedStyle(element).fontSize))
    expect(await sizeOf(why)).toBeGreaterThan(await sizeOf(more))
    await banner.getByText('Restart it or send a prompt to start again from its branch.').waitFor(slow)
    expect(await page.getByRole('button', { name: 'Restart session' }).count()).toBe(1)
    const steps = page.getByRole('table', { name: 'Startup steps' })
    await steps.getByRole('row', { name: /^Start agent runtime .*failed · / }).waitFor(slow)
    expect(await steps.getByText('failed · ').count()).toBe(1)
    await look(page, 'failed')
    expect(complaints).toEqual([])
  },
)

test.skipIf(!browserPath)('work that cannot be saved is lost only when a person says so', async () => {
  const { page } = story
  const id = await start(write('/workspace/NOTES.md', 'Not pushed.\n'), 'git status --short')
  // git allows no ref below the name of another one, so the server cannot store the work.
  const below = `refs/svc/wip/${id}/in-the-way`
  expect(Bun.spawnSync(['git', 'update-ref', below, 'main'], { cwd: repository }).exitCode).toBe(0)
  await page.goto(address(id))
  await call(page, 'git status --short').getByLabel('completed').waitFor(slow)
  await page.getByRole('button', { name: 'Stop session' }).click()
  const dialog = page.getByRole('alertdialog')
  await dialog.getByText('Stop the session and lose its newest work?').waitFor(slow)
  await dialog.getByText("git on the server couldn't store the changes").waitFor()
  await look(page, 'unsaved')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await statusOf(id)).toBe('running')
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete session' }).click()
  await dialog.getByRole('button', { name: 'Delete session' }).click()
  await dialog.getByRole('button', { name: 'Delete anyway' }).click(slow)
  await page.waitForURL(/\/sessions$/, slow)
  expect((await story.server.svc(['sessions', 'info', id, ...inProject()])).code).not.toBe(0)
})

test.skipIf(!browserPath)('saved work that the repository lost is named until newer work is saved', async () => {
  const { page, complaints } = story
  const id = await start(write('/workspace/NOTES.md', 'Not pushed.\n'), 'git status --short')
  await page.goto(address(id))
  await call(page, 'git status --short').getByLabel('completed').waitFor(slow)
  expect((await story.server.svc(['sessions', 'stop', id, ...inProject()])).code).toBe(0)
  await page.getByText('Unfinished work saved: 1 file').waitFor(slow)

  // As in a repository that came back from an older backup.
  await page.goto('about:blank')
  await story.server.kill('SIGTERM')
  const git = (...args: string[]) => Bun.spawnSync(['git', ...args], { cwd: repository })
  const saved = git('for-each-ref', '--format=%(refname)', `refs/svc/wip/${id}`).stdout.toString().trim().split('\n')
  expect(saved).toHaveLength(1)
  for (const args of [
    ['update-ref', '-d', saved[0]!],
    ['repack', '-adq'],
    ['prune', '--expire=now'],
  ])
    expect(git(...args).exitCode).toBe(0)
  await story.server.boot()
  await page.goto(address(id))
  await page.getByText('Saved work is lost: 1 file').waitFor(slow)
  await look(page, 'lost')
  const prompt = script(write('/workspace/NEW.md', 'Not pushed.\n'))
  expect((await story.server.svc(['sessions', 'chat', id, ...inProject(), '--prompt', prompt])).code).toBe(0)
  await call(page, 'NEW.md').waitFor(slow)
  await page.getByText('Saved work is lost').waitFor({ state: 'detached', ...slow })
  expect(complaints).toEqual([])
})

test.skipIf(!browserPath)(
  'the list of sessions has the task beside the name, and its branch has that name',
  async () => {
    const { page, complaints } = story
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto(`${story.server.url}/projects/${project.slug}/sessions`)
    const row = page.getByRole('list', { name: 'Sessions' }).getByRole('listitem').first()
    await row.getByText('Do this.', { exact: true }).waitFor()
    expect(await row.getByText('Do this.', { exact: true }).getAttribute('title')).toBe('Do this.')
    const name = row.getByRole('link', { name: 'Release 2.4' })
    expect(await name.evaluate((link) => link.scrollWidth <= link.clientWidth)).toBe(true)
    await look(page, 'list')

    await page.goto(`${story.server.url}/projects/${project.slug}/branches`)
    const branch = page.getByRole('list', { name: 'Branches' }).getByTitle(sessionId)
    await branch.getByRole('link', { name: 'Release 2.4' }).waitFor()
    expect(await page.getByText(sessionId).count()).toBe(0)
    await look(page, 'branches')
    expect(complaints).toEqual([])
  },
)
