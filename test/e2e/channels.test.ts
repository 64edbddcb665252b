/** A channel with the built program: connected in a terminal, looked at in a browser, and owed its messages over a kill. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventBody, signed, startSlack } from '../../packages/server/src/channels/slack/testing-slack.ts'
import { browserPath, openBrowser } from './browser.ts'
import { makeFirstCommit, Server } from './harness.ts'

const pictures = join(import.meta.dir, '../../dist/screens')
const slack = startSlack()
let server: Server
let project: { project_id: string; slug: string }

beforeAll(async () => {
  await mkdir(pictures, { recursive: true })
  server = await Server.start({ SVC_SANDBOX_DRIVER: 'none', SVC_SLACK_API_URL: slack.apiUrl })
  project = await server.json(['projects', 'create', '--name', 'chat'])
  await makeFirstCommit(server, project.project_id)
}, 180_000)
afterAll(async () => {
  await server?.end()
  await slack.close()
}, 120_000)

const says = async (text: string, user = 'U0ADA') => {
  const { body, headers } = signed(
    eventBody(slack, { text: `<@${slack.bot.id}> ${text}`, user }),
    slack.secret,
    new Date(),
    'application/json',
  )
  return fetch(`${server.url}/v1/channels/slack/${project.project_id}/events`, { method: 'POST', headers, body })
}

async function eventually<T>(what: string, look: () => T | null | undefined): Promise<T> {
  const deadline = Date.now() + 60_000
  for (;;) {
    const found = look()
    if (found != null) return found
    if (Date.now() > deadline) throw new Error(`Waited in vain until ${what}.`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
const whispered = (user: string) => slack.messages.filter((message) => message.user === user)

test('svc channels connects, tests, shows and lists a channel', async () => {
  const manifest = await server.json<{ settings: { event_subscriptions: { request_url: string } } }>([
    ...['channels', 'connect', '--app-manifest', '--project', project.slug],
  ])
  expect(manifest.settings.event_subscriptions.request_url).toEndWith(`${project.project_id}/events`)
  const connected = await server.svc(
    ['channels', 'connect', '--channel', 'C0DEVTEAM', '--credentials', '-', '--project', project.slug],
    { input: `${slack.token}\n${slack.secret}\n` },
  )
  expect([connected.code, connected.stdout]).toEqual([0, expect.stringContaining('#dev of Acme is connected')])
  expect((await server.svc(['channels', 'test', '--project', project.slug])).code).toBe(0)
  expect(slack.messages).toHaveLength(1)
  const shown = await server.svc(['channels', 'show', 'dev', '--project', project.slug])
  expect(shown.stdout).toContain('#dev (C0DEVTEAM)')
  expect(shown.stdout + shown.stderr).not.toContain(slack.token)
}, 120_000)

test('the next server posts the pending messages of a killed server', async () => {
  slack.trouble('chat.postEphemeral', { kind: 'hang' })
  expect((await says('who am I', 'U0EVE')).status).toBe(200)
  await eventually('the server writes', () => slack.calls.find(({ method }) => method === 'chat.postEphemeral'))
  await server.kill('SIGKILL')
  await server.boot()
  await eventually('it is there', () => whispered('U0EVE')[0])
  slack.release()
}, 180_000)

test.skipIf(!browserPath)(
  'a person links a chat user on the page, which shows the channel',
  async () => {
    expect((await says('link')).status).toBe(200)
    const invitation = await eventually('an invitation', () => whispered('U0ADA').at(-1))
    const url = /<([^|>]*\/link-chat#[^|>]*)\|/.exec(slack.textOf(invitation))?.[1]
    const browser = await openBrowser()
    try {
      const axe = await readFile(require.resolve('axe-core/axe.min.js'), 'utf8')
      const found: string[] = []
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' })
      const page = await context.newPage()
      const look = async (name: string) => {
        await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true })
        await page.evaluate(axe)
        const broken = (await page.evaluate(
          'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 160)}`))',
        )) as string[]
        found.push(...broken.map((each) => `${name}: ${each}`))
      }
      const { url: ownerLink } = await server.json<{ url: string }>(['self-host', 'owner-link'])
      await page.goto(ownerLink)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Inbox' }).waitFor()
      await page.goto(url ?? '')
      await page.getByText('Ada <ada@example.test>').waitFor()
      await look('link-chat')
      await page.getByRole('button', { name: 'Link to me' }).click()
      await page.getByText('Ada in Acme is now linked to you').waitFor()

      await page.goto(`${server.url}/projects/${project.slug}/channels`)
      await page.getByRole('heading', { name: '#dev in Acme' }).waitFor()
      await page.getByRole('list', { name: 'Linked people in #dev' }).getByText('Ada', { exact: true }).waitFor()
      await look('channels-light-1280')
      await page.getByRole('button', { name: 'Send test message' }).click()
      await page.getByText('Test message sent to #dev').waitFor()
      await page.setViewportSize({ width: 360, height: 800 })
      await page.emulateMedia({ colorScheme: 'dark' })
      await look('channels-dark-360')
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBeTrue()
      expect(found).toEqual([])
      await page.getByRole('button', { name: 'Disconnect #dev' }).click()
      await page.getByRole('alertdialog').getByRole('button', { name: 'Disconnect' }).click()
      await page.getByRole('heading', { name: 'Connect Slack' }).waitFor()
      const steps = page.getByRole('list', { name: 'Steps' }).getByRole('heading')
      expect(await steps.allTextContents()).toEqual([
        'Create the Slack app',
        'Install the app and invite it to the channel',
        'Connect the channel',
        'Let Slack verify the request URL',
      ])
      await look('channels-steps-dark-360')
      expect(found).toEqual([])
    } finally {
      await browser.close()
    }
  },
  180_000,
)
