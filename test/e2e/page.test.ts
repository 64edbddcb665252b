/** The page in a real browser: the owner link signs in once, the page shows what is there, and nothing it shows runs. */
import { expect, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { startTestProvider } from '../../packages/server/src/accounts/oidc/testing.ts'
import { browserPath, openBrowser } from './browser.ts'
import { join } from 'node:path'
import { git, makeFirstCommit, Server } from './harness.ts'

const hostile = '<img src=x onerror="document.title=1">'

test.skipIf(!browserPath)(
  'the owner signs in by a link and sees projects, change requests and failed sessions as plain text',
  async () => {
    const server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
    const browser = await openBrowser()
    try {
      const link = /(http:\/\/\S+\/sign-in#\S+)/.exec(server.output)?.[1] ?? ''
      const { project_id } = await server.json<{ project_id: string }>(['projects', 'create', '--name', hostile])
      await makeFirstCommit(server, project_id)
      await pushBranch(server, project_id, 'work')
      await server.json(['cr', 'open', '--title', hostile, '--head', 'work', '--project', project_id])
      await server.json(['sessions', 'new', '--no-wait', '--name', 'a session', '--project', project_id])

      const context = await browser.newContext({ viewport: { width: 360, height: 640 } })
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('pageerror', (error) => complaints.push(error.message))
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
      await page.goto(link)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('link', { name: `#1 ${hostile}` }).waitFor()
      await page.getByText('a session').waitFor()
      await page.getByText(/SVC_SANDBOX_DRIVER=none/).waitFor()
      expect(await page.title()).toBe('svc')
      expect(await page.evaluate('document.querySelectorAll("img").length')).toBe(0)
      expect(await page.evaluate('document.documentElement.scrollWidth <= 360')).toBe(true)
      const [cookie] = await context.cookies()
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Lax' })
      expect(page.url()).not.toContain('#')
      expect(complaints).toEqual([])

      // While the service is away the page says so, and goes on by itself.
      await server.kill('SIGTERM')
      await page.getByText("The service isn't responding").waitFor({ timeout: 60_000 })
      await server.boot()
      await page.getByText("The service isn't responding").waitFor({ state: 'detached', timeout: 60_000 })

      const stranger = await (await browser.newContext()).newPage()
      await stranger.goto(link)
      await stranger.getByRole('button', { name: 'Sign in' }).click()
      await stranger.getByText('This link was already used or has expired.').waitFor()
      await stranger.goto(server.url)
      await stranger.getByText('Sign in to svc').waitFor()
    } finally {
      await browser.close()
      await server.end()
    }
  },
  120_000,
)

test.skipIf(!browserPath)(
  "a member signs in with the operator's provider, and an unknown person reads who can invite them",
  async () => {
    let url = ''
    const provider = await startTestProvider({ redirectUri: () => `${url}/sign-in/oidc/callback` })
    const server = await Server.start({
      SVC_SANDBOX_DRIVER: 'none',
      SVC_OIDC_ISSUER: provider.issuer,
      SVC_OIDC_CLIENT_ID: provider.clientId,
      SVC_OIDC_CLIENT_SECRET: provider.clientSecret,
      SVC_OIDC_NAME: 'Our own',
    })
    url = server.url
    const browser = await openBrowser()
    try {
      await server.json(['members', 'add', 'ada@example.test', '--role', 'member'])
      const page = await (await browser.newContext({ viewport: { width: 360, height: 640 } })).newPage()
      const complaints: string[] = []
      page.on('pageerror', (error) => complaints.push(error.message))
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
      provider.person = { subject: 'eve', email: 'eve@example.test', email_verified: true }
      await page.goto(`${url}/account/tokens`)
      await page.getByRole('link', { name: 'Sign in with Our own' }).click()
      await page.getByText('No user has the email address you signed in with.').waitFor()
      provider.person = { subject: 'ada', email: 'ada@example.test', email_verified: true }
      const ada = await (await browser.newContext()).newPage()
      await ada.goto(`${url}/account/tokens`)
      await ada.getByRole('link', { name: 'Sign in with Our own' }).click()
      // Invited by a token that lasts: the provider's word for the address is enough, and the click is Ada's.
      await ada.getByText('invited ada@example.test to the account').waitFor()
      await ada.getByRole('button', { name: 'Join Personal' }).click()
      await ada.waitForURL(`${url}/`)
      await ada.goto(`${url}/account/profile`)
      await ada.getByText('by single sign-on').waitFor()

      // A terminal that waits is still known after the way to the provider and back.
      const asked = { port: '9', state: 's'.repeat(22), challenge: 'c'.repeat(43), name: 'laptop' }
      const terminal = await (await browser.newContext()).newPage()
      await terminal.goto(`${url}/authorize#${new URLSearchParams(asked).toString()}`)
      await terminal.getByRole('link', { name: 'Sign in with Our own' }).click()
      await terminal.getByRole('heading', { name: 'Sign in this terminal?' }).waitFor()
      await terminal.getByText('laptop').waitFor()
      expect(complaints.filter((complaint) => !complaint.includes('401'))).toEqual([])
      expect(server.output).not.toContain(provider.clientSecret)
    } finally {
      await browser.close()
      await server.end()
      await provider.close()
    }
  },
  120_000,
)

async function pushBranch(server: Server, projectId: string, branch: string): Promise<void> {
  const url = new URL(`${server.url}/v1/projects/${projectId}/git`)
  url.username = 'x-access-token'
  url.password = server.token
  const clone = await mkdtemp(join(server.dir, 'clone-'))
  await git(clone, 'clone', '--quiet', url.href, '.')
  await git(clone, 'checkout', '--quiet', '-b', branch)
  await Bun.write(join(clone, 'b.txt'), 'b\n')
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', 'Work')
  await git(clone, 'push', '--quiet', 'origin', branch)
}
