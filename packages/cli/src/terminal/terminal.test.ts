/** The client in a real terminal: the screen and the keys. */
import { describe, expect, test } from 'bun:test'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  aChangeRequest,
  aDiff,
  aProject,
  aSession,
  cleanPreview,
  ids,
  previewToConfirm,
  type Service,
  startService,
  token,
} from '../testing.ts'
import { aCheck, theChecks } from '../testing/check.ts'
import { keys, Screen, type ScreenOptions } from '../testing/screen.ts'

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000 - 1000).toISOString()
const at = (service: Service, more: Record<string, string> = {}) => ({
  SVC_API_URL: `${service.url}/v1`,
  SVC_CLI_TOKEN: token,
  SVC_PROJECT_ID: ids.project,
  CI: '1',
  ...more,
})
/** The one varying part of the screen. */
const steady = (text: string, service: Service) => text.replaceAll(service.url, 'http://127.0.0.1:8420')

async function seen(service: Service, args: string[], options: ScreenOptions = {}) {
  await using screen = await Screen.svc(args, { env: at(service), ...options })
  const code = await screen.exited()
  return { code, text: steady(await screen.all(), service) }
}

const patch = (lines: number) => `diff --git a/page.html b/page.html
index 1111111..2222222 100644
--- a/page.html
+++ b/page.html
@@ -1,${lines} +1,${lines} @@
${Array.from({ length: lines }, (_, n) => `-old ${n}\n+new ${n}`).join('\n')}
`

const crowded = () =>
  startService({
    listChangeRequests: ({ query }) => {
      const all = [
        aChangeRequest({
          number: 12,
          cr_id: ids.sandbox,
          title: 'Greet visitors by their name, and in their own language where it is known to us',
          updated_at: minutesAgo(3),
        }),
        aChangeRequest({ number: 7, title: '日本語 title ☕️', head_ref: ids.session, updated_at: minutesAgo(60 * 26) }),
      ]
      return {
        change_requests: query.number === undefined ? all : [aChangeRequest({ number: 12, created_at: minutesAgo(5) })],
      }
    },
    previewChangeRequest: ({ params }) =>
      params.crId === ids.sandbox
        ? cleanPreview
        : { ...cleanPreview, can_merge: false, can_fast_forward: false, conflicts: ['src/a.ts', 'src/b.ts'] },
    getChecks: () => theChecks({ state: 'not_run', reason: 'It conflicts with its base.', checks: [] }),
    getSession: () => aSession({ created_at: minutesAgo(9), last_active_at: minutesAgo(4) }),
    listSessions: ({ query }) =>
      query.status === 'failed'
        ? [aSession({ status: 'failed', name: 'Upgrade the build', error: 'bubblewrap is not installed' })]
        : query.status === 'provisioning'
          ? []
          : [aSession({ last_active_at: minutesAgo(4) })],
  })

describe('screens', () => {
  test.each([
    ['the help of a group', ['cr']],
    ['the help of a command', ['cr', 'open', '--help']],
    ['the list', ['cr', 'ls']],
    ['a change request with conflicts', ['cr', 'show', '12']],
    ['the status', ['status']],
    ['a session', ['sessions', 'info', ids.session]],
    ['an unknown command', ['cr', 'mrege', '3']],
    ['a missing argument', ['cr', 'merge']],
  ])('fits in 90 columns: %s', async (_, args) => {
    await using service = await crowded()
    const { text } = await seen(service, args, { columns: 90 })
    expect(text).toMatchSnapshot()
    for (const line of text.split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(90)
  })

  test('the top-level help shows its sections and fits in 80 columns', async () => {
    await using service = await crowded()
    const { text } = await seen(service, [], { columns: 80, rows: 80 })
    for (const chapter of ['Work', 'Project', 'Account', 'Servers and this client'])
      expect(text).toContain(`\n${chapter}\n`)
    for (const line of text.split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80)
  })

  test('cr ls keeps every row on one line of a narrow terminal', async () => {
    await using service = await crowded()
    const { text } = await seen(service, ['cr', 'ls'], { columns: 60 })
    expect(text).toMatchSnapshot()
  })
})

describe('the picker', () => {
  async function hosts(): Promise<Screen> {
    const screen = await Screen.svc(['hosts', 'use'], { env: { CI: '1' } })
    await mkdir(join(screen.home, '.config/svc'), { recursive: true })
    return screen
  }
  const activeHost = async (screen: Screen) =>
    (JSON.parse(await readFile(join(screen.home, '.config/svc/config.json'), 'utf8')) as { active_host: string })
      .active_host

  test('the picker accepts arrow keys', async () => {
    await using screen = await hosts()
    expect(await screen.waitFor('local-dev')).toMatchSnapshot()
    screen.type(keys.down)
    await screen.waitFor(/● local-dev/)
    screen.type(keys.enter)
    expect(await screen.exited()).toBe(0)
    expect(await activeHost(screen)).toBe('local-dev')
  })

  test('the picker filters by typed text', async () => {
    await using service = startService({
      listProjects: () =>
        ['alpha', 'beta', 'gamma'].map((slug, n) => aProject({ slug, project_id: `${ids.project.slice(0, -1)}${n}` })),
    })
    await using screen = await Screen.svc(['projects', 'link'], { env: at(service) })
    await screen.waitFor('gamma')
    screen.type('gam')
    await screen.waitFor(/Search: gam\S \(1 match\)/)
    expect(steady(await screen.text(), service)).toMatchSnapshot()
    screen.type(keys.enter)
    expect(await screen.exited()).toBe(0)
    expect(await readFile(join(screen.home, '.svc/link.json'), 'utf8')).toContain(`${ids.project.slice(0, -1)}2`)
  })

  test.each([
    ['Ctrl-C', keys.ctrlC],
    ['Escape', keys.escape],
  ])('the picker exits with 1 and changes nothing on %s', async (_, key) => {
    await using screen = await hosts()
    await screen.waitFor('local-dev')
    screen.type(key)
    expect(await screen.exited()).toBe(1)
    expect(await screen.all()).toContain('Cancelled: nothing changed')
    expect(await readFile(join(screen.home, '.config/svc/config.json'), 'utf8').catch(() => null)).toBeNull()
    // The cursor is visible again.
    expect(screen.raw.lastIndexOf('\x1b[?25h')).toBeGreaterThan(screen.raw.lastIndexOf('\x1b[?25l'))
  })

  test('a confirmation defaults to no', async () => {
    await using service = startService()
    await using screen = await Screen.svc(['projects', 'rm', 'app'], { env: at(service) })
    expect(steady(await screen.waitFor('Delete app'), service)).toMatchSnapshot()
    screen.type(keys.enter)
    expect(await screen.exited()).toBe(1)
    expect(service.of('deleteProject')).toEqual([])
  })
})

describe('cr merge with a failed check', () => {
  const failed = () =>
    theChecks({ state: 'failed', checks: [aCheck({ name: 'lint', status: 'failed', reason: 'exit code 1' })] })

  test.each([
    ['n', 1, 0],
    ['y', 0, 1],
  ])('cr merge asks before it merges with a failed check: %s', async (key, code, merges) => {
    await using service = startService({ getChecks: failed })
    await using screen = await Screen.svc(['cr', 'merge', '3'], { env: at(service) })
    expect(await screen.waitFor('Merge #3 anyway?')).toContain('Checks failed: lint')
    screen.type(key)
    expect(await screen.exited()).toBe(code)
    expect(service.of('mergeChangeRequest')).toHaveLength(merges)
  })
})

test.each([
  ['n', [], 1, 0],
  ['y', [], 0, 1],
  ['', ['--yes'], 0, 1],
])('cr merge asks before an effect that needs confirmation: %s %p', async (key, flags, code, merges) => {
  await using service = startService({
    previewChangeRequest: () => previewToConfirm('The secret PAY_KEY goes to pay.example.'),
  })
  await using screen = await Screen.svc(['cr', 'merge', '3', ...flags], { env: at(service) })
  if (key !== '') {
    expect(await screen.waitFor('Merge #3 anyway?')).toContain('The secret PAY_KEY goes to pay.example.')
    screen.type(key)
  }
  expect(await screen.exited()).toBe(code)
  expect(service.of('mergeChangeRequest')).toHaveLength(merges)
})

describe.skipIf(Bun.which('less') === null)('the pager', () => {
  const long = () => startService({ diffChangeRequest: () => aDiff(patch(2000)) })

  test('the pager shows a long diff in color and ends cleanly when the user quits early', async () => {
    await using service = long()
    await using screen = await Screen.svc(['cr', 'diff', '3'], { env: at(service), rows: 20 })
    await screen.waitFor('+new 5')
    expect(await screen.colourOf('+new 5')).toBe(2)
    expect(await screen.colourOf('-old 5')).toBe(1)
    expect(await screen.colourOf('@@')).toBe(6)
    screen.type('q')
    expect(await screen.exited()).toBe(0)
    expect(await screen.all()).not.toContain('rror')
  })

  test('the pager handles every Ctrl-C itself', async () => {
    await using service = long()
    await using screen = await Screen.svc(['cr', 'diff', '3'], { env: at(service), rows: 20 })
    await screen.waitFor('+new 5')
    for (let n = 0; n < 3; n++) screen.type(keys.ctrlC)
    // A terminal drops input from before a Ctrl-C, so this key may have to be pressed again.
    await screen.typeUntil('G', '+new 1999')
    screen.type('q')
    expect(await screen.exited()).toBe(0)
  })

  test('cr diff uses no pager for short output and no color with --no-color', async () => {
    await using service = startService()
    const short = await Screen.svc(['cr', 'diff', '3', '--no-color'], { env: at(service) })
    expect(await short.exited()).toBe(0)
    expect(await short.colourOf('+++ new')).toBeNull()
    await short[Symbol.asyncDispose]()
  })

  test.each([
    ['SVC_PAGER comes before PAGER', { SVC_PAGER: "sed 's/^/svc:/'", PAGER: "sed 's/^/other:/'" }, 'svc:'],
    ['PAGER is used', { PAGER: "sed 's/^/other:/'" }, 'other:'],
    ['a missing pager is skipped', { PAGER: 'no-such-pager' }, 'diff --git'],
  ])('the pager setting: %s', async (_, env, shown) => {
    await using service = startService()
    const { code, text } = await seen(service, ['cr', 'diff', '3'], { env: at(service, env) })
    expect(code).toBe(0)
    expect(text).toContain(shown)
  })
})

test('shows a waiting message for a slow reply, and Ctrl-C leaves a clean line', async () => {
  await using service = startService({ listChangeRequests: () => new Promise(() => {}) })
  await using screen = await Screen.svc(['cr', 'ls'], { env: at(service) })
  await screen.waitFor('waiting for')
  screen.type(keys.ctrlC)
  expect(await screen.exited()).toBe(1)
  expect(steady(await screen.all(), service)).toBe('http://127.0.0.1:8420 (SVC_API_URL)\nerror: Interrupted')
})

describe('colors on a terminal', () => {
  test('uses colors on a terminal, unless NO_COLOR or --no-color is set, which override FORCE_COLOR', async () => {
    await using service = startService()
    const colour = async (args: string[], env: Record<string, string>) => {
      await using screen = await Screen.svc(['cr', 'ls', ...args], { env: at(service, env) })
      await screen.exited()
      return await screen.colourOf('open')
    }
    expect(await colour([], {})).toBe(2)
    expect(await colour([], { NO_COLOR: '1' })).toBeNull()
    expect(await colour(['--no-color'], { FORCE_COLOR: '1' })).toBeNull()
  })
})

/** The input before Tab, and the line after it. */
const completed = {
  'svc cr mer': 'svc cr merge ',
  'svc proj': 'svc projects ',
  'svc cr new --tit': 'svc cr new --title ',
  'svc cr ls --status mer': 'svc cr ls --status merged ',
  'svc cr show ': 'svc cr show 3 ',
  'svc sessions stop 4': 'svc sessions stop 44444444 ',
  'svc cr ls --project a': 'svc cr ls --project app ',
  'svc --project app cr diff ': 'svc --project app cr diff 3 ',
  'svc login --host sel': 'svc login --host selfhost ',
  'svc secrets unset K': 'svc secrets unset KEY ',
  'svc settings set manif': 'svc settings set manifest_gate=',
  'svc members role b': 'svc members role bo@example.com ',
  'svc completion z': 'svc completion zsh ',
  'svc nonsense ': 'svc nonsense ',
}

describe('completion in bash', () => {
  async function bash(service: Service): Promise<Screen> {
    const screen = await Screen.run(['bash', '--norc', '--noprofile', '-i'], { env: at(service, { PS1: '$ ' }) })
    await screen.waitFor('$')
    screen.type('source <(svc completion bash); clear; echo re""ady\r')
    await screen.waitFor(/^ready\n\$$/)
    return screen
  }

  test('completes commands, flags, choices and existing items in bash', async () => {
    await using service = startService()
    await using screen = await bash(service)
    const found: Record<string, string> = {}
    for (const typed of Object.keys(completed)) {
      // The bar marks the end of the completion; Ctrl-U clears the line and Ctrl-L the screen, without a command to wait for.
      screen.type(`${typed}${keys.tab}|`)
      const text = await screen.waitFor(/^\$ .*\|$/m)
      found[typed] = /^\$ (.*)\|$/m.exec(text)![1]!
      screen.type('\x15\x0c')
      await screen.waitFor(/^\$$/)
    }
    expect(found).toEqual(completed)
  })

  test('completes files, and nothing when there is no server', async () => {
    await using service = startService()
    await using screen = await bash(service)
    await writeFile(join(screen.home, 'unusual-name.env'), '')
    screen.type(`svc env push --from unus${keys.tab}|`)
    await screen.waitFor('--from unusual-name.env |')
    screen.type('\x15export SVC_API_URL=http://127.0.0.1:1; clear; echo aw""ay\r')
    await screen.waitFor(/^away\n\$$/)
    screen.type(`svc cr show ${keys.tab}|`)
    await screen.waitFor('$ svc cr show |')
  })
})
