import { describe, expect, test } from 'bun:test'
import { chmod, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '@svc/contract/errors'
import { aChangeRequest, ids, startService, svc, temporaryFolder, token } from './testing.ts'

const env = { SVC_PROJECT_ID: ids.project }

describe('the command line', () => {
  test('shows help without arguments and for a group', async () => {
    expect((await svc([])).stdout).toContain('Usage')
    expect(await svc(['cr'])).toMatchObject({ code: 0, stderr: '' })
    expect((await svc(['cr'])).stdout).toContain('merge <cr>')
    expect((await svc(['help', 'cr', 'merge'])).stdout).toStartWith('svc cr merge: ')
    expect((await svc(['--help'])).code).toBe(0)
  })

  test('help --json lists every command with its flags', async () => {
    const { commands } = (await svc(['help', '--json'])).json<{
      commands: { command: string; flags: { name: string }[] }[]
    }>()
    const open = commands.find((command) => command.command === 'svc cr open')
    expect(open?.flags.map((flag) => flag.name)).toEqual([
      'title',
      'fill',
      'draft',
      'web',
      'description',
      'head',
      'base',
      'session',
      'project',
      'host',
      'json',
      'jq',
      'template',
      'no-color',
      'help',
    ])
  })

  test('prints the version for four spellings', async () => {
    for (const args of [['version'], ['--version'], ['-v'], ['-V']]) {
      expect((await svc(args)).stdout).toMatch(/^\d+\.\d+\.\d+(-\w+)?\n$/)
    }
  })

  test.each([
    [['mrege', '3'], 'Unknown command "mrege". Did you mean svc cr merge?', 'svc cr merge 3'],
    [['merge', '3'], 'Did you mean svc cr merge?', 'svc cr merge 3'],
    [['help', 'crr'], 'Unknown command "crr". Did you mean svc cr?', 'svc help cr'],
    [['help', 'cr', 'mrege'], 'Did you mean svc cr merge?', 'svc help cr merge'],
    [['help', 'xyzzy'], 'Unknown command "xyzzy"', 'svc help'],
    [['sesions', '--yes'], 'Unknown command "sesions". Did you mean svc sessions?', 'svc sessions --help'],
    [['sesions', 'ls', '--yes'], 'Did you mean svc sessions?', 'svc sessions --help'],
    [['cr', 'ls', '--stat', 'merged'], 'Did you mean --status?', 'svc cr ls --status merged'],
    [['cr', 'ls', '--sttae', 'all'], 'Did you mean --status?', 'svc cr ls --status all'],
    [['cr', 'ls', '--stat'], 'Did you mean --status?', 'svc cr ls --status open'],
    [['cr', 'diff', '3', '--status'], 'Did you mean --stat?', 'svc cr diff 3 --stat'],
    [['cr', 'diff', '3', '--status', 'open'], 'Did you mean --stat?', 'svc cr diff --help'],
    [['cr', 'ls', '--limit', 'x'], '--limit must be a whole number from 1 to 1000, not "x"', 'svc cr ls --limit 100'],
    [['cr', 'ls', '-L0', '--json'], '-L must be a whole number from 1 to 1000', 'svc cr ls -L 1 --json'],
    [['sessions', 'ls', '--limit=5000'], 'from 1 to 1000, not "5000"', 'svc sessions ls --limit 1000'],
    [['audit', '--limit', '1e3'], '--limit must be a whole number', 'svc audit --limit 100'],
    [['usage', '--days', 'all'], '--days must be a whole number', 'svc usage --days 30'],
    [['apps', 'logs', 'site', '--lines', '-3'], '--lines must be a whole number', 'svc apps logs site --lines 0'],
    [['crr', 'ls'], 'Unknown command "crr". Did you mean svc cr?', 'svc cr ls'],
    [['cr', 'mrege', '3'], 'Did you mean svc cr merge?', 'svc cr merge 3'],
    [['cr', 'merge', '3', '--mesage', 'a b'], 'Did you mean --message?', "svc cr merge 3 --message 'a b'"],
    [['cr', 'open', '--titel=x'], 'Did you mean --title?', 'svc cr open --title=x'],
    [['login', '--tokn', 'svc_pat_secret'], 'Did you mean --token?', 'svc login --token -'],
    [['login', '--tokn=svc_pat_secret'], 'Did you mean --token?', 'svc login --token=-'],
    [['cr', 'ls', '--status', 'opne'], '--status must be one of open, merged, closed, all', 'svc cr ls --status open'],
    [['cr', 'open'], 'Missing --title <text>', 'svc cr open --title'],
    [['hosts', 'add', 'work'], 'Missing --url <url>', "svc hosts add work --url '<url>'"],
    [['cr', 'open', '--title', '--base', 'main'], '--title needs a value', 'svc cr open --help'],
    [['cr', 'merge', '3', '--message'], '--message needs a value', 'svc cr merge --help'],
    [['cr', 'ls', '--json=1'], '--json takes no value', 'svc cr ls --help'],
    [['cr', 'merge', '3', '--message', 'a', '--message', 'b'], '--message is given twice', 'svc cr merge --help'],
    [['self-host', 'move', 'web site'], 'Missing <server>', "svc self-host move 'web site' <server>"],
    [['self-host', 'move'], 'Missing <project>', 'svc self-host move <project>'],
    [['cr', 'show'], "write 3 or '#3'", 'svc cr show <cr>'],
    [['xyzzy'], 'Unknown command "xyzzy"', 'svc --help'],
    [['xy/zzy'], 'Unknown command "xy/zzy"', 'svc --help'],
    [['cr', '--bogus'], 'Unknown flag --bogus', 'svc cr --help'],
  ])('exits with 2 and a suggestion for %p', async (args, message, corrected) => {
    const { code, stdout, stderr } = await svc(args, { env })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain(corrected)
    expect(stderr).not.toContain('svc_pat_')
  })

  test.each(['stauts', 'sesions', 'statuss', 'mrege', 'merge', 'xyzzy'])(
    'the typo %s creates no project and suggests no command that would',
    async (word) => {
      await using folder = await temporaryFolder()
      const types = [{ after: /Create a new project/, keys: 'n' }]
      for (const [args, terminal] of [
        [[word], false],
        [[word, '--json'], false],
        ...(word === 'xyzzy'
          ? []
          : ([
              [[word], true],
              [[word, '--yes'], false],
            ] as const)),
      ] as const) {
        const { code, stderr } = await svc(args, { cwd: folder.path, terminal, types })
        expect(code).toBe(2)
        expect(stderr).not.toMatch(/project|--yes|svc init|svc ship/)
        expect(await readdir(folder.path)).toEqual([])
      }
    },
  )

  test.each([0, 1, 10])('shows everything on a terminal of %d columns', async (columns) => {
    await using service = startService()
    for (const args of [['--help'], ['cr'], ['cr', 'merge', '--help'], ['cr', 'ls'], ['cr', 'show', '3'], ['status']]) {
      const wide = await svc(args, { service, env, terminal: true, columns: 80 })
      const narrow = await svc(args, { service, env, terminal: true, columns })
      expect({ args, code: narrow.code }).toEqual({ args, code: 0 })
      if (columns === 0) expect(narrow.stdout).toBe(wide.stdout)
      else expect(narrow.stdout).not.toBe('')
    }
  })

  test('accepts texts that are empty, begin with a dash, or have several lines', async () => {
    await using service = startService()
    const bodies = ['--body=first\n\nsecond', '--body=', '--body=-x']
    for (const body of bodies) {
      expect((await svc(['cr', 'open', '--title', '-fix', '--head', 'work', body], { service, env })).code).toBe(0)
    }
    expect(
      (await svc(['cr', 'open', '--title', '-- a list', '--head', 'work', '--body', '- one'], { service, env })).code,
    ).toBe(0)
    expect(
      service.of('openChangeRequest').map((request) => (request.body as { description?: string }).description),
    ).toEqual(['first\n\nsecond', '', '-x', '- one'])
  })

  test('accepts global flags at any position', async () => {
    await using service = startService()
    for (const args of [
      ['--json', 'cr', 'ls', '--project', ids.project],
      ['cr', '--json', 'ls', '--project', ids.project],
      ['--project', ids.project, 'cr', 'ls', '--json'],
    ]) {
      expect((await svc(args, { service })).json()).toEqual({ change_requests: [aChangeRequest()] })
    }
  })
})

describe('replies of the service', () => {
  test('maps an unknown error code of a newer server by its status', async () => {
    await using service = startService({
      listChangeRequests: () => Response.json({ error: 'Not now', code: 'a_newer_code', fact: 1 }, { status: 409 }),
    })
    const { code, problem } = await svc(['cr', 'ls', '--json'], { service, env })
    expect(code).toBe(1)
    expect(problem()).toMatchObject({ error: 'Not now', code: 'conflict', fact: 1 })
  })

  test.each([
    ['a page', () => new Response('<html>', { headers: { 'Content-Type': 'text/html' } })],
    ['a page of an error', () => new Response('<html>', { status: 502 })],
    ['JSON of another program', () => Response.json('hello')],
    ['an error of another program', () => Response.json({ message: 'x' }, { status: 500 })],
  ])('reports %s as an unusable reply', async (_, answer) => {
    await using service = startService({ listChangeRequests: answer })
    const ran = await svc(['cr', 'ls', '--json'], { service, env })
    expect(ran.code).toBe(1)
    expect(ran.problem()).toMatchObject({ code: 'bad_answer' })
  })

  test('names a proxy that reached no server', async () => {
    await using service = startService({ listChangeRequests: () => new Response('<html>', { status: 504 }) })
    const { problem } = await svc(['cr', 'ls', '--json'], { service, env })
    expect(problem()).toMatchObject({ status: 504, error: expect.stringContaining('no server behind it answered') })
    expect(problem().error).toContain(service.url)
  })

  test('suggests the list command when an item does not exist', async () => {
    const missing = () => {
      throw new ServiceError('not_found', 'There is none')
    }
    await using service = startService({ deleteSecret: missing, fireTrigger: missing, listSecrets: missing })
    const next = async (...args: string[]) => (await svc([...args, '--json'], { service, env })).problem()
    expect(await next('secrets', 'unset', 'A')).toMatchObject({ next: ['svc secrets ls'] })
    expect(await next('triggers', 'fire', 'nightly')).toMatchObject({ next: ['svc triggers ls'] })
    expect(await next('secrets', 'ls')).toMatchObject({ next: ['svc projects ls'] })
  })

  test('shows one invalid field in one line, and several one per line', async () => {
    const issues = [{ path: 'title', message: 'is required' }]
    let more: object[] = []
    await using service = startService({
      openChangeRequest: () => {
        throw new ServiceError('invalid', 'Title is required.', { detail: { issues: [...issues, ...more] } })
      },
    })
    const told = async () => (await svc(['cr', 'open', '--title', 't', '--head', 'w'], { service, env })).stderr
    expect(await told()).toMatch(/error: Title is required\.\n$/)
    more = [{ path: 'head_ref', message: 'is required' }]
    expect(await told()).toContain('error: Title is required.\n  title is required\n  head_ref is required\n')
  })

  test('does not follow a redirect, so the token stays with its host', async () => {
    await using other = startService()
    await using service = startService({
      listChangeRequests: () => new Response(null, { status: 307, headers: { Location: `${other.url}/v1/x` } }),
    })
    const { code, stderr } = await svc(['cr', 'ls'], { service, env })
    expect(code).toBe(1)
    expect(stderr).toContain('redirect')
    expect(other.received).toEqual([])
  })

  test('suggests svc login on 401, and the running sessions at the session limit', async () => {
    await using service = startService({
      listChangeRequests: () => {
        throw new ServiceError('unauthenticated', 'This token is not valid')
      },
      createSession: () => {
        throw new ServiceError('concurrent_session_limit', 'Too many sessions', {
          detail: { limit: 3, active_sessions: 3 },
        })
      },
    })
    expect((await svc(['cr', 'ls'], { service, env })).stderr).toContain('svc login')
    const full = await svc(['sessions', 'new'], { service, env })
    expect(full.code).toBe(1)
    expect(full.stderr).toContain('3 of 3 sessions are active')
    expect(full.stderr).toContain('svc sessions ls --status running')
    // The running sessions, the one that was idle longest first.
    expect(full.stderr).toContain('44444444  running  Fix the test, active 1 minute ago')
    expect(full.stderr).toContain('$ svc sessions stop 44444444')
    const asJson = await svc(['sessions', 'chat', '--new', '--prompt', 'x', '--json'], { service, env })
    expect(asJson.problem()).toMatchObject({ code: 'concurrent_session_limit', limit: 3, active_sessions: 3 })
  })

  test('repeats a creating request once with the same key when the connection breaks', async () => {
    let calls = 0
    const keys: (string | undefined)[] = []
    const listener = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket, bytes) {
          const text = bytes.toString()
          if (!/^(POST|GET)/.test(text)) return
          keys.push(/idempotency-key: (\S+)/i.exec(text)?.[1])
          if (++calls === 1) return void socket.terminate()
          const body = JSON.stringify(aChangeRequest())
          socket.end(
            `HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
          )
        },
      },
    })
    const there = { SVC_API_URL: `http://127.0.0.1:${listener.port}`, SVC_CLI_TOKEN: token, ...env }
    const { code } = await svc(['cr', 'open', '--title', 'x', '--head', 'work'], { env: there })
    listener.stop(true)
    expect(code).toBe(0)
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
    expect(keys[1]).toBe(keys[0]!)
  })

  test("waits for the first attempt's reply while it is still running", async () => {
    let calls = 0
    await using service = startService({
      openChangeRequest: () => {
        if (++calls < 3) throw new ServiceError('idempotency_in_progress', 'Still at it')
        return aChangeRequest()
      },
    })
    expect((await svc(['cr', 'open', '--title', 'x', '--head', 'work'], { service, env })).code).toBe(0)
    expect(calls).toBe(3)
  })

  test('exits with 1 when interrupted', async () => {
    const interrupt = new AbortController()
    await using service = startService({
      listChangeRequests: () => {
        interrupt.abort()
        return new Promise(() => {})
      },
    })
    const { code, stderr } = await svc(['cr', 'ls'], { service, env, signal: interrupt.signal })
    expect(code).toBe(1)
    expect(stderr).toContain('Interrupted')
  })
})

describe('colors and times', () => {
  const escape = '\x1b['

  test('decides on colors by --no-color, then NO_COLOR, then FORCE_COLOR, then the terminal', async () => {
    await using service = startService()
    const ls = (args: string[], more: Record<string, string>, terminal: boolean) =>
      svc(['cr', 'ls', ...args], { service, env: { ...env, ...more }, terminal })
    expect((await ls([], {}, true)).stdout).toContain(escape)
    expect((await ls([], {}, false)).stdout).not.toContain(escape)
    expect((await ls([], { NO_COLOR: '1' }, true)).stdout).not.toContain(escape)
    expect((await ls([], { NO_COLOR: '1', FORCE_COLOR: '1' }, true)).stdout).not.toContain(escape)
    expect((await ls([], { FORCE_COLOR: '1' }, false)).stdout).toContain(escape)
    expect((await ls(['--no-color'], { FORCE_COLOR: '1' }, true)).stdout).not.toContain(escape)
    expect((await ls([], { TERM: 'dumb' }, true)).stdout).not.toContain(escape)
    expect((await ls(['--json'], { FORCE_COLOR: '1' }, true)).stdout).not.toContain(escape)
  })

  test('prints relative times on a terminal and exact ones in a pipe', async () => {
    await using service = startService()
    expect((await svc(['cr', 'ls'], { service, env, terminal: true })).stdout).toContain('2 minutes ago')
    expect((await svc(['cr', 'ls'], { service, env })).stdout).toContain(aChangeRequest().updated_at)
  })
})

test('needs no --project in a linked folder, and suggests linking elsewhere', async () => {
  await using folder = await temporaryFolder()
  await using service = startService()
  const without = await svc(['cr', 'ls'], { service, cwd: folder.path })
  expect(without.code).toBe(1)
  expect(without.stderr).toContain('svc projects link')
  expect((await svc(['projects', 'link', 'app'], { service, cwd: folder.path })).code).toBe(0)
  expect((await svc(['cr', 'ls'], { service, cwd: folder.path })).code).toBe(0)
})

test('the commands that it prints work in the folder where they are printed', async () => {
  await using service = startService()
  const shown = await svc(['cr', 'show', '3', '--project', 'app'], { service })
  expect(shown.stderr).toContain('svc cr diff 3 --project app · svc cr merge 3 --project app')
  const failed = await svc(['cr', 'show', '@', '--project', 'app'], { service })
  expect(failed.stderr).toContain('$ svc cr ls --project app')
  expect((await svc(['cr', 'show', '3'], { service, env })).stderr).not.toContain('--project')
})

test('shows a waiting message for a slow reply on a terminal', async () => {
  await using service = startService({ listChangeRequests: () => Bun.sleep(700).then(() => ({ change_requests: [] })) })
  const waited = await svc(['cr', 'ls'], { service, env, terminal: true })
  expect(waited.stderr).toMatch(/waiting for .*\r\x1b\[2K/s)
  expect((await svc(['cr', 'ls'], { service, env })).stderr).not.toContain('waiting')
})

test('warns when other users can read the configuration file', async () => {
  await using folder = await temporaryFolder()
  await using service = startService()
  const file = join(folder.path, 'config.json')
  await writeFile(
    file,
    JSON.stringify({ active_host: 'a', hosts: { a: { url: service.url } }, tokens: { [service.url]: { token } } }),
    { mode: 0o644 },
  )
  const open = { env: { ...env, SVC_CONFIG_FILE: file } }
  expect((await svc(['cr', 'ls'], open)).stderr).toContain(`chmod 600 ${file}`)
  await chmod(file, 0o600)
  expect((await svc(['cr', 'ls'], open)).stderr).not.toContain('chmod')
})
