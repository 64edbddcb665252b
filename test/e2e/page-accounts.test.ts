/** A person signs in by links and switches between two accounts in a real browser. */
import { expect, test } from 'bun:test'
import { browserPath, openBrowser } from './browser.ts'
import { Server } from './harness.ts'
import { beginPageStory, expectItLooksRight } from './page-story.ts'

test.skipIf(!browserPath)(
  'the menu switches the account, and projects, members and new projects follow',
  async () => {
    const server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
    const browser = await openBrowser()
    try {
      const link = /(http:\/\/\S+\/sign-in#\S+)/.exec(server.output)?.[1] ?? ''
      await server.json(['projects', 'create', '--name', 'first'])
      await server.json(['accounts', 'create', 'Research', '--plan', 'team'])
      await server.json(['accounts', 'use', 'Research'])
      await server.json(['projects', 'create', '--name', 'second'])

      const page = await (await browser.newContext({ viewport: { width: 1100, height: 700 } })).newPage()
      await page.goto(link)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('link', { name: 'Projects' }).click()
      await page.getByRole('link', { name: 'first' }).waitFor()
      expect(await page.getByRole('link', { name: 'second' }).count()).toBe(0)

      await page.getByRole('button', { name: 'Owner' }).click()
      await page.getByRole('menuitemradio', { name: 'Research' }).waitFor()
      if (process.env.SVC_TEST_SCREENS) await page.screenshot({ path: `${process.env.SVC_TEST_SCREENS}/accounts.png` })
      await page.getByRole('menuitemradio', { name: 'Research' }).click()
      await page.getByRole('link', { name: 'second' }).waitFor()
      expect(await page.getByRole('link', { name: 'first' }).count()).toBe(0)

      await page.getByRole('link', { name: 'New project' }).click()
      await page.getByLabel(/^Name/).fill('third')
      await page.getByRole('button', { name: 'Create project' }).click()
      await page.waitForURL('**/projects/third/sessions')
      const [, ...accounts] = await server.json<{ account_id: string }[]>(['accounts', 'ls'])
      const projects = await server.json<{ name: string; account_id: string }[]>(['projects', 'ls'])
      expect(projects.find(({ name }) => name === 'third')?.account_id).toBe(accounts[0]!.account_id)
    } finally {
      await browser.close()
      await server.end()
    }
  },
  120_000,
)

test.skipIf(!browserPath)(
  'the menu and the palette offer the audit log to those who may read it, and not to a member',
  async () => {
    const story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' })
    const { page } = story
    try {
      let isMember = false
      await page.route('**/v1/accounts/me', async (route) => {
        const reply = await route.fetch()
        const { account, accounts, ...me } = (await reply.json()) as { account: object; accounts: object[] }
        const role = isMember ? 'member' : 'admin'
        const as = (of: object) => ({ ...of, role })
        await route.fulfill({ response: reply, json: { ...me, account: as(account), accounts: accounts.map(as) } })
      })
      for (const isOffered of [true, false]) {
        isMember = !isOffered
        await page.goto(`${story.server.url}/projects`)
        await page.getByRole('button', { name: /^Search or jump to/ }).click()
        await page.getByRole('combobox').fill('audit')
        await (
          isOffered ? page.getByRole('option', { name: /^Audit/ }) : page.getByText('Nothing found for “audit”.')
        ).waitFor()
        await page.keyboard.press('Escape')
        await page.getByRole('combobox').waitFor({ state: 'detached' })
        await page.getByRole('button', { name: 'Owner' }).click()
        await page.getByRole('menuitem', { name: 'Members' }).waitFor()
        expect(await page.getByRole('menuitem', { name: 'Audit' }).count()).toBe(isOffered ? 1 : 0)
        await page.keyboard.press('Escape')
      }
    } finally {
      await story.end()
    }
  },
  120_000,
)

test.skipIf(!browserPath)(
  'a sign-in link pasted into a tab that asks for a sign-in opens the requested page',
  async () => {
    const server = await Server.start({ SVC_SANDBOX_DRIVER: 'none' })
    const browser = await openBrowser()
    try {
      const link = async () => (await server.json<{ url: string }>(['self-host', 'owner-link'])).url
      const page = await (await browser.newContext()).newPage()
      await page.goto(`${server.url}/sign-in`)
      await page.getByText('Sign in to svc').waitFor()
      await page.goto(`${server.url}/sign-in#not-a-link`)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('alert').waitFor()
      await page.goto(await link())
      await page.getByText('This link signs you in').waitFor()

      await page.goto(`${server.url}/account/tokens?kind=user`)
      await page.getByText('Sign in to svc').waitFor()
      await page.goto(await link())
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.waitForURL(`${server.url}/account/tokens?kind=user`)
    } finally {
      await browser.close()
      await server.end()
    }
  },
  120_000,
)

test.skipIf(!browserPath)(
  'a user without a password confirms by a link, which comes back to the page',
  async () => {
    const story = await beginPageStory({ SVC_SANDBOX_DRIVER: 'none' })
    try {
      const { page, server, complaints } = story
      const refusal = {
        error: 'Confirm your identity: your last sign-in was too long ago.',
        code: 'confirmation_needed',
      }
      await page.route('**/members', (route) =>
        route.request().method() === 'POST' ? route.fulfill({ status: 403, json: refusal }) : route.continue(),
      )
      await page.goto(`${server.url}/account/members`)
      await page.getByLabel('Email').fill('ada@example.com')
      await page.getByRole('button', { name: 'Invite member' }).click()
      const dialog = page.getByRole('alertdialog', { name: "Confirm it's you" })
      await dialog.getByText('svc self-host owner-link').waitFor()
      await expectItLooksRight(story, 'confirm-without-password')
      await page.unrouteAll({ behavior: 'wait' })
      const { url } = await server.json<{ url: string }>(['self-host', 'owner-link'])
      await page.goto(url)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.waitForURL(`${server.url}/account/members`)
      await page.getByLabel('Email').fill('ada@example.com')
      await page.getByRole('button', { name: 'Invite member' }).click()
      await page.getByText('ada@example.com').first().waitFor()
      expect(await dialog.count()).toBe(0)

      // A first password needs the same.
      await page.route('**/v1/accounts/password', (route) =>
        route.request().method() === 'POST' ? route.fulfill({ status: 403, json: refusal }) : route.continue(),
      )
      await page.goto(`${server.url}/account/profile`)
      await page.getByLabel('Email').fill('owner@example.com')
      await page.getByLabel('New password').fill('a password of mine')
      await page.getByRole('button', { name: 'Save password' }).click()
      await dialog.getByText('svc self-host owner-link').waitFor()
      // No way from here leads back to the same dialog.
      await dialog.getByText('After that sign-in, set a password on your profile').waitFor()
      expect(await dialog.getByRole('link').count()).toBe(0)
      expect(complaints).toEqual([])
    } finally {
      await story.end()
    }
  },
  120_000,
)
