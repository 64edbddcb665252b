import { expect, test } from 'bun:test'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { aProject, ids, startService, svc, temporaryFolder } from '../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }

test.each([
  [['projects', 'open', 'app'], '/projects/app'],
  [['projects', 'info', 'app', '--web'], '/projects/app'],
  [['sessions', 'open', ids.session.slice(0, 6)], `/projects/${ids.project}/sessions/${ids.session}`],
  [['sessions', 'info', ids.session, '--web'], `/projects/${ids.project}/sessions/${ids.session}`],
  [['cr', 'show', '3', '--web'], `/projects/${ids.project}/change-requests/3`],
])("svc %p prints the page's URL to stdout", async (args, path) => {
  await using service = startService()
  expect((await svc(args, { service, env })).stdout).toBe(`${service.url}${path}\n`)
  expect((await svc([...args, '--json'], { service, env })).json()).toEqual({ url: `${service.url}${path}` })
  const elsewhere = { ...env, SVC_DASHBOARD_URL: 'https://app.example.com/' }
  expect((await svc(args, { service, env: elsewhere })).stdout).toBe(`https://app.example.com${path}\n`)
})

test('passes the URL to the browser as one argument, whatever characters it has', async () => {
  await using service = startService({ getProject: () => aProject({ slug: 'a b;touch x&$(id)' }) })
  await using folder = await temporaryFolder()
  const browser = join(folder.path, 'browser')
  const opened = join(folder.path, 'opened')
  await writeFile(browser, `#!/bin/sh\nprintf '%s|' "$@" > ${opened}.part && mv ${opened}.part ${opened}\n`)
  await chmod(browser, 0o755)
  const ran = await svc(['projects', 'open'], { service, env: { ...env, BROWSER: browser }, terminal: true })
  expect(ran.stderr).toContain('Opened in the browser.')
  let text = ''
  for (const deadline = Date.now() + 45_000; text === '' && Date.now() < deadline; await Bun.sleep(5))
    text = await readFile(opened, 'utf8').catch(() => '')
  expect(text).toBe(`${service.url}/projects/a%20b%3Btouch%20x%26%24(id)|`)
})

test('says so when no browser can be opened', async () => {
  await using service = startService()
  const without = { ...env, DISPLAY: null, WAYLAND_DISPLAY: null, WSL_DISTRO_NAME: null, BROWSER: '/no/such/browser' }
  const ran = await svc(['projects', 'open'], { service, env: without, terminal: true })
  expect([ran.code, ran.stdout]).toEqual([0, `${service.url}/projects/app\n`])
  expect(ran.stderr).toContain("Can't open a browser here")
})
