/** The questions of the first start in a real terminal. */
import { expect, test } from 'bun:test'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { keys, Screen } from '../testing/screen.ts'

const kept = (screen: Screen) => join(screen.home, '.config/svc/self-host.env')

test('stores each answer as a setting that only the owner can read, and does not show the token', async () => {
  await using screen = await Screen.svc(['self-host', 'configure'], { env: { CI: '1' } })
  await screen.waitFor('1/3  Where should apps be deployed')
  screen.type(keys.enter)
  await screen.waitFor('2/3  Which git credential')
  screen.type(keys.down)
  await screen.waitFor(/● A personal access token/)
  screen.type(keys.enter)
  await screen.waitFor('Name of the host')
  screen.type(keys.enter)
  await screen.waitFor('The token')
  screen.type('a-secret-of-the-host')
  screen.type(keys.enter)
  await screen.waitFor('3/3  How do agents connect')
  expect(await screen.all()).toMatchSnapshot()
  screen.type(keys.down)
  await screen.waitFor(/● Nothing/)
  screen.type(keys.enter)
  expect(await screen.exited()).toBe(0)
  expect(screen.raw).not.toContain('a-secret-of-the-host')
  const settings = await readFile(kept(screen), 'utf8')
  for (const [name, value] of Object.entries({
    SVC_APP_PROVIDER: 'local',
    SVC_GIT_HOST: 'github.com',
    SVC_GIT_HOST_TOKEN: 'a-secret-of-the-host',
    SVC_CONNECTOR_PROVIDER: 'none',
  }))
    expect(settings).toMatch(new RegExp(`^${name}=['"]?${value}['"]?$`, 'm'))
  expect((await stat(kept(screen))).mode & 0o777).toBe(0o600)
})

test('Ctrl-C at any question changes nothing and exits with 1', async () => {
  await using screen = await Screen.svc(['self-host', 'configure'], { env: { CI: '1' } })
  await screen.waitFor('1/3  Where should apps be deployed')
  screen.type(keys.enter)
  await screen.waitFor('2/3  Which git credential')
  screen.type(keys.ctrlC)
  expect(await screen.exited()).toBe(1)
  expect(await screen.all()).toContain('Cancelled: nothing changed')
  expect(await stat(kept(screen)).catch(() => null)).toBeNull()
})
