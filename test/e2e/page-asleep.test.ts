/** A session whose agent sleeps, wakes and outlives its server, as a person sees it on the page and in a terminal. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { browserPath } from './browser.ts'
import { makeFirstCommit, until } from './harness.ts'
import { axeViolations, beginPageStory, expectItFits, type PageStory, script, takePictures } from './page-story.ts'

const slow = { timeout: 120_000 }

let story: PageStory
let project: { project_id: string; slug: string }
let sessionId: string

beforeAll(async () => {
  if (!browserPath) return
  story = await beginPageStory({
    SVC_RUNTIME_FREEZE_SECONDS: '2',
    SVC_RUNTIME_STOP_SECONDS: '1',
    SVC_SANDBOX_LEASE_SECONDS: '600',
  })
  const { server } = story
  project = await server.json(['projects', 'create', '--name', 'resting'])
  await makeFirstCommit(server, project.project_id)
  const made = await server.json<{ session_id: string }>([
    ...['sessions', 'new', '--model', 'svc-scripted-demo', '--wait', '--project', project.project_id],
  ])
  sessionId = made.session_id
}, 300_000)
afterAll(async () => {
  await story?.server.svc(['self-host', 'stop', '--sessions'], { env: story.server.env })
  await story?.end()
}, 120_000)

async function runtimeStopped(): Promise<void> {
  const { server } = story
  const { sandbox_url: url } = await server.send<{ sandbox_url: string }>(
    ...(['GET', `/v1/projects/${project.project_id}/sessions/${sessionId}`] as const),
  )
  await until('the runtime to stop', async () => {
    const health = (await (await fetch(`${url}/svc/health`)).json()) as { runtime: string }
    return health.runtime === 'stopped'
  })
}

// Another server with a copy would be needed to have such a start.
test.skipIf(!browserPath)(
  'shows why a start waits',
  async () => {
    const { page, server } = story
    const path = `/v1/projects/${project.project_id}/sessions/${sessionId}`
    const session = { ...(await server.send<object>('GET', path)), status: 'provisioning' }
    const note = 'Waits for the copy of this project on another server. bob does not answer.'
    const branch = { name: 'branch', started_at: new Date().toISOString(), ms: null, error: null, note }
    await page.route(`**${path}?*`, (route) => route.fulfill({ json: session }))
    await page.route(`**${path}`, (route) => route.fulfill({ json: session }))
    await page.route(`**${path}/timeline`, (route) => route.fulfill({ json: { phases: [branch] } }))
    // The stream would say that the session runs.
    const over = Promise.withResolvers<void>()
    await page.route(`**${path}/events*`, async (route) => {
      await over.promise
      await route.continue()
    })
    await page.goto(`${server.url}/projects/${project.slug}/sessions/${sessionId}`)
    await page.getByRole('region', { name: 'Conversation' }).getByText(note).waitFor(slow)
    over.resolve()
    await page.unrouteAll({ behavior: 'wait' })
  },
  240_000,
)

test.skipIf(!browserPath)(
  'shows that the agent sleeps, wakes, runs a command, and that the page reconnects',
  async () => {
    const { page, server } = story
    const inProject = ['--project', project.project_id]
    await page.goto(`${server.url}/projects/${project.slug}/sessions/${sessionId}`)
    const conversation = page.getByRole('region', { name: 'Conversation' })
    await page.getByRole('textbox', { name: 'Prompt' }).waitFor(slow)
    await runtimeStopped()

    await server.kill('SIGKILL')
    await conversation.getByText('Reconnecting…').waitFor(slow)
    await takePictures(page, 'session-reconnecting')
    // The next server learns at once that the agent sleeps.
    await server.boot()
    await conversation.getByText('The agent fell asleep').waitFor(slow)
    await page.getByText('asleep', { exact: true }).waitFor()
    await expectItFits(page)
    expect(await axeViolations(page)).toEqual([])
    await takePictures(page, 'session-asleep')
    const info = await server.svc(['sessions', 'info', sessionId, ...inProject])
    expect(info.stdout).toContain('the next prompt wakes it')

    await page.getByRole('textbox', { name: 'Prompt (wakes the agent)' }).fill(script('sleep 600; echo woken'))
    await page.getByRole('button', { name: 'Send' }).click()
    await conversation.getByText('Waking the agent…').waitFor(slow)
    await conversation.getByRole('list', { name: 'Waiting prompts' }).getByText('sleep 600').waitFor(slow)
    await takePictures(page, 'session-waking')
    await conversation.getByText('The agent is working…').waitFor(slow)
    await conversation.locator('summary').getByText('sleep 600').waitFor(slow)
    await page.getByRole('button', { name: 'Stop turn' }).click()
    await conversation.getByText('The turn was stopped.').waitFor(slow)
    await until('the wake in the timeline', async () => {
      const { stdout } = await server.svc(['sessions', 'info', sessionId, ...inProject])
      return /^ +wake /m.test(stdout)
    })
  },
  600_000,
)

test.skipIf(!browserPath)(
  'a prompt from the terminal says that the agent wakes, and survives the end of the server',
  async () => {
    const { server } = story
    await runtimeStopped()
    await server.kill('SIGTERM')
    await server.boot()
    await until('the session to be adopted', () => server.output.includes('goes on with the sandbox'))
    const asked = server.svc([
      ...['sessions', 'chat', sessionId, '--prompt', script('sleep 15; echo survived')],
      ...['--project', project.project_id],
    ])
    await until('the prompt', async () => {
      const { stdout } = await server.svc(['sessions', 'log', sessionId, '--project', project.project_id])
      return stdout.includes('survived')
    })
    await server.kill('SIGKILL')
    await server.boot()
    const { code, stdout, stderr } = await asked
    expect([code, stderr]).toEqual([0, expect.stringContaining('Waking the agent…')])
    expect(stderr.match(/Reconnecting…/g)).toHaveLength(1)
    expect(stdout.match(/survived/g)).toHaveLength(1)
  },
  600_000,
)
