/** A change that conflicts, in a browser: the agent is asked, resolves it and pushes, and the change merges. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { type ChatRequest, scriptedCompletion } from '../../packages/server/src/models/scripted/scripted.ts'
import { browserPath } from './browser.ts'
import { git } from './harness.ts'
import { beginPageStory, gatewayOf, type PageStory, pictures, script } from './page-story.ts'

const slow = 120_000
let story: PageStory
let model: ReturnType<typeof Bun.serve>

const resolve = script(
  'git fetch -q origin && (git merge -q origin/main || true)',
  "printf 'Plant beans.\\nWater them.\\nWait a week, or a month.\\n' > plan.md",
  "git commit -qam 'Both' && git push -q origin HEAD",
)

beforeAll(async () => {
  if (!browserPath) return
  // A model that knows what to do when it is asked to resolve a conflict, and nothing else but scripts.
  model = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const asked = (await request.json()) as ChatRequest
      const messages = asked.messages.map((message) =>
        message.role === 'user' && JSON.stringify(message.content).includes('resolve the conflicts')
          ? { ...message, content: resolve }
          : message,
      )
      return scriptedCompletion({ ...asked, messages })
    },
  })
  story = await beginPageStory({
    SVC_LLM_UPSTREAM_URL: `http://127.0.0.1:${model.port}/v1`,
    SVC_LLM_UPSTREAM_KEY: 'none',
    SVC_LLM_MODEL: 'a-model',
  })
}, 180_000)
afterAll(async () => {
  await story?.end()
  await model?.stop(true)
}, 120_000)

test.skipIf(!browserPath)(
  'the agent resolves a conflict on request, and the change request merges',
  async () => {
    const { page, server, complaints } = story
    const project = await server.json<{ project_id: string; slug: string }>(['projects', 'create', '--name', 'garden'])
    const clone = await mkdtemp(join(server.dir, 'clone-'))
    const push = async (branch: string, wait: string) => {
      await Bun.write(join(clone, 'plan.md'), `Plant beans.\nWater them.\n${wait}.\n`)
      await git(clone, 'add', '.')
      await git(clone, 'commit', '--quiet', '-m', wait)
      await git(clone, 'push', '--quiet', gatewayOf(server, project), `HEAD:${branch}`)
    }
    await git(clone, 'init', '--quiet', '--initial-branch=main')
    await push('main', 'Wait')

    await page.goto(`${server.url}/projects/${project.slug}/sessions`)
    await page
      .getByLabel(/Task/)
      .fill(
        script(
          "sed -i 's/Wait/Wait a week/' plan.md && git commit -qam 'A week' && git push -q origin HEAD",
          "svc cr open --title 'How long to wait'",
        ),
      )
    await page.keyboard.press('Control+Enter')
    await page.getByRole('link', { name: '#1 How long to wait' }).waitFor({ timeout: slow })
    await push('longer', 'Wait a month')
    await server.json(['cr', 'open', '--title', 'Longer', '--head', 'longer', '--project', project.project_id])
    await server.json(['cr', 'merge', '2', '--project', project.project_id])
    // The page of the session says what the page of the change request says.
    await page
      .getByRole('list', { name: 'Change requests' })
      .getByText('conflicts', { exact: true })
      .waitFor({ timeout: slow })

    await page.goto(server.url)
    await page.getByText('conflicts', { exact: true }).waitFor({ timeout: slow })
    await page.screenshot({ path: join(pictures, 'home-needs-you-1280.png') })
    await page.getByRole('link', { name: '#1 How long to wait' }).click()
    await page.getByRole('list', { name: 'Conflicting files' }).getByText('plan.md').waitFor({ timeout: slow })
    await page.getByText("Can't merge: 1 file conflicts with main.").waitFor()
    await page.screenshot({ path: join(pictures, 'merge-box-conflict-1280.png') })
    await page.getByRole('button', { name: 'Ask the agent to resolve' }).click()
    // The state that the page shows without a reload after the agent pushed.
    await page.getByText('Merges cleanly').waitFor({ timeout: slow })
    await page.getByRole('button', { name: 'Merge into main' }).click()
    await page.getByText(/ merged this into main as/).waitFor()
    await git(clone, 'fetch', '--quiet', gatewayOf(server, project), 'main')
    expect(await git(clone, 'show', 'FETCH_HEAD:plan.md')).toBe('Plant beans.\nWater them.\nWait a week, or a month.')
    expect(complaints).toEqual([])
  },
  4 * slow,
)
