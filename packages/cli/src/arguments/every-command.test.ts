/** Rules for every command. */
import { describe, expect, test } from 'bun:test'
import { ServiceError } from '@svc/contract/errors'
import { all, elsewhere, given, good } from '../testing/calls.ts'
import { type Answers, aSession, ids, startService, svc, temporaryFolder, token } from '../testing.ts'

function call(name: string, args = good[name]!.args) {
  return [...name.split(' '), ...args]
}
const env = { SVC_PROJECT_ID: ids.project }

test('this file has a valid call of every command', () => {
  expect(Object.keys(good).sort()).toEqual(all.map(([name]) => name).sort())
  expect(Object.keys(given).filter((name) => !(name in good))).toEqual([])
})

describe.each(all)('svc %s', (name, leaf) => {
  const { stdin, speaks } = good[name]!

  test('shows help with --help', async () => {
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

  test('exits with 2 for an unknown flag', async () => {
    const { code, stdout, stderr } = await svc(call(name, ['--frobnicate']))
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('Unknown flag --frobnicate')
    expect(stderr).toContain(`svc ${name} --help`)
  })

  test('exits with 2 for a missing argument', async () => {
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

  test('exits with 2 for one argument too many', async () => {
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

  test('succeeds and sends its requests with the token', async () => {
    await using service = startService()
    const { code, stderr } = await svc(call(name), { service, env, ...(stdin === undefined ? {} : { stdin }) })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(service.received.length > 0).toBe(speaks)
    if (speaks && name !== 'login') expect(stderr).toContain(service.url)
    for (const request of service.received) expect(request.headers.get('authorization')).toBe(`Bearer ${token}`)
  })

  test('prints one JSON document and nothing else with --json', async () => {
    await using service = startService()
    const ran = await svc([...call(name), '--json'], { service, env, ...(stdin === undefined ? {} : { stdin }) })
    expect({ code: ran.code, stderr: ran.stderr.replace(/^\{"warning".*\n/gm, '') }).toEqual({ code: 0, stderr: '' })
    expect(ran.json()).toBeDefined()
  })

  test('applies --jq and --template to its JSON document', async () => {
    await using service = startService()
    const options = { service, env, ...(stdin === undefined ? {} : { stdin }) }
    const jq = await svc([...call(name), '--jq', 'type'], options)
    expect({ code: jq.code, kind: jq.stdout }).toEqual({ code: 0, kind: expect.stringMatching(/^(object|array)\n$/) })
    const template = await svc([...call(name), '--template', 'row'], options)
    expect({ code: template.code, rows: template.stdout }).toEqual({
      code: 0,
      rows: expect.stringMatching(/^(row\n)*$/),
    })
  })

  test('succeeds on a terminal', async () => {
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

  test('exits with 1 and prints the reason when the service refuses', async () => {
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

  test('exits with 1 and says so when no server responds', async () => {
    await using folder = await temporaryFolder()
    const nobody = { SVC_API_URL: 'http://127.0.0.1:1/v1', SVC_CLI_TOKEN: token, ...env }
    const { code, stderr } = await svc(call(name), {
      env: nobody,
      cwd: folder.path,
      ...(stdin === undefined ? {} : { stdin }),
    })
    expect(code).toBe(1)
    expect(stderr).toContain('http://127.0.0.1:1 cannot be reached')
    expect(stderr).toContain('$ svc self-host start')
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
