/** The stable command line: every command, alias and flag that scripts may rely on, and the defaults. */
import { describe, expect, test } from 'bun:test'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeToken } from '@svc/contract/schemas/token-format'
import { catalogue } from './catalogue.ts'
import { type Answers, ids, startService, svc, temporaryFolder, token } from '../testing.ts'

/** In the form of the usage lines: `<needed> [optional]`, then flags; a required flag ends in `!`. */
const promised = `
login --token --host --api
logout --host
whoami --host
hosts ls
hosts use [name]
hosts add <name> --url! --login
hosts rm <name>
hosts info [name]
hosts current
self-host start
self-host configure
self-host env <action> [settings]
self-host logs [service]
self-host stop
projects ls
projects info [project]
projects link [project]
projects unlink
projects open [project]
secrets ls --project
secrets set <pairs>
secrets unset <names>
env pull --out --force
env push --from!
sessions ls
sessions info <id>
sessions new --prompt
sessions restart <id>
sessions rm <id>
sessions open <id>
sessions chat [id] --prompt --new
sessions talk=chat [id] --prompt --new
sessions preview <id> [port]
apps ls
apps show <app>
apps info=show <app>
apps deploy <app> --wait
apps stop <app>
apps rollback <app> --to --wait
apps logs <app> --follow
apps open <app>
triggers ls
triggers info <slug>
triggers fire <slug>
triggers enable <slug>
triggers disable <slug>
cr ls --status --project
cr show <cr> --project
cr info=show <cr> --project
cr diff <cr> --no-color --project
cr open --title --description --head --base --session --project --from --into --body
cr new=open --title --from --into --body
cr create=open --title --from --into --body
cr merge <cr> --message --project
cr close <cr> --project
cr reopen <cr> --project
update
uninstall --keep-home --keep-auth
version
init
ship
deploy=ship
help [command]
`
  .trim()
  .split('\n')

interface Described {
  command: string
  args: { name: string; optional: boolean }[]
  flags: { name: string; required?: true; aliases?: string[] }[]
}

test.each(promised)('the client has the promised command svc %s', async (line) => {
  const pieces = line.split(' ')
  const words = pieces.filter((piece) => /^[a-z]/.test(piece))
  const typed = words.map((word) => word.split('=')[0]!)
  const { commands } = (await svc([...typed, '--help', '--json'])).json<{ commands: Described[] }>()
  const [found] = commands
  expect(found!.command).toBe(['svc', ...words.map((word) => word.split('=').at(-1)!)].join(' '))
  const args = pieces.filter((piece) => /^[<[]/.test(piece))
  expect(found!.args.map(({ name, optional }) => (optional ? `[${name}]` : `<${name}>`))).toEqual(args)
  for (const flag of pieces.filter((piece) => piece.startsWith('--'))) {
    const name = flag.replace(/^--|!$/g, '')
    const known = found!.flags.find((other) => other.name === name || other.aliases?.includes(name))
    expect(known, flag).toBeDefined()
    expect(known!.required === true || !flag.endsWith('!'), flag).toBeTrue()
  }
  const needed = found!.flags.filter((flag) => flag.required).map((flag) => `--${flag.name}!`)
  for (const flag of needed) expect(pieces).toContain(flag)
})

test('svc help lists every command', async () => {
  const { stdout } = await svc(['help'])
  for (const name of Object.keys(catalogue)) expect(stdout).toMatch(new RegExp(`^ +${name}\\b`, 'm'))
})

describe('defaults', () => {
  const env = { SVC_PROJECT_ID: ids.project }

  test('sessions preview opens port 3000 by default', async () => {
    await using service = startService()
    await svc(['sessions', 'preview', ids.session], { service, env })
    await svc(['sessions', 'preview', ids.session, '5173'], { service, env })
    expect(service.of('getPreview').map(({ query }) => query)).toEqual([{ port: '3000' }, { port: '5173' }])
  })

  test('cr open leaves the base to the service, which uses the default branch', async () => {
    await using service = startService()
    await svc(['cr', 'open', '--title', 'x', '--head', 'h'], { service, env })
    expect(service.of('openChangeRequest')[0]!.body).toEqual({ title: 'x', head_ref: 'h' })
  })

  test('projects info and open use the linked project by default', async () => {
    await using service = startService()
    await using folder = await temporaryFolder()
    await svc(['projects', 'link', 'app'], { service, cwd: folder.path })
    for (const verb of ['info', 'open'])
      expect((await svc(['projects', verb], { service, cwd: folder.path })).code).toBe(0)
    expect(service.of('getProject').map(({ params }) => params.projectId)).toEqual([ids.project, ids.project])
  })

  test('a command without a project exits with 1 and suggests linking the folder', async () => {
    await using service = startService()
    for (const args of [
      ['projects', 'info'],
      ['cr', 'ls'],
      ['triggers', 'ls'],
      ['env', 'pull'],
    ]) {
      const { code, stderr } = await svc(args, { service })
      expect(code).toBe(1)
      expect(stderr).toContain('svc projects link')
    }
  })
})

describe('the token from the environment', () => {
  const executor = makeToken((count) => new Uint8Array(count).fill(9))
  test.each([
    ['SVC_CLI_TOKEN', { SVC_CLI_TOKEN: token, SVC_EXECUTOR_TOKEN: null }, token],
    ['SVC_EXECUTOR_TOKEN where that is unset', { SVC_CLI_TOKEN: null, SVC_EXECUTOR_TOKEN: executor }, executor],
    ['SVC_EXECUTOR_TOKEN where that is empty', { SVC_CLI_TOKEN: '', SVC_EXECUTOR_TOKEN: executor }, executor],
    ['SVC_CLI_TOKEN of both', { SVC_CLI_TOKEN: token, SVC_EXECUTOR_TOKEN: executor }, token],
  ])('the client reads the token from %s', async (_, env, expected) => {
    await using service = startService()
    expect((await svc(['whoami'], { service, env })).code).toBe(0)
    expect(service.of('whoAmI')[0]!.headers.get('authorization')).toBe(`Bearer ${expected}`)
  })
})

describe('svc hosts', () => {
  const named = (name: string): Answers => ({
    whoAmI: () => ({
      kind: 'user',
      token_id: ids.token,
      user: { user_id: ids.user, name, email: null },
      account: { account_id: ids.account, name: 'Home' },
      project_id: null,
      session_id: null,
      expires_at: null,
    }),
  })

  test('adds a host, signs in to it and out again, and uses it once with --host while the active host stays', async () => {
    await using home = startService(named('Ada at home'))
    await using work = startService(named('Ada at work'))
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'config.json')
    const run = (...args: string[]) => svc(args, { env: { SVC_CONFIG_FILE: file } })
    expect((await run('login', '--host', 'home', '--api', home.url, '--token', token)).code).toBe(0)
    expect((await run('hosts', 'add', 'work', '--url', `${work.url}/v1`, '--login', '--token', token)).code).toBe(0)
    expect((await run('hosts', 'current')).stdout).toBe('home\n')
    expect((await run('whoami')).stdout).toStartWith('Ada at home\n')
    expect((await run('whoami', '--host', 'work')).stdout).toStartWith('Ada at work\n')
    expect((await run('hosts', 'info', 'work')).stdout).toContain('signed in')
    expect((await run('logout', '--host', 'work')).code).toBe(0)
    expect((await run('whoami', '--host', 'work')).code).toBe(1)
    expect((await run('whoami')).code).toBe(0)
    expect(Object.keys((JSON.parse(await readFile(file, 'utf8')) as { tokens: object }).tokens)).toEqual([home.url])
  })

  test('removes a host without asking, unless it is the active or the last added one', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'config.json')
    const hosts = { one: { url: 'https://one.example.com' }, two: { url: 'https://two.example.com' } }
    await writeFile(file, JSON.stringify({ hosts }), { mode: 0o600 })
    const run = (...args: string[]) => svc(args, { env: { SVC_CONFIG_FILE: file } })
    expect((await run('hosts', 'rm', 'one')).code).toBe(0)
    const last = await run('hosts', 'rm', 'two')
    expect(last.code).toBe(2)
    expect(last.stderr).toContain('svc hosts rm two --yes')
    expect((await run('hosts', 'rm', 'two', '--yes')).code).toBe(0)
  })
})
