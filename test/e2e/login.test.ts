/** `svc login` with a real browser: the terminal waits, the page shows its code, a click signs in. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { browserPath, openBrowser } from './browser.ts'
import { program, run, Server, until } from './harness.ts'

const email = 'ada@example.test'
const password = 'correct horse battery'

let server: Server
let browser: Browser | null = null
beforeAll(async () => {
  server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
  if (browserPath) browser = await openBrowser()
  // The owner's first steps: sign in with the link, then set a password.
  const link = /(http:\/\/\S+\/sign-in#\S+)/.exec(server.output)?.[1] ?? ''
  const headers = { 'content-type': 'application/json', origin: server.url }
  const code = JSON.stringify({ code: new URL(link).hash.slice(1) })
  const signedIn = await server.api('/v1/sign-in', { method: 'POST', token: null, headers, body: code })
  const cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!
  const body = JSON.stringify({ email, password })
  const set = await server.api('/v1/accounts/password', {
    method: 'POST',
    token: null,
    headers: { ...headers, cookie },
    body,
  })
  expect(set.status).toBe(200)
}, 120_000)
afterAll(async () => {
  await browser?.close()
  await server.end()
})

/** The terminal of a user who only has the URL so far. */
async function terminal(name: string, args: string[] = []) {
  const home = join(server.dir, name)
  await mkdir(home)
  const child = spawn(program, ['login', '--host', 'work', '--api', server.url, ...args], {
    cwd: home,
    env: { PATH: server.env.PATH!, HOME: home, USER: 'ada' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()))
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const url = await until('the address of the page', async () => /(http:\S+\/authorize#\S+)/.exec(said.stderr)?.[1])
  const code = await until('the code', async () => /code:\s+([A-Z0-9]{4}-[A-Z0-9]{4})/.exec(said.stderr)?.[1])
  return { home, child, said, exited, url, code }
}

async function inBrowser(act: (page: Page, context: BrowserContext) => Promise<void>): Promise<void> {
  const context = await browser!.newContext({ viewport: { width: 360, height: 640 } })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  try {
    await act(page, context)
    expect(complaints).toEqual([])
  } finally {
    await context.close()
  }
}

async function signIn(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Sign in this terminal?' }).waitFor()
}

test.skipIf(!browserPath)(
  'a user signs in on the page, compares the code, clicks, and the client stores the token for them only',
  async () => {
    const { home, said, exited, url, code } = await terminal('first')
    await inBrowser(async (page) => {
      await page.goto(url)
      await page.getByLabel('Email').fill(email)
      await page.getByLabel('Password').fill('wrong horse battery')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('The email address or password is wrong.').waitFor()
      await signIn(page, url)
      await page.getByText(code, { exact: true }).waitFor()
      await page.getByText(/svc on ada@/).waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth <= 360')).toBe(true)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('Your terminal is signed in. You can close this page.').waitFor()
      expect(page.url()).toBe(`${server.url}/authorize`)
    })
    expect([await exited, said.stderr]).toEqual([0, expect.any(String)])
    expect(said.stdout).toContain('Signed in to work as Owner')
    const path = join(home, '.config/svc/config.json')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    const text = await readFile(path, 'utf8')
    const { token } = (JSON.parse(text) as { tokens: Record<string, { token: string }> }).tokens[server.url]!
    expect(said.stdout + said.stderr + url).not.toContain(token)
    const mine = await server.api('/v1/accounts/tokens', { token })
    // The token of the minute that minted it is gone.
    const names = ((await mine.json()) as { name: string }[]).map(({ name }) => name)
    expect(names.some((name) => name.startsWith('ada@'))).toBe(true)
    expect(names.some((name) => name.startsWith('sign-in of'))).toBe(false)
  },
  120_000,
)

test.skipIf(!browserPath)(
  'a terminal on another machine gets the code by its link or by pasting it, once',
  async () => {
    const { said, exited, url } = await terminal('second')
    await inBrowser(async (page) => {
      // As a terminal shows it to a user who may open it on another machine.
      await signIn(page, `${url}&elsewhere=1`)
      await page.getByRole('button', { name: 'Sign in' }).click()
      const link = (await page.getByRole('link', { name: 'Finish signing in' }).getAttribute('href'))!
      await page.getByText(new URL(link).searchParams.get('code')!, { exact: true }).waitFor()
      const wrong = await fetch(link.replace(/state=[^&]+/, 'state=x'))
      expect([wrong.status, await wrong.text()]).toEqual([403, expect.stringContaining('does not match the sign-in')])
      const handed = await fetch(link, { redirect: 'manual' })
      expect([handed.status, handed.headers.get('location')]).toEqual([303, `${server.url}/authorize#done`])
      const twice = await fetch(link, { redirect: 'manual' }).catch(() => null)
      expect(twice?.headers.get('location') ?? null).not.toBe(`${server.url}/authorize#done`)
    })
    expect(await exited).toBe(0)
    expect(said.stdout).toContain('Signed in to work')
  },
  120_000,
)

test.skipIf(!browserPath)(
  'canceling the sign-in stores nothing',
  async () => {
    const { home, said, exited, url } = await terminal('third')
    await inBrowser(async (page) => {
      await signIn(page, url)
      await page.getByRole('button', { name: 'Cancel', exact: true }).click()
      await page.getByText('Sign-in canceled').waitFor()
    })
    expect(await exited).toBe(1)
    expect(said.stderr).toContain('denied in the browser')
    expect(await Bun.file(join(home, '.config/svc/config.json')).exists()).toBe(false)
  },
  120_000,
)

test.skipIf(!browserPath)(
  'a user sets and changes a password on the profile page and signs in with it',
  async () => {
    const next = `${password} again`
    await inBrowser(async (page) => {
      await page.goto(`${server.url}/account/profile`)
      await page.getByLabel('Email').fill(email)
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.waitForURL(`${server.url}/account/profile`)
      await page.getByText('this browser').waitFor()
      for (const [before, after] of [
        [password, next],
        [next, password],
      ] as const) {
        await page.getByLabel('Current password').fill(before)
        await page.getByLabel('New password').fill(after)
        const saved = page.waitForResponse((answer) => answer.url().endsWith('/v1/accounts/password') && answer.ok())
        await page.getByRole('button', { name: 'Save' }).click()
        await saved
        await page.getByText('Saved. Your other browsers were signed out.').waitFor()
      }
      expect(await page.evaluate('document.documentElement.scrollWidth <= 360')).toBe(true)
      await page.getByRole('button', { name: 'Open menu' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Account menu' }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
      await page.getByText('Sign in to svc').waitFor()
    })
  },
  120_000,
)

test('an owner link signs the client in without a browser, and leaves no sign-in of the pages', async () => {
  const home = join(server.dir, 'linked')
  await mkdir(home)
  const env = { PATH: server.env.PATH!, HOME: home, USER: 'ada', SVC_DATA_DIR: server.env.SVC_DATA_DIR! }
  const svc = (...args: string[]) => run([program, ...args], { env, cwd: home })
  const link = (await svc('self-host', 'owner-link')).stdout.trim()
  const signIns = () => server.send<object[]>('GET', '/v1/accounts/dashboard-sessions')
  const before = await signIns()
  const signedIn = await svc('login', '--host', 'work', '--link', link)
  expect([signedIn.code, signedIn.stdout]).toEqual([0, expect.stringContaining('Signed in to work')])
  expect((await svc('projects', 'ls', '--host', 'work')).code).toBe(0)
  expect(await signIns()).toEqual(before)
  const again = await svc('login', '--link', link)
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('already used or has expired')])
  expect((await svc('login', '--link', 'svc_pat_1')).code).toBe(2)
})

test('the sign-in ignores requests of other pages, and Ctrl-C ends it', async () => {
  const { home, said, exited, url, child } = await terminal('fourth')
  const given = new URLSearchParams(new URL(url).hash.slice(1))
  const callback = `http://127.0.0.1:${given.get('port')}/callback`
  const body = JSON.stringify({ state: given.get('state'), code: 'x'.repeat(32) })
  for (const headers of [
    {},
    { origin: 'http://evil.test' },
    { origin: 'null' },
    { origin: server.url, host: 'evil.test' },
  ] as Record<string, string>[]) {
    const reply = await fetch(callback, { method: 'POST', body, headers })
    expect([403, 404]).toContain(reply.status)
    expect(reply.headers.get('access-control-allow-origin')).toBeNull()
  }
  const stranger = new URLSearchParams({ state: 'y'.repeat(32), code: 'x'.repeat(32) })
  expect((await fetch(`${callback}?${stranger.toString()}`)).status).toBe(403)
  const ours = new URLSearchParams({ state: given.get('state')!, code: 'x'.repeat(32) })
  expect((await fetch(`${callback}?${ours.toString()}`, { headers: { host: 'evil.test' } })).status).toBe(404)
  child.kill('SIGINT')
  expect(await exited).toBe(1)
  expect(said.stderr).toContain('Interrupted')
  expect(await Bun.file(join(home, '.config/svc/config.json')).exists()).toBe(false)
})

test('login opens the page at SVC_DASHBOARD_URL and still sends the token to the server', async () => {
  const home = join(server.dir, 'fifth')
  await mkdir(home)
  const child = spawn(program, ['login', '--json'], {
    cwd: home,
    env: {
      PATH: server.env.PATH!,
      HOME: home,
      SVC_API_URL: server.url,
      SVC_DASHBOARD_URL: 'https://pages.example.test/',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const line = await until('the address of the page', async () => said.includes('\n') && said.split('\n')[0])
  expect(JSON.parse(line).open).toStartWith('https://pages.example.test/authorize#port=')
  const ended = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGINT')
  await ended
})
