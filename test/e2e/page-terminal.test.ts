/** The shell of a session in a browser: as the agent's user, in its work tree, for people who may prompt, and gone with the session. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { browserPath } from './browser.ts'
import { makeFirstCommit, until } from './harness.ts'
import { axeViolations, beginPageStory, expectItFits, type PageStory, takePictures } from './page-story.ts'

const slow = { timeout: 120_000 }
let story: PageStory
let project: { project_id: string; slug: string }
let sessionId: string

beforeAll(async () => {
  story = await beginPageStory()
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'shell'])
  await makeFirstCommit(server, project.project_id)
  const made = await server.json<{ session_id: string }>([
    ...['sessions', 'new', '--model', 'svc-scripted-demo', '--project', project.project_id],
  ])
  sessionId = made.session_id
}, 300_000)
afterAll(() => story?.end(), 120_000)

/** It draws spaces as those that do not break. */
const screenText = async () => (await story.page.locator('.xterm-rows').innerText()).replaceAll('\u00a0', ' ')
const screenShows = (what: RegExp) => until(`the terminal to show ${what}`, async () => what.exec(await screenText()))

test.skipIf(!browserPath)(
  'a person types in the sandbox as the agent, at the size of the window, and leaves by keyboard',
  async () => {
    const { page, complaints } = story
    await page.goto(`${story.server.url}/projects/${project.slug}/sessions/${sessionId}`)
    await page.getByRole('button', { name: 'Terminal' }).click(slow)
    await page.getByRole('heading', { name: /^Terminal for/ }).waitFor()
    await screenShows(/[$#]\s*$/)
    await page.keyboard.type('echo "I am $(id -u) in $PWD on $(git branch --show-current)"; stty size; tty\n')
    const [, uid] = await screenShows(/I am (\d+) in \/workspace on/)
    expect(uid).toBe('1000')
    const [, columns] = await screenShows(/^\d+ (\d+)$/m)
    // It has the window below the heading, and the page does not scroll.
    const isFilled = `document.documentElement.scrollHeight <= innerHeight && innerHeight - document.querySelector('.xterm').parentElement.getBoundingClientRect().bottom < 60`
    expect(await page.evaluate(isFilled)).toBe(true)
    expect(await axeViolations(page)).toEqual([])
    await page.setViewportSize({ width: 360, height: 740 })
    await until('the shell to be as narrow as the window', async () => {
      await page.keyboard.type('clear; stty size\n')
      const narrow = await until('a size', async () => /^\d+ (\d+)$/m.exec(await screenText()))
      return Number(narrow[1]) < Number(columns)
    })
    await expectItFits(page)
    await takePictures(page, 'terminal')
    expect(await axeViolations(page)).toEqual([])
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.keyboard.press('Control+Shift+ArrowUp')
    expect(await page.evaluate('document.activeElement.tagName')).toBe('A')
    expect(complaints).toEqual([])
  },
  300_000,
)

test.skipIf(!browserPath)(
  'the terminal shows text only, is audited, and ends with its shell and its session',
  async () => {
    const { page, server, complaints } = story
    await page.locator('.xterm-helper-textarea').focus()
    await page.keyboard.type('clear; printf \'<img src=x onerror="document.title=1">\\033]0;owned\\007\'\n')
    await screenShows(/onerror="document\.title=1">\S*[$#]/)
    expect(await page.title()).not.toContain('owned')
    await page.keyboard.type('exit\n')
    await page.getByText('The shell ended.').waitFor(slow)
    await page.getByRole('button', { name: 'Open new terminal' }).click()
    await screenShows(/[$#]\s*$/)
    const audit = await server.json<{ action: string; object_id: string }[]>(['audit'])
    const opened = audit.filter(({ action }) => action === 'session.terminal')
    expect(opened.map(({ object_id }) => object_id)).toEqual([sessionId, sessionId])
    await server.json(['sessions', 'stop', sessionId, '--project', project.project_id])
    await page.getByText('The terminal ended, because its session is stopped').waitFor(slow)
    await page.getByText('Restart the session or send a prompt to open a new terminal.').waitFor()
    expect(complaints).toEqual([])
  },
  300_000,
)

test('the terminal is refused without a token, to an agent, from another page, and for a stopped session', async () => {
  const { server } = story
  const path = `/v1/projects/${project.project_id}/sessions/${sessionId}/terminal`
  const knock = (headers: Record<string, string>, at = path) =>
    fetch(`${server.url}${at}`, {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        ...headers,
      },
    })
  const own = { authorization: `Bearer ${server.token}` }
  expect((await knock({})).status).toBe(401)
  expect((await knock({ authorization: 'Bearer svc_pat_nonsense' })).status).toBe(401)
  const stopped = await knock(own)
  expect(stopped.status).toBe(409)
  expect(await stopped.text()).toContain('so it has no sandbox')
  expect((await knock(own, path.replace(sessionId, crypto.randomUUID()))).status).toBe(404)
  const [cookie] = await story.page.context().cookies()
  const asBrowser = { cookie: `${cookie!.name}=${cookie!.value}` }
  expect((await knock({ ...asBrowser, origin: server.url })).status).toBe(409)
  expect((await knock({ ...asBrowser, origin: 'http://evil.test' })).status).toBe(403)
}, 120_000)
