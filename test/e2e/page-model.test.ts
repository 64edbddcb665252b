/** A browser on a server without a model: what is missing, and the way to set it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { browserPath } from './browser.ts'
import { git, makeFirstCommit } from './harness.ts'
import { axeViolations, beginPageStory, expectItLooksRight, gatewayOf, type PageStory } from './page-story.ts'

let refusal: string | null = 'No such model: big'
const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: () =>
    refusal === null ? Response.json({ choices: [] }) : Response.json({ error: { message: refusal } }, { status: 404 }),
})
let story: PageStory
let project: { project_id: string; slug: string }
beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' })
  project = await story.server.json(['projects', 'create', '--name', 'garden'])
  await makeFirstCommit(story.server, project.project_id)
}, 180_000)
afterAll(async () => {
  await story?.end()
  await upstream.stop(true)
}, 120_000)

test.skipIf(!browserPath)(
  'an owner reads that no model is configured, sets a tested one, and chooses it for a session',
  async () => {
    const { page, server, complaints } = story
    await page.goto(server.url)
    await page.getByText('No model is configured').waitFor()
    await page.getByRole('link', { name: 'Set a model' }).click()
    await page.getByRole('heading', { name: 'Model', exact: true }).waitFor()
    await page.getByLabel('URL').fill(`http://127.0.0.1:${upstream.port}/v1`)
    await page.getByLabel('API key').fill('key-of-the-operator')
    await page.getByLabel('Models').fill('big, small')
    await page.getByRole('button', { name: 'Test and save' }).click()
    await page.getByRole('alert').getByText('No such model: big').waitFor()
    refusal = null
    await page.getByRole('button', { name: 'Test and save' }).click()
    await page.getByText('Tested and saved.').waitFor()
    expect(await page.getByLabel('API key').inputValue()).toBe('')
    await page.getByText('Leave empty to keep the saved key.').waitFor()
    expect(await axeViolations(page)).toEqual([])

    await page.goto(`${server.url}/projects/${project.slug}/sessions`)
    await page.getByText('Agent, branch, and model').click()
    await page.getByLabel('Model').waitFor()
    const offered = page.locator('datalist option')
    await offered.and(page.locator('[value="big"]')).waitFor({ state: 'attached' })
    expect(await offered.evaluateAll((all) => all.map((each) => (each as HTMLOptionElement).value))).toEqual(
      expect.arrayContaining(['big', 'small']),
    )
    expect(await page.getByText('No model is configured').count()).toBe(0)

    await page.goto(`${server.url}/settings/model`)
    await page.getByRole('button', { name: 'Remove the model server' }).click()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByRole('heading', { name: 'Model server' }).waitFor()
    await page.goto(`${server.url}/projects/${project.slug}/sessions`)
    await page.getByText('No model is configured').waitFor()
    expect(complaints).toEqual([])
  },
  180_000,
)

const missing =
  "This server has no model, so agents can't work. An owner of this server can set one on the Model page of the account menu."

test.skipIf(!browserPath)(
  'what asks an agent says before it is pressed that no model is configured',
  async () => {
    const { page, server, complaints } = story
    const slow = { timeout: 60_000 }
    const of = ['--project', project.project_id]
    const { session_id: id } = await server.json<{ session_id: string }>(['sessions', 'new', '--no-wait', ...of])
    await page.goto(`${server.url}/projects/${project.slug}/sessions/${id}`)
    await page.getByRole('textbox', { name: /^Prompt/ }).fill('Go on', slow)
    await page.getByText(missing).waitFor(slow)
    expect(await page.getByRole('button', { name: 'Send', exact: true }).getAttribute('title')).toBe(missing)
    await page.getByRole('link', { name: 'Set a model' }).waitFor(slow)
    // No restart can work here, and only an operator can change the setting.
    const stopped = page.getByRole('alert').filter({ hasText: 'server was started without a sandbox driver' })
    await stopped.getByText('SVC_SANDBOX_DRIVER=none').waitFor(slow)
    expect(await page.getByText('Restart it or send a prompt').count()).toBe(0)
    const restart = page.getByRole('button', { name: 'Restart session' })
    expect(await restart.count()).toBe(1)
    expect(await restart.getAttribute('title')).toBe('The server was started without a sandbox driver.')
    await expectItLooksRight(story, 'no-model-session')
    await page.route('**/v1/models/upstream', (route) =>
      route.fulfill({ status: 403, json: { error: 'Only owners of this server', code: 'forbidden' } }),
    )
    await page.reload()
    await stopped.getByText('Sessions start once its operator configures one.').waitFor(slow)
    expect(await stopped.textContent()).not.toContain('SVC_')
    await page.unrouteAll({ behavior: 'wait' })

    const clone = await mkdtemp(join(server.dir, 'clone-'))
    await git(clone, 'clone', '--quiet', gatewayOf(server, project), '.')
    const open = async (branch: string) => {
      await git(clone, 'checkout', '--quiet', '-B', branch, 'origin/main')
      await Bun.write(join(clone, 'plan.md'), branch)
      await git(clone, 'add', '.')
      await git(clone, 'commit', '--quiet', '-m', branch)
      await git(clone, 'push', '--quiet', 'origin', branch)
      return (await server.json<{ number: number }>(['cr', 'open', '--title', branch, '--head', branch, ...of])).number
    }
    const number = await open('mine')
    await server.json(['cr', 'merge', String(await open('theirs')), '--yes', ...of])
    await page.goto(`${server.url}/projects/${project.slug}/change-requests/${number}`)
    await page.getByRole('button', { name: 'Start an agent to resolve', disabled: true }).waitFor(slow)
    await page.getByText(missing).waitFor(slow)
    await page.getByRole('link', { name: 'Set a model' }).waitFor(slow)
    await expectItLooksRight(story, 'no-model-conflict')

    // The page cannot know the model of a new session, so the server refuses it. The commands of its hint come second.
    await page.goto(`${server.url}/projects/${project.slug}/sessions`)
    await page.getByLabel('Task').fill('Tidy up.', slow)
    await page.getByRole('button', { name: 'Start session' }).click()
    const refused = page.getByRole('alert').filter({ hasText: 'No model is configured on this server' })
    await refused.getByRole('link', { name: 'Set a model' }).waitFor(slow)
    expect(await refused.getByText('svc self-host env set').isVisible()).toBe(false)
    await refused.getByText('Other ways').click()
    await refused.getByText('svc self-host env set').waitFor(slow)
    expect(complaints).toEqual([])
  },
  180_000,
)
