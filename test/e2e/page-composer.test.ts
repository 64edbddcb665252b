/** The text field of a session in a browser: prompts that wait, and the agent and the model of the next one. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { commit } from '@svc/git/testing'
import { browserPath } from './browser.ts'
import { until } from './harness.ts'
import { axeViolations, beginPageStory, expectItFits, type PageStory, pictures, script } from './page-story.ts'

setDefaultTimeout(600_000)
const slow = { timeout: 120_000 }

let story: PageStory
let project: { project_id: string; slug: string }
let sessionId: string
const inProject = () => ['--project', project.project_id]

beforeAll(async () => {
  story = await beginPageStory({ SVC_MODEL_NAME: 'svc-scripted-demo' })
  project = await story.server.json(['projects', 'create', '--name', 'Payments API'])
  const dir = join(story.server.env['SVC_DATA_DIR']!, 'repositories', `${project.project_id}.git`)
  await commit({ dir, remote: null }, 'main', {
    'package.json': '{ "name": "payments" }\n',
    '.svc/runtime/agents/house.md': '---\nmode: primary\n---\nBe brief.\n',
  })
  const made = await story.server.json<{ session_id: string }>([
    ...['sessions', 'new', '--no-wait', '--model', 'svc-scripted-demo', '--name', 'Release 2.4'],
    ...['--prompt', script('echo begun; sleep 20'), ...inProject()],
  ])
  sessionId = made.session_id
}, 300_000)
afterAll(() => story?.end())

async function look(name: string): Promise<void> {
  const { page } = story
  for (const width of [1440, 1024, 360])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme })
      await expectItFits(page)
      // The tools and the button are in one line.
      const [model, send] = await Promise.all(
        [page.getByRole('button', { name: /^Model:/ }), page.getByRole('button', { name: 'Send', exact: true })].map(
          async (button) => (await button.boundingBox())!.y,
        ),
      )
      expect([width, model]).toEqual([width, send])
      await page.screenshot({ path: join(pictures, `composer-${name}-${width}-${colorScheme}.png`) })
    }
  expect(await axeViolations(page)).toEqual([])
  await page.setViewportSize({ width: 1440, height: 900 })
}

test.skipIf(!browserPath)('prompts that wait are edited and cancelled alone, by keyboard', async () => {
  const { page, server, complaints } = story
  await page.goto(`${server.url}/projects/${project.slug}/sessions/${sessionId}`)
  await page.getByRole('article', { name: 'Answer' }).getByText('begun').first().waitFor(slow)
  const field = page.getByRole('textbox', { name: /^Prompt/ })
  for (const text of ['First of all, wait.', 'Never mind this.', script('echo the queue goes on')]) {
    await field.fill(text)
    await field.press('Control+Enter')
    await page.getByRole('list', { name: 'Waiting prompts' }).getByText(text.split('\n')[0]!).waitFor(slow)
  }
  const waiting = page.getByRole('list', { name: 'Waiting prompts' }).getByRole('listitem')
  await waiting.first().getByText('Queued until the agent finishes').waitFor()
  await look('queue')

  await waiting.filter({ hasText: 'Never mind this.' }).getByRole('button', { name: 'Cancel prompt' }).press('Enter')
  await waiting.filter({ hasText: 'Never mind this.' }).waitFor({ ...slow, state: 'detached' })
  await waiting.filter({ hasText: 'First of all, wait.' }).getByRole('button', { name: 'Edit prompt' }).press('Enter')
  await waiting.filter({ hasText: 'First of all, wait.' }).waitFor({ ...slow, state: 'detached' })
  expect(await field.inputValue()).toBe('First of all, wait.')
  expect(await field.evaluate('document.activeElement.tagName')).toBe('TEXTAREA')
  await field.fill('')
  await page.getByRole('article', { name: 'Answer' }).getByText('echo the queue goes on').first().waitFor(slow)
  expect(await page.getByText('Never mind this.').count()).toBe(0)
  const { prompts } = await server.json<{ prompts: { status: string }[] }>([
    ...['api', `/v1/projects/${project.project_id}/sessions/${sessionId}/prompts`],
  ])
  expect(prompts.map(({ status }) => status).toSorted()).toEqual(['cancelled', 'cancelled', 'delivered', 'delivered'])
  expect(complaints).toEqual([])
})

test.skipIf(!browserPath)(
  'a prompt that is written while others are on their way stays, and each is on the page',
  async () => {
    const { page, server, complaints } = story
    const field = page.getByRole('textbox', { name: /^Prompt/ })
    const go = Promise.withResolvers<void>()
    await page.route('**/prompt', async (route) => {
      await go.promise
      await route.continue()
    })
    const texts = ['One of three.', 'Two of three.', 'Three of three.']
    for (const text of texts) {
      await field.fill(script(`echo '${text}'`).replace(/^.*/, text))
      await field.press('Control+Enter')
    }
    await field.fill('Not sent yet.')
    const waiting = page.getByRole('list', { name: 'Waiting prompts' })
    for (const text of texts) await waiting.getByText(text).first().waitFor(slow)
    await waiting.getByText('Sending…').first().waitFor()
    await look('sending')
    go.resolve()
    const prompts = page.getByRole('article', { name: 'Prompt' })
    // At every moment each is in the list or in the conversation, once.
    await until('all to be in the conversation', async () => {
      for (const text of texts) {
        const both = waiting.getByRole('listitem').or(prompts).filter({ hasText: text })
        expect(await both.count()).toBe(1)
      }
      return (await prompts.filter({ hasText: ' of three.' }).count()) === 3
    })
    await waiting.waitFor({ ...slow, state: 'detached' })
    expect(await field.inputValue()).toBe('Not sent yet.')
    await field.fill('')
    await page.unroute('**/prompt')
    const { messages } = await server.json<{ messages: { prompt_id?: string; role: string }[] }>([
      ...['api', `/v1/projects/${project.project_id}/sessions/${sessionId}/transcript`],
    ])
    const ids = messages.filter(({ role }) => role === 'user').map(({ prompt_id: id }) => id)
    expect(ids[0]).toBe(sessionId)
    expect(new Set(ids).size).toBe(ids.length)
    expect(complaints).toEqual([])
  },
)

test.skipIf(!browserPath)('a prompt whose answers are lost comes back, and a second press sends it once', async () => {
  const { page, server, complaints } = story
  await page.goto(`${server.url}/projects/${project.slug}/sessions/${sessionId}`)
  const field = page.getByRole('textbox', { name: /^Prompt/ })
  let lost = 0
  await page.route('**/prompt', async (route) => {
    await route.fetch()
    lost += 1
    await route.abort('connectionreset')
  })
  const text = script('echo once only').replace(/^.*/, 'Lost at first.')
  await field.fill(text, slow)
  await field.press('Control+Enter')
  await page.getByText("Can't reach the service.").waitFor(slow)
  // The request itself and its repetitions by the page.
  expect([lost, await field.inputValue()]).toEqual([4, text])
  await page.unroute('**/prompt')
  await field.press('Control+Enter')
  const sent = page.getByRole('article', { name: 'Prompt' }).filter({ hasText: 'Lost at first.' })
  await sent.waitFor(slow)
  await page.getByRole('list', { name: 'Waiting prompts' }).waitFor({ ...slow, state: 'detached' })
  const { prompts } = await server.json<{ prompts: { text: string }[] }>([
    ...['api', `/v1/projects/${project.project_id}/sessions/${sessionId}/prompts`],
  ])
  expect(prompts.filter((prompt) => prompt.text === text).length).toBe(1)
  expect(await field.inputValue()).toBe('')
  expect(complaints).toEqual([])
})

test.skipIf(!browserPath)('a prompt that is sent while the network is away comes back into the field', async () => {
  const { page } = story
  const field = page.getByRole('textbox', { name: /^Prompt/ })
  await field.fill('Written on a train.')
  await page.context().setOffline(true)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('alert').getByText("Can't reach the service.").first().waitFor(slow)
  expect(await field.inputValue()).toBe('Written on a train.')
  await page.getByText("The service isn't responding").waitFor(slow)
  await page.context().setOffline(false)
  // The error goes away by itself once it is no longer true.
  await page.getByText("The service isn't responding").waitFor({ ...slow, state: 'detached' })
  await page.getByText("Can't reach the service.").waitFor({ ...slow, state: 'detached' })
  expect(await field.inputValue()).toBe('Written on a train.')
  await page.getByRole('button', { name: 'Send' }).click()
  const prompts = page.getByRole('article', { name: 'Prompt' }).filter({ hasText: 'Written on a train.' })
  await prompts.waitFor(slow)
  expect(await prompts.count()).toBe(1)
  expect(await field.inputValue()).toBe('')
})

test.skipIf(!browserPath)('the agent and the model are chosen for the next prompt on', async () => {
  const { page, server, complaints } = story
  const session = async () =>
    (
      await server.json<{ session: { agent_name: string; model: string } }>([
        'sessions',
        'info',
        sessionId,
        ...inProject(),
      ])
    ).session
  await page.getByRole('button', { name: 'Model: svc-scripted-demo' }).waitFor(slow)
  await page.getByRole('button', { name: 'Agent: build' }).press('Enter')
  await page.getByRole('menuitemradio', { name: 'house' }).waitFor(slow)
  await look('agents')
  await page.getByRole('menuitemradio', { name: 'house' }).click()
  await page.getByRole('button', { name: 'Agent: house' }).waitFor()
  expect((await session()).agent_name).toBe('build')
  const field = page.getByRole('textbox', { name: /^Prompt/ })
  await field.fill(script('echo from the house'))
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('article', { name: 'Answer' }).getByText('echo from the house').first().waitFor(slow)
  expect(await session()).toMatchObject({ agent_name: 'house', model: 'svc-scripted-demo' })
  await page.getByRole('button', { name: 'Agent: house' }).waitFor()
  // Each answer keeps the agent that wrote it.
  const named = page.getByRole('article', { name: 'Answer' }).filter({ hasText: 'svc-scripted-demo' })
  await named.filter({ hasText: 'house · svc-scripted-demo' }).waitFor(slow)
  await named.filter({ hasText: 'build · svc-scripted-demo' }).first().waitFor(slow)

  const unknown = ['sessions', 'chat', sessionId, '--prompt', 'Hi.', '--agent', 'nobody', ...inProject()]
  const refused = await server.svc(unknown)
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('There is no agent "nobody"')])
  expect(complaints).toEqual([])
})
