/** Real agents that ask, in real sandboxes: a permission of the runtime and a question of its agent, answered by API, in the client and on the page. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Question, Session } from '@svc/contract'
import type { Page } from 'playwright-core'
import { browserPath, openBrowser } from './browser.ts'
import { git, Server, until } from './harness.ts'

setDefaultTimeout(600_000)
/** Where the pictures go, to be looked at. */
const pictures = join(import.meta.dir, '../../dist/screens')

const files = {
  'opencode.json': JSON.stringify({ permission: { bash: 'ask' } }),
  '.svc/runtime/agents/asker.md': [
    ...['---', 'description: Asks', 'mode: primary', 'permission:', '  question: allow', '---'],
    'You ask before you act.\n',
  ].join('\n'),
}

let server: Server
let project: string
beforeAll(async () => {
  server = await Server.start()
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'asking'])).project_id
  const tree = join(server.dir, 'tree')
  await git(server.dir, 'init', '--quiet', '--initial-branch=main', tree)
  for (const [path, text] of Object.entries(files)) await Bun.write(join(tree, path), text)
  await git(tree, 'add', '.')
  await git(tree, 'commit', '--quiet', '-m', 'Agents ask here')
  const url = new URL(`${server.url}/v1/projects/${project}/git`)
  url.username = 'x-access-token'
  url.password = server.token
  await git(tree, 'push', '--quiet', url.href, 'main')
})
afterAll(() => server?.end())

async function start(lines: string[], more: string[] = []): Promise<string> {
  const prompt = ['Do this.', '', '```svc-script', ...lines, '```'].join('\n')
  const args = ['--no-wait', '--model', 'svc-scripted-demo', '--prompt', prompt, '--project', project, ...more]
  return (await server.json<{ session_id: string }>(['sessions', 'new', ...args])).session_id
}

const read = async <T>(path: string) => (await (await server.api(`/v1/projects/${project}${path}`)).json()) as T
const questionsOf = async (session: string) =>
  (await read<{ questions: Question[] }>(`/sessions/${session}/questions`)).questions
const open = (session: string, about: string) =>
  until(`the agent to ask about ${about}`, async () => {
    const found = await read<Session>(`/sessions/${session}`)
    if (found.status === 'failed') throw new Error(`The session failed: ${found.error}`)
    const open = (await questionsOf(session)).filter(({ status }) => status === 'open')
    return open.find(({ title, detail }) => `${title} ${detail}`.includes(about))
  })

async function answer(session: string, { question_id: id }: Question, text: string): Promise<Response> {
  return server.api(`/v1/projects/${project}/sessions/${session}/questions/${id}/answer`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ answer: text }),
  })
}

const said = (session: string, mark: RegExp) =>
  until(`the agent to come to ${mark}`, async () =>
    mark.test(JSON.stringify(await read(`/sessions/${session}/transcript`))),
  )

async function expectAnswers(session: string, lines: string[]): Promise<void> {
  const browser = await openBrowser()
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.goto((await server.json<{ url: string }>(['self-host', 'owner-link'])).url)
  await page.getByRole('button', { name: /sign in/i }).click()
  await page.waitForURL(`${server.url}/`)
  await page.goto(`${server.url}/projects/asking/sessions/${session}`)
  const answers = page.getByRole('list', { name: 'Answers to the agent' }).getByRole('listitem')
  await answers.nth(lines.length - 1).waitFor()
  expect(await answers.allTextContents()).toEqual(lines)
  await browser.close()
}

let session: string
test('a permission of the runtime waits for a person, who answers by the API and in the client', async () => {
  session = await start(['echo "FIRST $((10+1))"', 'echo "SECOND $((20+2))"', 'echo "THIRD $((30+3))"'])
  const first = await open(session, 'FIRST')
  expect(first).toMatchObject({ kind: 'permission', title: 'Run a command' })
  expect(first.options.map(({ value }) => value)).toContain('once')
  expect((await read<Session>(`/sessions/${session}`)).waiting_for).toBe('person')
  const ran = JSON.stringify(await read(`/sessions/${session}/transcript`))
  expect(ran).not.toContain('FIRST 11')
  expect((await answer(session, first, 'once')).status).toBe(200)
  await said(session, /FIRST 11/)

  const second = await open(session, 'SECOND')
  expect(second.question_id).not.toBe(first.question_id)
  const of = ['--project', project]
  const asked = await server.svc(['sessions', 'questions', ...of])
  expect(asked.stdout).toContain('Run a command')
  const answered = await server.svc(['sessions', 'answer', session.slice(0, 8), 'once', ...of])
  expect([answered.code, answered.stdout]).toEqual([0, '✓ Run a command: Allow once\n'])
  await said(session, /SECOND 22/)
})

/** With a notice above the page: scrolling makes the page no longer, and leaves the composer at the lower edge of the window. */
async function expectComposerAtTheEnd(page: Page): Promise<void> {
  await page.setViewportSize({ width: 1280, height: 700 })
  await page.getByText('New access in your name').waitFor()
  const scrollTo = (y: number) =>
    page.evaluate(async (y) => {
      window.scrollTo(0, y)
      for (let i = 0; i < 5; i++) await new Promise(requestAnimationFrame)
      return document.documentElement.scrollHeight
    }, y)
  // The agent's turn may add a line between two looks.
  await until('a page that keeps its length', async () => {
    const height = await scrollTo(0)
    return height > 700 && (await scrollTo(height)) === height
  })
  const composer = page.locator('form').filter({ has: page.getByRole('textbox', { name: /^Prompt/ }) })
  const { y, height: own } = (await composer.boundingBox())!
  expect(y + own).toBeWithin(680, 700)
}

test.skipIf(!browserPath)(
  'a person answers a permission on the page, to which the inbox and the list link',
  async () => {
    await open(session, 'THIRD')
    const browser = await openBrowser()
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    await page.goto((await server.json<{ url: string }>(['self-host', 'owner-link'])).url)
    await page.getByRole('button', { name: /sign in/i }).click()
    const needed = page.getByRole('list', { name: 'Answer' })
    await needed.getByText('permission', { exact: true }).waitFor()
    await page.goto(`${server.url}/projects/asking/sessions`)
    await page.getByRole('list', { name: 'Sessions' }).getByText('waiting for you').waitFor()
    await page.goto(`${server.url}/projects/asking/sessions/${session}`)
    const waiting = page.getByRole('list', { name: 'Questions from the agent' })
    await waiting.getByText('The agent asks for permission: Run a command').waitFor()
    // The box has the command alone. What "always" allows is below it.
    const box = waiting.getByLabel('Details: Run a command')
    expect(await box.textContent()).toMatch(/^echo "THIRD [^]*\(exit \$code\)$/)
    expect(await waiting.getByText(/^"Always" allows/).count()).toBe(1)
    await mkdir(pictures, { recursive: true })
    for (const [width, colorScheme] of [
      [1280, 'light'],
      [360, 'dark'],
    ] as const) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await page.evaluate(await readFile(require.resolve('axe-core/axe.min.js'), 'utf8'))
      expect(await page.evaluate('axe.run().then(({ violations }) => violations.map(({ id }) => id))')).toEqual([])
      await page.screenshot({ path: join(pictures, `questions-${width}-${colorScheme}.png`), fullPage: true })
    }
    await waiting.getByRole('button', { name: 'Allow once' }).press('Enter')
    await said(session, /THIRD 33/)
    await waiting.waitFor({ state: 'detached' })
    // The person writes a prompt next.
    await page
      .getByRole('textbox', { name: /^Prompt/ })
      .and(page.locator(':focus'))
      .waitFor()
    // Each answer stays readable where the agent asked.
    const answers = page.getByRole('list', { name: 'Answers to the agent' }).getByRole('listitem')
    await answers.nth(2).waitFor()
    expect(await answers.allTextContents()).toEqual(
      Array.from({ length: 3 }, () => 'Run a command: Allow once · Owner'),
    )
    for (const [width, colorScheme] of [
      [1280, 'light'],
      [360, 'dark'],
    ] as const) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await page.screenshot({ path: join(pictures, `answers-${width}-${colorScheme}.png`) })
    }
    await expectComposerAtTheEnd(page)
    await browser.close()
  },
)

test('an agent that may ask questions gets an answer in words, and a stop refuses its last question', async () => {
  const questions = [
    {
      question: 'Which colour?',
      header: 'Colour',
      options: [
        { label: 'Red', description: 'Warm' },
        { label: 'Blue', description: 'Cold' },
      ],
    },
    { question: 'Why?', header: 'Reason', options: [] },
  ]
  const lines = [`@question ${JSON.stringify({ questions })}`, 'echo "ASKED $((40+4))"']
  const asker = await start(lines, ['--agent', 'asker'])
  const colour = await open(asker, 'Which colour?')
  expect(colour).toMatchObject({
    ...{ kind: 'question', title: 'Which colour?', detail: 'Red: Warm\nBlue: Cold' },
    options: [
      { value: 'Red', label: 'Red' },
      { value: 'Blue', label: 'Blue' },
    ],
  })
  expect((await answer(asker, colour, 'Blue')).status).toBe(200)
  const why = await open(asker, 'Why?')
  expect((await answer(asker, why, 'Because it is the sea')).status).toBe(200)
  await said(asker, /Because it is the sea/)
  if (browserPath) await expectAnswers(asker, ['Which colour?: Blue · Owner', 'Why?: Because it is the sea · Owner'])

  const last = await open(asker, 'ASKED')
  expect((await server.svc(['sessions', 'stop', asker, '--project', project])).code).toBe(0)
  const settled = (await questionsOf(asker)).find(({ question_id }) => question_id === last.question_id)
  expect(settled).toMatchObject({
    ...{
      status: 'expired',
      answer: null,
      reason: 'The sandbox of the session ended before the question was answered.',
    },
  })
  expect((await read<Session>(`/sessions/${asker}`)).waiting_for).toBeNull()
  expect((await answer(asker, last, 'once')).status).toBe(409)
})
