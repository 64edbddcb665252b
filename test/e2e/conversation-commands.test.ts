/** The conversation of a real agent in the client: followed from its start, watched, joined, aborted, read after the end; and a shell beside it. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { dirname, join } from 'node:path'
import { Screen } from '../../packages/cli/src/testing/screen.ts'
import { git, program, Server, until } from './harness.ts'

setDefaultTimeout(300_000)

let server: Server
let project: string
let session: string
const screens: Screen[] = []
const children: Bun.Subprocess[] = []

beforeAll(async () => {
  server = await Server.start()
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'talk'])).project_id
  const tree = join(server.dir, 'tree')
  await git(server.dir, 'init', '--quiet', '--initial-branch=main', tree)
  await Bun.write(join(tree, 'a.txt'), 'a\n')
  const agent = ['---', 'description: Helps', 'mode: primary', '---', 'You help.\n'].join('\n')
  await Bun.write(join(tree, '.svc/runtime/agents/helper.md'), agent)
  await git(tree, 'add', '.')
  await git(tree, 'commit', '--quiet', '-m', 'First')
  const url = new URL(`${server.url}/v1/projects/${project}/git`)
  url.username = 'x-access-token'
  url.password = server.token
  await git(tree, 'push', '--quiet', url.href, 'main')
})
afterAll(async () => {
  for (const child of children) child.kill()
  for (const screen of screens) await screen[Symbol.asyncDispose]()
  await server?.end()
})

const svc = (...args: string[]) => server.svc(args, { env: { SVC_PROJECT_ID: project } })
const script = (words: string, ...lines: string[]) => [words, '', '```svc-script', ...lines, '```'].join('\n')

/** The output of a program as it arrives. */
function started(...args: string[]) {
  const { PATH, SVC_CONFIG_FILE } = server.env as { PATH: string; SVC_CONFIG_FILE: string }
  const env = { PATH, SVC_CONFIG_FILE, HOME: server.dir, SVC_PROJECT_ID: project }
  const child = Bun.spawn([program, ...args], { cwd: server.dir, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  children.push(child)
  const said = { stdout: '', stderr: '' }
  const read = async (name: 'stdout' | 'stderr') => {
    const decoder = new TextDecoder()
    for await (const bytes of child[name]) said[name] += decoder.decode(bytes, { stream: true })
  }
  const read_ = Promise.all([read('stdout'), read('stderr')])
  const ended = async () => {
    const code = await child.exited
    await read_
    return { code, ...said }
  }
  const says = (what: RegExp) =>
    until(`svc ${args.join(' ')} to say ${what}`, async () => {
      if (child.exitCode !== null && !what.test(said.stdout)) throw new Error(`It ended:\n${said.stdout}${said.stderr}`)
      return what.test(said.stdout)
    })
  return { ended, says }
}

const atWork = () =>
  until('the agent to be at work', async () => {
    const found = await server.api(`/v1/projects/${project}/sessions/${session}?include=activity`)
    return ((await found.json()) as { is_busy: boolean }).is_busy
  })

/** A shell of the user's own in a terminal, from which the client is started. */
async function terminal(): Promise<Screen> {
  const screen = await Screen.run(['/bin/sh', '-i'], {
    env: {
      PATH: `${dirname(program)}:${process.env.PATH}`,
      SVC_CONFIG_FILE: server.env.SVC_CONFIG_FILE!,
      SVC_PROJECT_ID: project,
      ...{ PS1: 'mine> ', CI: '1' },
    },
    ...{ columns: 80, rows: 40 },
  })
  screens.push(screen)
  await screen.waitFor(/^mine>$/m)
  return screen
}

test('new --follow streams the first turn and ends with the change request it opened', async () => {
  const prompt = script(
    'Retire the helper.',
    'git rm -q .svc/runtime/agents/helper.md && git commit -qm "Retire the helper" && git push -q origin HEAD',
    'svc cr open --title "Retire the helper"',
  )
  const args = ['--model', 'svc-scripted-demo', '--agent', 'helper', '--name', 'First name', '--prompt', prompt]
  const { code, stdout, stderr } = await started('sessions', 'new', '--follow', ...args).ended()
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('✓ running') })
  expect(stdout).toContain('All 2 commands of the script ran.')
  expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^#1\topen\tRetire the helper\t/)
  expect(stderr).toContain('svc cr show 1 · svc cr diff 1')
  const [made] = await server.json<{ session_id: string }[]>(['sessions', 'ls', '--project', project])
  session = made!.session_id
  const renamed = await svc('sessions', 'rename', session, 'Helper')
  expect(renamed.stdout).toBe(`✓ Renamed to Helper  ${session}\n`)
})

test('a running turn is watched in a pipe and joined in a terminal, while a shell runs beside it', async () => {
  const prompt = script('Wait for me.', 'until test -e /tmp/go; do sleep 0.2; done; echo "let go"')
  const asking = started('sessions', 'chat', 'Helper', '--prompt', prompt)
  await atWork()
  const watching = started('sessions', 'watch', 'Helper', '--once')
  await watching.says(/› Retire the helper\.[^]*› Wait for me\./)
  const chat = await Screen.svc(['sessions', 'chat', 'Helper'], {
    env: { SVC_CONFIG_FILE: server.env.SVC_CONFIG_FILE!, SVC_PROJECT_ID: project, CI: '1' },
  })
  screens.push(chat)
  await chat.waitFor(/› Wait for me\./)

  const screen = await terminal()
  screen.type('svc sessions shell Helper\r')
  await screen.waitFor(/[$#]$/)
  screen.type('echo "I am $(id -u) in $PWD, $(stty size)"\r')
  await screen.waitFor(/I am 1000 in \/workspace, 40 80/)
  screen.resize(100, 30)
  await until('the shell to be as wide as the terminal', async () => {
    screen.type('clear; stty size\r')
    return /30 100/.test(await screen.waitFor(/^\d+ \d+$/m))
  })
  // Ctrl-C belongs to what runs there.
  screen.type("sh -c 'echo asleep; exec sleep 600'\r")
  await screen.waitFor(/^asleep$/m)
  screen.type('\x03')
  screen.type('touch /tmp/go; exit 7\r')
  await screen.waitFor(/^mine>$/m)
  screen.type('echo "ended with $?"; stty -a | grep -o -e "-*icanon" -e "-*echo "\r')
  const left = await screen.waitFor(/ended with 7\s+(-?)icanon\s+(-?)echo/)
  expect(left).not.toMatch(/-icanon|-echo/)

  const watched = await watching.ended()
  expect(watched.code).toBe(0)
  expect(watched.stdout).toMatch(/› Wait for me\.[^]*✓ bash [^]*let go/)
  expect((await asking.ended()).code).toBe(0)
  await chat.waitFor(/let go[^]*›$/)
  chat.type('\x04')
  expect(await chat.exited()).toBe(0)

  screen.type('clear; svc sessions shell Helper -- sh -c \'test -e /tmp/go && exit 5\'; echo "and $?"\r')
  await screen.waitFor('and 5')
  screen.type('clear; svc sessions shell Helper\r')
  await screen.waitFor(/[$#]$/)
  screen.type('printf "\\033[?1049h\\033[?25l"; kill -9 $$\r')
  await screen.waitFor(/^mine>$/m)
  screen.type('echo "cut off: $?"; stty -a | grep -o -e "-*icanon"\r')
  expect(await screen.waitFor(/cut off: \d+\s+-?icanon/)).not.toContain('-icanon')
  // The page of the terminal that was there before, with its cursor.
  expect(screen.raw).toMatch(/\x1b\[\?1049l[^]*\x1b\[\?25h/)
})

test('three clients that prompt one session at once each print the answer to their own prompt', async () => {
  const words = ['red', 'green', 'blue']
  const asked = words.map((word) =>
    started('sessions', 'chat', 'Helper', '--prompt', script(`Say ${word}.`, `echo "I say ${word}"`)),
  )
  const ended = await Promise.all(asked.map((each) => each.ended()))
  const answers = ended.map(({ code, stdout }) => [code, ...stdout.matchAll(/I say (\w+)/g).map(([, word]) => word)])
  expect(answers).toEqual(words.map((word) => [0, word]))
  expect(ended.map(({ stderr }) => stderr).join('')).toMatch(
    /The prompt waits for (one other prompt|2 other prompts)\./,
  )
})

test('a client whose prompt another person cancels while it waits says so and ends', async () => {
  const watching = started('sessions', 'watch', 'Helper', '--json')
  const busy = started('sessions', 'chat', 'Helper', '--prompt', script('Hold.', 'sleep 600'))
  await watching.says(/"role":"user"[^\n]*Hold\./)
  const waiting = started('sessions', 'chat', 'Helper', '--prompt', script('Never mind.', 'echo never'))
  const queued = await until('the prompt to wait', async () => {
    const found = JSON.parse((await svc('sessions', 'queue', 'Helper', '--json')).stdout) as {
      prompts: { prompt_id: string; text: string }[]
    }
    // The one before it may not be delivered yet.
    return found.prompts.find(({ text }) => text.includes('Never mind.'))
  })
  expect((await svc('sessions', 'cancel', 'Helper', queued.prompt_id)).code).toBe(0)
  const { code, stdout, stderr } = await waiting.ended()
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('error: The prompt was cancelled while it waited, so the agent never got it')
  expect((await svc('sessions', 'abort', 'Helper')).code).toBe(0)
  expect((await busy.ended()).code).toBe(1)
})

test('abort ends the turn for every reader', async () => {
  const busy = started('sessions', 'chat', 'Helper', '--prompt', script('Sleep.', 'echo asleep; sleep 600'))
  const watching = started('sessions', 'watch', 'Helper', '--json')
  await watching.says(/"role":"user"[^\n]*Sleep\.[^]*asleep/)
  const aborted = await svc('sessions', 'abort', 'Helper')
  expect([aborted.code, aborted.stdout]).toEqual([0, `✓ Aborted the turn of Helper  ${session}\n`])
  expect((await busy.ended()).code).toBe(1)
  await watching.says(/"type":"turn","status":"(idle|error)"/)
})

test('a stopped session can be read but refuses a shell, and its log shows a refused prompt', async () => {
  expect((await svc('cr', 'merge', '1')).code).toBe(0)
  expect((await svc('sessions', 'stop', 'Helper')).code).toBe(0)
  const refused = await svc('sessions', 'chat', 'Helper', '--prompt', 'Are you there?')
  expect([refused.code, refused.stdout]).toEqual([1, ''])
  const [, reason] = /error: (The session was not started: its agent "helper" is not .*)/.exec(refused.stderr)!
  const log = await svc('sessions', 'log', 'Helper')
  expect(log.stdout).toMatch(/^Owner, [^\n]*\n› Retire the helper\./)
  expect(log.stdout).toContain('let go')
  expect(log.stdout).toEndWith(`\n› Are you there?\n✗ ${reason}\n`)
  const document = (await svc('sessions', 'log', 'Helper', '--markdown')).stdout
  expect(document).toStartWith('# Helper\n')
  expect(document).toMatch(/\n## Owner, [^\n]*\n\n> Are you there\?\n\n\*\*Failed:\*\* The session was not started/)
  expect(document).toContain('\n✓ **bash** ')

  const screen = await terminal()
  screen.type('svc sessions shell Helper; echo "ended with $?"\r')
  expect(await screen.waitFor('ended with 1')).toContain('The session is stopped, so it has no sandbox to open')
  screen.type('clear; svc sessions shell Helper < /dev/null; echo "ended with $?"\r')
  expect(await screen.waitFor('ended with 2')).toContain('A shell needs a terminal')
})
