import { describe, expect, test } from 'bun:test'
import { aChangeRequest, aProject, ids, startService, svc } from '../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }
const two = {
  listChangeRequests: () => ({
    change_requests: [aChangeRequest({ number: 4, title: 'Log in' }), aChangeRequest()],
  }),
}

describe('--json with fields', () => {
  test.each([
    [['cr', 'ls', '--json', 'number,title']],
    [['cr', 'ls', '--json=number,title']],
    [['--json=number,title', 'cr', 'ls']],
  ])('%p prints only the named fields, as a list', async (args) => {
    await using service = startService(two)
    const { code, json, stderr } = await svc(args, { service, env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(json<unknown>()).toEqual([
      { number: 4, title: 'Log in' },
      { number: 3, title: 'Add a greeting' },
    ])
  })

  test('--json selects fields of the shown items, wherever they are in the document', async () => {
    await using service = startService()
    const shown = await svc(['cr', 'show', '3', '--json', 'number,can_merge,merge_preview.conflicts'], { service, env })
    expect(shown.json()).toEqual({ number: 3, can_merge: true, 'merge_preview.conflicts': [] })
    expect((await svc(['projects', 'info', '--json=slug'], { service, env })).json()).toEqual({ slug: 'app' })
  })

  test('a word after --json is an argument when the command takes one', async () => {
    await using service = startService()
    const { json } = await svc(['projects', 'info', '--json', 'app'], { service, env })
    expect(json<{ slug: string; name: string }>()).toMatchObject({ slug: 'app', name: 'app' })
    expect((await svc(['cr', 'ls', '--json', 'number'], { service, env })).json<unknown>()).toEqual([{ number: 3 }])
  })

  test('--json refuses an unknown field and lists the known ones', async () => {
    await using service = startService()
    const { code, stdout, problem } = await svc(['cr', 'ls', '--json', 'nubmer,title'], { service, env })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(problem()).toMatchObject({
      error: 'No field is named "nubmer"',
      hint: expect.stringContaining('number, origin_session_id'),
    })
  })
})

describe('--jq', () => {
  test('--jq prints the result of the expression, with strings unquoted', async () => {
    await using service = startService(two)
    const { code, stdout } = await svc(['cr', 'ls', '--jq', '.change_requests[] | "\\(.number) \\(.title)"'], {
      ...{ service, env },
    })
    expect({ code, stdout }).toEqual({ code: 0, stdout: '4 Log in\n3 Add a greeting\n' })
    const ofFields = ['cr', 'ls', '--json', 'number', '--jq', 'map(.number) | add']
    expect((await svc(ofFields, { service, env })).stdout).toBe('7\n')
    expect((await svc(['--jq', '.slug', 'projects', 'info'], { service, env })).stdout).toBe('app\n')
  })

  test('--jq exits with 2 for an invalid expression', async () => {
    await using service = startService()
    const { code, stdout, stderr } = await svc(['cr', 'ls', '--jq', '.['], { service, env })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('error: --jq: syntax error, unexpected end of file\n')
  })

  test('--jq checks the expression before the command runs', async () => {
    await using service = startService()
    for (const wrong of ['.[', 'nope', '.a)', '"']) {
      const { code } = await svc(['cr', 'merge', '3', '--jq', wrong], { service, env })
      expect({ wrong, code }).toEqual({ wrong, code: 2 })
    }
    expect(service.received).toEqual([])
    for (const good of ['.change_request.number # its number', 'def n: 3; n'])
      expect((await svc(['cr', 'merge', '3', '--jq', good], { service, env })).stdout).toBe('3\n')
  })

  test('--jq prints output that is safe for a terminal', async () => {
    await using service = startService({ listProjects: () => [aProject({ name: '\x1b[2J' })] })
    const { stdout } = await svc(['projects', 'ls', '--jq', '.[].name'], { service, terminal: true })
    expect(stdout).toBe('␛[2J\n')
  })
})

describe('--template', () => {
  test('--template prints a line for each item', async () => {
    await using service = startService(two)
    const { stdout } = await svc(['cr', 'ls', '--template', '#{number}\\t{title} {{x} {metadata}'], { service, env })
    expect(stdout).toBe('#4\tLog in {x} {}\n#3\tAdd a greeting {x} {}\n')
    const one = await svc(['cr', 'show', '3', '--template', '{head_ref} {merge_preview.can_merge}'], { service, env })
    expect(one.stdout).toBe('greeting true\n')
  })

  test("--template and --jq can't be combined", async () => {
    expect((await svc(['cr', 'ls', '--template', 'x', '--jq', '.'], { env })).code).toBe(2)
  })
})
