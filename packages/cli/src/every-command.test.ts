/** What holds for every command, whatever it does. */
import { describe, expect, test } from 'bun:test'
import { ServiceError } from '@svc/contract/errors'
import { catalogue, isGroup, type Leaf } from './catalogue.ts'
import { type Answers, aSession, ids, startService, svc, temporaryFolder, token } from './testing.ts'

/** A good call of each; a command that is not here fails the first test. */
const good: Record<string, { args: string[]; stdin?: string; env?: Record<string, string>; speaks: boolean }> = {
  login: { args: ['--token', token], speaks: true },
  logout: { args: [], speaks: false },
  whoami: { args: [], speaks: true },
  tour: { args: [], speaks: true },
  ship: { args: [], speaks: true },
  status: { args: [], speaks: true },
  'projects open': { args: ['app'], speaks: true },
  'sessions open': { args: [ids.session], speaks: true },
  'env pull': { args: ['--out', '-'], speaks: true },
  'env push': { args: ['--from', '-'], stdin: 'export A="a b" # c\nB=\n', speaks: true },
  'settings ls': { args: [], speaks: true },
  'settings set': { args: ['manifest_gate=on'], speaks: true },
  'members ls': { args: [], speaks: true },
  'members add': { args: ['cy@example.com'], speaks: true },
  'members role': { args: ['bo@example.com', 'admin'], speaks: true },
  'members rm': { args: ['Bo', '--yes'], speaks: true },
  'tokens ls': { args: [], speaks: true },
  'tokens create': { args: ['--name', 'ci', '--expires', '30d'], speaks: true },
  'tokens revoke': { args: ['laptop'], speaks: true },
  audit: { args: [], speaks: true },
  completion: { args: ['bash'], speaks: false },
  'projects create': { args: ['--name', 'app'], speaks: true },
  'projects ls': { args: [], speaks: true },
  'projects info': { args: ['app'], speaks: true },
  'projects link': { args: ['app'], speaks: true },
  'projects unlink': { args: [], speaks: false },
  'projects rm': { args: ['app', '--yes'], speaks: true },
  'sessions new': { args: ['--prompt', 'Fix it'], speaks: true },
  'sessions ls': { args: [], speaks: true },
  'sessions info': { args: [ids.session], speaks: true },
  'sessions chat': { args: [ids.session, '--prompt', 'Hello'], speaks: true },
  'sessions recover': { args: [ids.session, '--into-sandbox'], speaks: true },
  'sessions preview': { args: [ids.session, '5173'], speaks: true },
  'sessions stop': { args: [ids.session.slice(0, 4)], speaks: true },
  'sessions restart': { args: [ids.session], speaks: true },
  'sessions rm': { args: [ids.session, '--yes'], speaks: true },
  'cr ls': { args: [], speaks: true },
  'cr show': { args: ['3'], speaks: true },
  'cr diff': { args: ['#3'], speaks: true },
  'cr open': { args: ['--title', 'Add a greeting', '--head', 'greeting'], speaks: true },
  'cr merge': { args: [ids.cr], speaks: true },
  'cr checkout': { args: ['3'], speaks: true },
  'cr verify': { args: ['3'], speaks: true },
  'cr close': { args: ['3'], speaks: true },
  'cr reopen': { args: ['3'], speaks: true },
  'secrets ls': { args: [], speaks: true },
  'secrets set': { args: ['NAME=-'], stdin: 'value\n', speaks: true },
  'secrets unset': { args: ['NAME'], speaks: true },
  'hosts ls': { args: [], speaks: false },
  'hosts use': { args: ['local-dev'], speaks: false },
  'hosts add': { args: ['work', '--url', 'https://svc.example.com/v1'], speaks: false },
  'hosts rm': { args: ['work', '--yes'], speaks: false },
  'hosts info': { args: [], speaks: false },
  'hosts current': { args: [], speaks: false },
  'self-host owner-link': { args: [], speaks: true },
  'self-host start': { args: ['--yes'], speaks: false },
  'self-host configure': { args: [], speaks: false },
  'self-host env': { args: ['ls'], speaks: false },
  'self-host logs': { args: [], speaks: false },
  'self-host status': { args: [], speaks: false },
  'self-host stop': { args: [], speaks: false },
  'self-host unit': { args: [], speaks: false },
  update: { args: [], speaks: false },
  uninstall: { args: ['--yes'], speaks: false },
  version: { args: [], speaks: false },
  help: { args: [], speaks: false },
}
/** They need more than one usual answer, or a repository; their own tests have it. */
const elsewhere = new Set([
  ...['tour', 'ship', 'cr checkout', 'sessions chat', 'hosts rm', 'update'],
  ...['self-host start', 'self-host configure', 'self-host logs'],
])

const all: [string, Leaf][] = Object.entries(catalogue).flatMap(([name, entry]): [string, Leaf][] =>
  isGroup(entry) ? Object.entries(entry.commands).map(([verb, leaf]) => [`${name} ${verb}`, leaf]) : [[name, entry]],
)

function call(name: string, args = good[name]!.args) {
  return [...name.split(' '), ...args]
}
const env = { SVC_PROJECT_ID: ids.project }

test('every command has a good call here', () => {
  expect(Object.keys(good).sort()).toEqual(all.map(([name]) => name).sort())
})

describe.each(all)('svc %s', (name, leaf) => {
  const { stdin, speaks } = good[name]!

  test('explains itself', async () => {
    const { code, stdout, stderr } = await svc([...name.split(' '), '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const command = await leaf.load()
    expect(stdout).toStartWith(`svc ${name}: ${command.summary}`)
    expect(stdout).toContain('Usage')
    expect(command.examples.length).toBeGreaterThanOrEqual(2)
    for (const example of command.examples) expect(stdout).toContain(example)
    const asJson = (await svc(['help', ...name.split(' '), '--json'])).json<{ commands: { command: string }[] }>()
    expect(asJson.commands.map((described) => described.command)).toEqual([`svc ${name}`])
  })

  test('refuses an unknown flag with 2', async () => {
    const { code, stdout, stderr } = await svc(call(name, ['--frobnicate']))
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('Unknown flag --frobnicate')
    expect(stderr).toContain(`svc ${name} --help`)
  })

  test('refuses a missing argument with 2', async () => {
    const command = await leaf.load()
    const required = Object.entries(command.args).filter(([, arg]) => !arg.optional)
    if (required.length === 0) return
    const asText = await svc(call(name, []))
    expect(asText.code).toBe(2)
    expect(asText.stderr).toContain(`Missing <${required[0]![0]}>`)
    const asJson = await svc(call(name, ['--json']))
    expect(asJson.code).toBe(2)
    expect(asJson.problem()).toMatchObject({ code: 'usage', error: `Missing <${required[0]![0]}>` })
  })

  test('refuses an argument too many with 2', async () => {
    const command = await leaf.load()
    if (Object.values(command.args).some((arg) => arg.many)) return
    const { code, stderr } = await svc([
      ...name.split(' '),
      ...Object.keys(command.args),
      'one-more',
      ...requiredFlags(command.flags),
    ])
    expect(code).toBe(2)
    expect(stderr).toContain('Unexpected "one-more"')
  })

  if (elsewhere.has(name)) return

  test('does what it says', async () => {
    await using service = startService()
    const { code, stderr } = await svc(call(name), { service, env, ...(stdin === undefined ? {} : { stdin }) })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(service.received.length > 0).toBe(speaks)
    if (speaks && name !== 'login') expect(stderr).toContain(service.url)
    for (const request of service.received) expect(request.headers.get('authorization')).toBe(`Bearer ${token}`)
  })

  test('answers --json with one document and nothing else', async () => {
    await using service = startService()
    const ran = await svc([...call(name), '--json'], { service, env, ...(stdin === undefined ? {} : { stdin }) })
    expect({ code: ran.code, stderr: ran.stderr.replace(/^\{"warning".*\n/gm, '') }).toEqual({ code: 0, stderr: '' })
    expect(ran.json()).toBeDefined()
  })

  test('on a terminal it ends as well', async () => {
    await using service = startService({ getSession: () => usualSession })
    const { code, stdout, stderr } = await svc(call(name), {
      service,
      env: { ...env, SVC_PAGER: '' },
      terminal: true,
      ...(stdin === undefined ? {} : { stdin }),
    })
    expect(code).toBe(0)
    expect(stdout + stderr).not.toBe('')
  })

  if (!speaks) return

  test('says what the service refused, with 1', async () => {
    await using service = startService(refuseAll())
    const asText = await svc(call(name), { service, env, ...(stdin === undefined ? {} : { stdin }) })
    expect(asText.code).toBe(1)
    expect(asText.stderr).toContain('error: A limit was reached')
    const asJson = await svc([...call(name), '--json'], { service, env, ...(stdin === undefined ? {} : { stdin }) })
    expect(asJson.code).toBe(1)
    expect(asJson.stdout).toBe('')
    expect(asJson.problem()).toEqual(
      expect.objectContaining({ error: 'A limit was reached', code: 'limit_reached', hint: 'Wait.', next: [] }),
    )
  })

  test('says that nobody answers, with 1', async () => {
    await using folder = await temporaryFolder()
    const nobody = { SVC_API_URL: 'http://127.0.0.1:1/v1', SVC_CLI_TOKEN: token, ...env }
    const { code, stderr } = await svc(call(name), {
      env: nobody,
      cwd: folder.path,
      ...(stdin === undefined ? {} : { stdin }),
    })
    expect(code).toBe(1)
    expect(stderr).toContain('http://127.0.0.1:1 cannot be reached')
    expect(stderr).toContain('npm start')
  })
})

const usualSession = aSession()

function refuseAll(): Answers {
  return new Proxy(
    {},
    {
      get: () => () => {
        throw new ServiceError('limit_reached', 'A limit was reached', { hint: 'Wait.' })
      },
    },
  )
}

function requiredFlags(flags: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(flags).flatMap(([name, flag]) =>
    (flag as { required?: true }).required ? [`--${name}`, 'x'] : [],
  )
}
