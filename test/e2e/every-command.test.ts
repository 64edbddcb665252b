/** Every command of the client against a real server, as a script runs it: without a terminal. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { makeToken } from '@svc/contract/schemas/token-format'
import { git, program, type Ran, run, Server, until } from './harness.ts'
import { callThatWaits } from './every-command-connector.ts'
import { manifest } from './every-command-manifest.ts'

const minutes = 60_000
let server: Server
let dir: string
/** A clone of the project, linked to it. */
let clone: string
let project: string
let session: string
let count = 0

interface Described {
  command: string
  args: { name: string; optional: boolean }[]
  flags: { name: string; required?: true }[]
}
const described: Described[] = (
  JSON.parse((await run([program, 'help', '--json'])).stdout) as { commands: Described[] }
).commands
const names = described.map(({ command }) => command.replace(/^svc /, ''))

const svc = (args: string[], options: { input?: string; env?: Record<string, string>; cwd?: string } = {}) =>
  server.svc(args, { cwd: clone, ...options })

async function pushBranch(): Promise<string> {
  const branch = `work-${++count}`
  await git(clone, 'switch', '--quiet', '--create', branch, 'main')
  await Bun.write(join(clone, `${branch}.txt`), `${branch}\n`)
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', branch)
  await git(clone, 'push', '--quiet', remote(), branch)
  await git(clone, 'switch', '--quiet', 'main')
  return branch
}

function remote(): string {
  const url = new URL(`${server.url}/v1/projects/${project}/git`)
  url.username = 'x-access-token'
  url.password = server.token
  return url.href
}

async function openOne(...more: string[]): Promise<string> {
  const made = await server.json<{ number: number }>([
    ...['cr', 'open', '--title', 'A change', '--head', await pushBranch(), '--project', project, ...more],
  ])
  return String(made.number)
}

async function newSession(): Promise<string> {
  const made = await server.json<{ session_id: string }>([
    ...['sessions', 'new', '--no-wait', '--model', 'svc-scripted-demo', '--project', project],
  ])
  return made.session_id
}

async function running(id: string): Promise<string> {
  await until('the session to run', async () => {
    const { session } = await server.json<{ session: { status: string; error: string | null } }>([
      'sessions',
      'info',
      id,
      '--project',
      project,
    ])
    if (session.status === 'failed') throw new Error(session.error ?? 'failed')
    return session.status === 'running'
  })
  return id
}

async function stoppedSession(): Promise<string> {
  const id = await newSession()
  await server.json(['sessions', 'stop', id, '--project', project])
  return id
}

/** Stops what a command leaves running: its agent runtime would slow down all later commands. */
async function stopTheOthers(): Promise<void> {
  const path = `/v1/projects/${project}/sessions`
  const sessions = (await (await server.api(path)).json()) as { session_id: string; status: string }[]
  for (const { session_id: id, status } of sessions)
    if (id !== session && !['stopped', 'failed'].includes(status))
      await server.api(`${path}/${id}/stop`, { method: 'POST' })
}

const freshName = (word: string) => `${word}-${++count}`
const newMember = async () => {
  const email = `${freshName('m')}@example.test`
  await server.json(['members', 'add', email])
  return email
}

/** No server listens there: only the request matters here. */
const receiver = 'http://127.0.0.1:1/hook'
let madeWebhook: string | null = null

/** The one made last, or a new one after it was removed: a project has room for a few. */
async function webhook(): Promise<string> {
  const { webhooks } = await server.json<{ webhooks: { webhook_id: string }[] }>([
    ...['webhooks', 'ls', '--project', project],
  ])
  if (webhooks.some(({ webhook_id: id }) => id === madeWebhook)) return madeWebhook!
  const made = await server.json<{ webhook_id: string }>(['webhooks', 'add', receiver, '--project', project])
  madeWebhook = made.webhook_id
  return madeWebhook
}

interface Call {
  args: (string | Promise<string>)[]
  input?: string
  cwd?: string
}

/** A good call of each; it is made twice, so what it changes is made anew each time. */
const good: Record<string, () => Call | Promise<Call>> = {
  login: () => ({ args: ['--token', server.token] }),
  whoami: () => ({ args: [] }),
  status: () => ({ args: [] }),
  audit: () => ({ args: ['--limit', '5'] }),
  usage: () => ({ args: ['--days', '7'] }),
  'projects create': () => ({ args: ['--name', freshName('made')] }),
  'projects ls': () => ({ args: [] }),
  'projects info': () => ({ args: [] }),
  'projects link': () => ({ args: ['app'] }),
  'projects open': () => ({ args: [] }),
  'projects unlink': async () => ({ args: [], cwd: await mkdtemp(join(dir, 'unlinked-')) }),
  'projects rm': async () => {
    const name = freshName('doomed')
    await server.json(['projects', 'create', '--name', name])
    return { args: [name, '--yes'] }
  },
  'projects restore': async () => {
    const name = freshName('deleted')
    await server.json(['projects', 'create', '--name', name])
    await server.json(['projects', 'rm', name, '--yes'])
    return { args: [name] }
  },
  'sessions new': () => ({ args: ['--no-wait', '--model', 'svc-scripted-demo'] }),
  'sessions ls': () => ({ args: [] }),
  'sessions info': () => ({ args: [session] }),
  'sessions open': () => ({ args: [session.slice(0, 8)] }),
  'sessions chat': () => ({
    args: [session, '--prompt', 'Do this.\n\n```svc-script\necho hello\n```'],
  }),
  'sessions watch': () => ({ args: [session, '--once'] }),
  'sessions log': () => ({ args: [session] }),
  'sessions rename': () => ({ args: [session, freshName('named')] }),
  'sessions abort': () => ({ args: [session] }),
  'sessions queue': () => ({ args: [session] }),
  'sessions questions': () => ({ args: [] }),
  'sessions files': () => ({ args: [session] }),
  'sessions preview': () => ({ args: [session, '5173'] }),
  'sessions stop': () => ({ args: [newSession()] }),
  'sessions restart': () => ({ args: [stoppedSession()] }),
  'sessions refresh': () => ({ args: [session] }),
  'sessions rm': () => ({ args: [newSession(), '--yes'] }),
  api: () => ({ args: ['/v1/projects'] }),
  password: () => ({ args: [] }),
  man: () => ({ args: ['cr', 'merge'] }),
  'branches ls': () => ({ args: [] }),
  compare: () => ({ args: [pushBranch()] }),
  'file ls': () => ({ args: [] }),
  'file show': () => ({ args: ['svc.toml'] }),
  'browsers ls': () => ({ args: [] }),
  'alias set': () => ({ args: ['co', 'cr checkout'] }),
  'alias ls': () => ({ args: [] }),
  'alias rm': async () => (await server.json(['alias', 'set', 'gone', 'cr ls']), { args: ['gone'] }),
  'cr open': () => ({ args: ['--title', 'From a script', '--head', pushBranch()] }),
  'cr ls': () => ({ args: [] }),
  'cr show': () => ({ args: [openOne()] }),
  'cr diff': () => ({ args: [openOne()] }),
  'cr edit': () => ({ args: [openOne(), '--title', 'Edited'] }),
  'cr ready': () => ({ args: [openOne()] }),
  'cr comment': () => ({ args: [openOne(), '--body', 'Fine'] }),
  'cr review': () => ({ args: [openOne('--session', session), '--body', 'Fine'] }),
  'cr reviews': () => ({ args: [openOne()] }),
  'cr answer': async () => {
    const number = await openOne()
    const comment = ['cr', 'comment', number, '--body', 'Why?', '--project', project]
    const { thread } = await server.json<{ thread: { comment_id: string } }>(comment)
    return { args: [thread.comment_id, '--cr', number, '--decline', 'It has to'] }
  },
  'cr apply': async () => {
    const number = await openOne()
    const { files } = await server.json<{ files: { path: string }[] }>(['cr', 'diff', number, '--project', project])
    const suggestion = ['--at', `${files[0]!.path}:1`, '--body', '```suggestion\nsuggested\n```']
    const comment = ['cr', 'comment', number, ...suggestion, '--project', project]
    const { comments } = await server.json<{ comments: { comment_id: string }[] }>(comment)
    return { args: [comments[0]!.comment_id, '--cr', number] }
  },
  'cr origin': async () => {
    const number = await openOne()
    const { files } = await server.json<{ files: { path: string }[] }>(['cr', 'diff', number, '--project', project])
    return { args: [number, `${files[0]!.path}:1`] }
  },
  inbox: () => ({ args: [] }),
  'cr checkout': () => ({ args: [openOne()] }),
  'cr checks': () => ({ args: [openOne()] }),
  'cr merge': () => ({ args: [openOne()] }),
  'cr verify': async () => {
    const number = await openOne()
    await server.json(['cr', 'merge', number, '--project', project])
    return { args: [number] }
  },
  'cr close': () => ({ args: [openOne()] }),
  'cr reopen': async () => {
    const number = await openOne()
    await server.json(['cr', 'close', number, '--project', project])
    return { args: [number] }
  },
  'apps ls': () => ({ args: [] }),
  'apps show': () => ({ args: ['site'] }),
  'apps deploy': () => ({ args: ['site', '--wait'] }),
  'apps stop': () => ({ args: ['site'] }),
  'apps rollback': async () => {
    for (const _ of [1, 2]) await server.json(['apps', 'deploy', 'site', '--wait', '--project', project])
    return { args: ['site', '--wait'] }
  },
  'apps logs': () => ({ args: ['site'] }),
  'apps open': () => ({ args: ['site'] }),
  'triggers ls': () => ({ args: [] }),
  'triggers info': () => ({ args: ['nightly'] }),
  'triggers fire': () => ({ args: ['nightly', '--message', 'Only the parser'] }),
  'triggers disable': async () => {
    await server.json(['triggers', 'enable', 'nightly', '--project', project])
    return { args: ['nightly'] }
  },
  'triggers enable': async () => {
    await server.json(['triggers', 'disable', 'nightly', '--project', project])
    return { args: ['nightly'] }
  },
  'connectors ls': () => ({ args: [] }),
  'connectors show': () => ({ args: ['shop'] }),
  'connectors check': () => ({ args: ['shop'] }),
  'connectors policy': () => ({ args: ['shop', 'ask', '--tool', 'request'] }),
  'connectors approvals': () => ({ args: [] }),
  'connectors approve': async () => ({ args: [await callThatWaits(server, project, `/call-${++count}`)] }),
  'connectors deny': async () => ({ args: [await callThatWaits(server, project, `/call-${++count}`)] }),
  'secrets set': () => ({ args: ['A_SECRET=-'], input: 'value\n' }),
  'secrets ls': () => ({ args: [] }),
  'secrets unset': async () => {
    await server.json(['secrets', 'set', 'GONE=soon', '--project', project])
    return { args: ['GONE'] }
  },
  'env pull': () => ({ args: ['--out', '-'] }),
  'env push': () => ({ args: ['--from', '-'], input: 'export FROM_A_FILE="a value" # why\n' }),
  'settings ls': () => ({ args: [] }),
  'settings set': () => ({ args: ['manifest_gate=off'] }),
  'accounts ls': () => ({ args: [] }),
  'accounts use': () => ({ args: ['Personal'] }),
  'accounts create': () => ({ args: [freshName('team'), '--plan', 'free'] }),
  'accounts edit': () => ({ args: ['Personal', '--plan', 'selfhost'] }),
  'models ls': () => ({ args: [] }),
  'models set': () => ({ args: [`http://127.0.0.1:${modelServer.port}/v1`, '--model', 'a-model'] }),
  'models rm': () => ({ args: ['--yes'] }),
  'members ls': () => ({ args: [] }),
  'members add': () => ({ args: [`${freshName('new')}@example.test`] }),
  'members role': () => ({ args: [newMember(), 'viewer'] }),
  'members rm': () => ({ args: [newMember(), '--yes'] }),
  'tokens ls': () => ({ args: [] }),
  'tokens create': () => ({ args: ['--name', freshName('token'), '--expires', '1d'] }),
  'tokens revoke': async () => {
    const name = freshName('doomed')
    await server.json(['tokens', 'create', '--name', name])
    return { args: [name] }
  },
  'hosts add': () => ({ args: [freshName('host'), '--url', 'https://svc.example.com'] }),
  'hosts ls': () => ({ args: [] }),
  'hosts use': () => ({ args: ['selfhost'] }),
  'hosts info': () => ({ args: [] }),
  'hosts current': () => ({ args: [] }),
  'hosts rm': async () => {
    const name = freshName('host')
    await server.json(['hosts', 'add', name, '--url', 'https://svc.example.com'])
    return { args: [name, '--yes'] }
  },
  'self-host owner-link': () => ({ args: [] }),
  events: () => ({ args: ['--after', '0'] }),
  'webhooks ls': () => ({ args: [] }),
  'webhooks add': () => ({ args: [receiver, '--events', 'deploy.*'] }),
  'webhooks show': async () => ({ args: [await webhook()] }),
  'webhooks edit': async () => ({ args: [await webhook(), '--pause'] }),
  'webhooks rm': async () => ({ args: [await webhook(), '--yes'] }),
  'webhooks ping': async () => ({ args: [await webhook()] }),
  'webhooks deliveries': async () => ({ args: [await webhook()] }),
  'webhooks redeliver': async () => {
    const id = await webhook()
    const made = await server.json<{ delivery_id: string }>(['webhooks', 'ping', id, '--project', project])
    return { args: [made.delivery_id, id] }
  },
  'projects webhook': () => ({ args: ['--rotate'] }),
  'manifest validate': () => ({ args: ['-'], input: 'svc_version = 1\n' }),
  completion: () => ({ args: ['bash'] }),
  version: () => ({ args: [] }),
  help: () => ({ args: [] }),
}

/** They start or stop servers, replace the program, or sign out this client: each has a story of its own. */
const elsewhere: readonly string[] = [
  ...['logout', 'ship', 'tour', 'init', 'update', 'uninstall', 'browsers revoke'],
  ...['sessions recover', 'sessions answer', 'sessions cancel', 'sessions shell', 'cr pull-request'],
  ...names.filter((name) => /^(self-host (?!owner-link)|channels)/.test(name)),
]

/** Commands that send no token, so that no server can refuse it: they ask no server, or the socket in its data folder. */
const alone = /^(hosts|manifest|completion|man|alias|version|help|projects unlink|self-host owner-link)/

/** It is asked once before it is saved. */
const modelServer = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Response.json({ choices: [] }) })

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-every-'))
  clone = join(dir, 'clone')
  server = await Server.start()
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'app'], { cwd: dir }))
    .project_id
  await git(dir, 'init', '--quiet', '--initial-branch=main', clone)
  await Bun.write(join(clone, 'a.txt'), 'a\n')
  await Bun.write(join(clone, 'svc.toml'), manifest)
  await Bun.write(join(clone, '.gitignore'), '.svc/link.json\n')
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', 'First')
  await git(clone, 'push', '--quiet', remote(), 'main')
  await server.json(['projects', 'link', 'app'], { cwd: clone })
  session = await running(await newSession())
}, 4 * minutes)

afterAll(async () => {
  await server?.end()
  await modelServer.stop(true)
  await rm(dir, { recursive: true, force: true })
}, minutes)

test('this test has every command, or names the story that covers it', () => {
  expect(names.toSorted()).toEqual(
    [...Object.keys(good), ...elsewhere.filter((name) => names.includes(name))].toSorted(),
  )
})

async function call(name: string, more: string[]): Promise<Ran> {
  const { args, ...options } = await good[name]!()
  const words = await Promise.all(args)
  return svc([...name.split(' '), ...words, ...more], options)
}

describe.each(names.filter((name) => name in good))('svc %s', (name) => {
  test(
    'succeeds and prints one JSON document with --json',
    async () => {
      const asText = await call(name, [])
      expect([asText.code, asText.stderr]).toEqual([0, expect.any(String)])
      expect(asText.stdout + asText.stderr).not.toMatch(/\x1b/)
      const asJson = await call(name, ['--json'])
      expect([asJson.code, asJson.stderr.replace(/^\{"warning".*\n/gm, '')]).toEqual([0, ''])
      // A conversation is a stream: one document a line.
      const documents = ['sessions chat', 'sessions watch'].includes(name)
        ? asJson.stdout.trim().split('\n')
        : [asJson.stdout]
      for (const document of documents) expect(JSON.parse(document)).toBeDefined()
      await stopTheOthers()
    },
    2 * minutes,
  )

  test('exits with 2 for an unknown flag and for a missing argument', async () => {
    const { args, flags } = described.find(({ command }) => command === `svc ${name}`)!
    const unknown = await svc([...name.split(' '), '--frobnicate', '--json'])
    expect([unknown.code, unknown.stdout]).toEqual([2, ''])
    const needed = [...args.filter((arg) => !arg.optional), ...flags.filter((flag) => flag.required)]
    if (needed.length === 0) return
    const missing = await svc([...name.split(' '), '--json'])
    expect([missing.code, JSON.parse(missing.stderr)]).toMatchObject([2, { code: 'usage' }])
  })

  if (alone.test(name)) return

  test('exits with 1 for an unknown token and says what to do', async () => {
    const nobody = makeToken((size) => randomBytes(size))
    const { args, input } = name === 'login' ? { args: ['--token', nobody], input: undefined } : await inert(name)
    const env = { SVC_API_URL: server.url, SVC_CLI_TOKEN: nobody, SVC_PROJECT_ID: project }
    const refused = await svc([...name.split(' '), ...args, '--json'], {
      env,
      ...(input === undefined ? {} : { input }),
    })
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    const problem = JSON.parse(refused.stderr.trim().split('\n').at(-1)!) as { code: string; next: string[] }
    expect(problem).toMatchObject({ code: 'unauthenticated' })
    expect(problem.next.join('\n')).toContain('svc login')
  })
})

/** Words that are enough to be sent, for calls that change nothing because they are refused. */
async function inert(name: string): Promise<{ args: string[]; input?: string }> {
  const some: Record<string, { args: string[]; input?: string }> = {
    'projects info': { args: [project] },
    'projects link': { args: [project] },
    'projects open': { args: [project] },
    'projects rm': { args: [project, '--yes'] },
    'projects restore': { args: [project] },
    'sessions stop': { args: [session] },
    'sessions restart': { args: [session] },
    'sessions refresh': { args: [session] },
    'sessions rm': { args: [session, '--yes'] },
    'cr open': { args: ['--title', 'x', '--head', 'y'] },
    'models set': { args: ['http://127.0.0.1:9/v1', '--model', 'x'] },
    'cr edit': { args: ['1', '--title', 'x'] },
    'cr comment': { args: ['1', '--body', 'x'] },
    'cr review': { args: ['1', '--body', 'x'] },
    'cr answer': { args: ['x', '--cr', '1', '--decline', 'x'] },
    'cr apply': { args: ['x', '--cr', '1'] },
    'cr origin': { args: ['1', 'a.txt:1'] },
    'members role': { args: ['a@example.test', 'viewer'] },
    'members rm': { args: ['a@example.test', '--yes'] },
    'tokens revoke': { args: ['x'] },
    'secrets unset': { args: ['X'] },
  }
  if (name in some) return some[name]!
  if (name.startsWith('cr ') && name !== 'cr ls') return { args: ['1'] }
  const { args, input } = await good[name]!()
  return { args: await Promise.all(args), ...(input === undefined ? {} : { input }) }
}

test(
  'the client in a sandbox finds its project and session in the environment',
  async () => {
    const commands = [
      'test -e ~/.config/svc/config.json || echo "config: none"',
      'echo "whoami: $(svc whoami --json | tr -d "\\n")"',
      'echo inside > inside.txt && git add . && git commit -qm Inside && git push -q origin HEAD',
      'echo "opened: $(svc cr open --title "From inside" --body - --json <<< "Why" | tr -d "\\n")"',
      'echo "mine: $(svc cr show @ --json | tr -d "\\n")"',
      'echo "list: $(svc cr ls | cut -f1,3 | grep "From inside")"',
      'echo "diff: $(svc cr diff @ | grep "^+inside")"',
      'echo "secrets: $(svc secrets ls | cut -f1 | tr "\\n" " ")"',
      'echo "sessions: $(svc sessions ls | grep -c "$SVC_SESSION_ID")"',
      'svc cr ls > /dev/null 2>&1; echo "good: $?"',
      'svc cr show 9999 > /dev/null 2>&1; echo "failed: $?"',
      'svc cr show > /dev/null 2>&1; echo "usage: $?"',
      'svc projects ls --json > /dev/null; echo "account: $?"',
      'svc cr merge @ --json; echo "merge: $?"',
      'echo "ALL DONE"',
    ]
    await server.json(['secrets', 'set', 'SEEN_INSIDE=x', '--project', project])
    const prompt = ['Do this.', '', '```svc-script', ...commands, '```'].join('\n')
    const made = await server.json<{ session_id: string }>([
      ...['sessions', 'new', '--no-wait', '--model', 'svc-scripted-demo', '--prompt', prompt, '--project', project],
    ])
    const said = await until(
      'the agent to say everything',
      async () => {
        const response = await server.api(`/v1/projects/${project}/sessions/${made.session_id}/transcript`)
        const { messages } = (await response.json()) as { messages: { role: string; parts: { output?: string }[] }[] }
        const text = messages.flatMap(({ parts }) => parts.map(({ output }) => output ?? '')).join('\n')
        return /^ALL DONE/m.test(text) && text
      },
      3.5 * minutes,
    )
    const after = (word: string) => new RegExp(`^${word}: (.*)$`, 'm').exec(said)?.[1] ?? `no ${word} in:\n${said}`
    expect(after('config')).toBe('none')
    expect(JSON.parse(after('whoami'))).toMatchObject({
      kind: 'project',
      project_id: project,
      session_id: made.session_id,
    })
    expect(JSON.parse(after('opened'))).toMatchObject({
      title: 'From inside',
      description: 'Why',
      head_ref: made.session_id,
      base_ref: 'main',
      origin_session_id: made.session_id,
    })
    expect(JSON.parse(after('mine'))).toMatchObject({ merge_preview: { can_merge: true } })
    expect(after('list')).toMatch(/^#\d+\tFrom inside$/)
    expect(after('diff')).toBe('+inside')
    expect(after('secrets')).toContain('SEEN_INSIDE')
    expect(after('sessions')).toBe('1')
    const codes = ['good', 'failed', 'usage', 'account', 'merge'].map((word) => [word, after(word)])
    expect(codes).toEqual([
      ['good', '0'],
      ['failed', '1'],
      ['usage', '2'],
      ['account', '1'],
      ['merge', '1'],
    ])
    expect(said).toContain('"agent_merge_forbidden"')
  },
  4 * minutes,
)
