/** A turn that fails and a prompt that is refused, with the real runtime in a real sandbox: each says why, and what to do. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { commit } from '@svc/git/testing'
import { browserPath } from './browser.ts'
import { makeFirstCommit, until } from './harness.ts'
import { axeViolations, beginPageStory, expectItFits, type PageStory, pictures, takePictures } from './page-story.ts'

const slow = { timeout: 120_000 }
const reason = 'The account has no credit left.'
const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: () => Response.json({ error: { message: reason, type: 'invalid_request_error' } }, { status: 400 }),
})

let story: PageStory
let project: { project_id: string; slug: string }
let sessionId: string

beforeAll(async () => {
  story = await beginPageStory({
    SVC_LLM_UPSTREAM_URL: `http://127.0.0.1:${upstream.port}/v1`,
    SVC_LLM_UPSTREAM_KEY: 'none',
    SVC_LLM_MODEL: 'away',
  })
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'prompts'])
  await makeFirstCommit(server, project.project_id)
  await commit(repository(), 'main', { '.svc/runtime/agents/house.md': '---\nmode: primary\n---\nBe brief.\n' })
  const made = await server.json<{ session_id: string }>([
    ...['sessions', 'new', '--agent', 'house', '--prompt', 'Begin.', '--project', project.project_id],
  ])
  sessionId = made.session_id
}, 300_000)
afterAll(async () => {
  await story?.end()
  await upstream.stop(true)
}, 120_000)

const repository = () => ({
  dir: join(story.server.env.SVC_DATA_DIR!, 'repositories', `${project.project_id}.git`),
  remote: null,
})
const inProject = () => ['--project', project.project_id]
const sessionNow = async () => {
  const { session } = await story.server.json<{
    session: { status: string; agent_name: string; last_turn_error: { code: string; message: string } | null }
  }>(['sessions', 'info', sessionId, ...inProject()])
  return session
}

test.skipIf(!browserPath)(
  'the page shows a failed turn and a refused prompt with their reasons, and another agent continues',
  async () => {
    const { page, server, complaints } = story
    await page.goto(`${server.url}/projects/${project.slug}/sessions/${sessionId}`)
    const conversation = page.getByRole('region', { name: 'Conversation' })
    await conversation.getByText(reason).waitFor(slow)
    const failed = await until('the session to say why', async () => (await sessionNow()).last_turn_error)
    await page.evaluate('scrollTo(0, 0)')
    await page.screenshot({ path: join(pictures, 'failed-turn-1280.png') })
    await page.getByText('waiting', { exact: true }).waitFor(slow)
    expect(await page.getByText(reason).count()).toBe(1)
    expect(failed).toMatchObject({ code: 'model_request_failed', message: expect.stringContaining(reason) })

    const asked = await server.svc(['sessions', 'chat', sessionId, '--prompt', 'Again.', ...inProject()])
    expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining(reason)])
    await page.getByRole('article', { name: 'Prompt' }).getByText('Again.').waitFor(slow)

    await commit(repository(), 'main', { 'svc.toml': '[sandbox]\ncpu = 1\n' })
    const refreshed = page.waitForResponse((response) => response.url().endsWith(`/${sessionId}/refresh`), slow)
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Refresh from the default branch' }).click()
    expect((await refreshed).status()).toBe(202)
    await page.getByText('Restart the session to apply the rest of svc.toml').waitFor(slow)
    await page.getByText('sandbox.cpu', { exact: true }).waitFor()

    await page.getByRole('button', { name: 'Stop session' }).click()
    await until('it to be stopped', async () => (await sessionNow()).status === 'stopped')
    await commit(repository(), 'main', { '.svc/runtime/agents/house.md': null })
    await page.reload()
    await page.getByRole('textbox', { name: /^Prompt/ }).fill('Wake up.')
    const gone = 'The agent house no longer exists on main'
    await page.getByRole('alert').filter({ hasText: gone }).waitFor(slow)
    for (const name of ['Send', 'Restart session']) {
      const button = page.getByRole('button', { name, exact: true })
      expect([await button.isEnabled(), await button.getAttribute('title')]).toEqual([false, gone])
    }
    const wake = await server.svc(['sessions', 'chat', sessionId, '--prompt', 'From afar.', ...inProject()])
    expect([wake.code, wake.stderr]).toEqual([1, expect.stringContaining('"house" is not on the default branch')])
    const refused = page.getByRole('article', { name: 'Prompt' }).filter({ hasText: 'From afar.' })
    await refused.getByText('No answer:').waitFor(slow)
    await refused.getByText(/"house" is not on the default branch/).waitFor()
    expect((await sessionNow()).status).toBe('stopped')
    await expectItFits(page)
    expect(await axeViolations(page)).toEqual([])
    await takePictures(page, 'failed-prompt')
    await page.setViewportSize({ width: 1280, height: 800 })
    await expectItFits(page)

    await page.getByRole('combobox', { name: 'Agent' }).selectOption('plan')
    await page.getByRole('button', { name: 'Restart with plan' }).click()
    await until(
      'it to run with the other agent',
      async () => {
        const session = await sessionNow()
        return session.status === 'running' && session.agent_name === 'plan'
      },
      120_000,
    )
    await page.getByRole('complementary').getByText('plan', { exact: true }).waitFor(slow)
    await refused.getByText('No answer:').waitFor(slow)
    const box = page.getByRole('textbox', { name: /^Prompt/ })
    await page
      .locator('.group')
      .filter({ hasText: 'From afar.' })
      .getByRole('button', { name: 'Edit and send again' })
      .click()
    await until('the prompt to be in the box', async () => (await box.inputValue()) === 'Wake up.\n\nFrom afar.')
    expect(complaints).toEqual([])
  },
  300_000,
)

test.skipIf(!browserPath)(
  'a session that starts shows its prompt and does not claim that the agent works',
  async () => {
    const { page, server } = story
    await commit(repository(), 'main', { 'svc.toml': '[sandbox]\nsetup = "sleep 500"\n' })
    const { session_id: startingId } = await server.json<{ session_id: string }>([
      ...['sessions', 'new', '--prompt', 'Wait for me.', ...inProject()],
    ])
    await page.goto(`${server.url}/projects/${project.slug}/sessions/${startingId}`)
    const conversation = page.getByRole('region', { name: 'Conversation' })
    await conversation.getByText('The session is starting…').waitFor(slow)
    const waiting = conversation.getByRole('list', { name: 'Waiting prompts' })
    await waiting.getByText('Wait for me.').waitFor(slow)
    expect(await page.getByRole('button', { name: 'Stop turn' }).count()).toBe(0)
    await expectItFits(page)
    expect(await axeViolations(page)).toEqual([])
    await takePictures(page, 'session-starting')
    await server.svc(['sessions', 'stop', startingId, ...inProject()])
    await waiting.waitFor({ ...slow, state: 'detached' })
  },
  300_000,
)
