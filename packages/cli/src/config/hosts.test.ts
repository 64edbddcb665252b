import { describe, expect, test } from 'bun:test'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '@svc/contract/errors'
import type { Config } from './config-file.ts'
import { chooseHost, knownHosts, parseHostUrl, tokenFor } from './hosts.ts'
import { git } from '../git/git.ts'
import type { Link } from './link-file.ts'
import { all, good } from '../testing/calls.ts'
import { type Answers, ids, type Service, startService, svc, temporaryFolder, token } from '../testing.ts'

const config = (changes: Partial<Config> = {}): Config => ({ active_host: null, hosts: {}, tokens: {}, ...changes })
const link = (changes: Partial<Link>): Link => ({
  path: '/w/.svc/link.json',
  project_id: ids.project,
  account_id: ids.account,
  host: null,
  host_url: null,
  ...changes,
})

describe('the current host', () => {
  const work = { hosts: { work: { url: 'https://svc.example.com/v1' } } }

  test('takes the host from --host, then SVC_API_URL, then the link file, then the active host', () => {
    const everything = {
      flag: 'work',
      env: { SVC_API_URL: 'http://127.0.0.1:61080/v1' },
      link: link({ host: 'linked', host_url: 'https://linked.example.com' }),
      config: config({ ...work, active_host: 'local-dev' }),
    }
    expect(chooseHost(everything)).toMatchObject({ name: 'work', base: 'https://svc.example.com', source: 'flag' })
    expect(chooseHost({ ...everything, flag: undefined })).toMatchObject({
      base: 'http://127.0.0.1:61080',
      source: 'environment',
    })
    expect(chooseHost({ ...everything, flag: undefined, env: {} })).toMatchObject({
      base: 'https://linked.example.com',
      source: 'link',
    })
    expect(chooseHost({ ...everything, flag: undefined, env: {}, link: null })).toMatchObject({
      name: 'local-dev',
      source: 'active',
    })
    expect(chooseHost({ env: {}, link: null, config: config() })).toMatchObject({
      name: 'selfhost',
      base: 'http://127.0.0.1:8420',
    })
  })

  test('uses the known URL of a host that a link file names, whatever URL the file has', () => {
    const chosen = chooseHost({
      env: {},
      config: config(work),
      link: link({ host: 'work', host_url: 'https://stranger.example.net' }),
    })
    expect(chosen).toMatchObject({ name: 'work', base: 'https://svc.example.com' })
  })

  test('local-dev follows SVC_PORT, and hosts of other builds are listed and refused', async () => {
    expect(knownHosts(config(), { SVC_PORT: '9000' }).find((host) => host.name === 'local-dev')?.base).toBe(
      'http://127.0.0.1:9000',
    )
    expect((await svc(['hosts', 'ls'])).stdout).toMatch(/cloud\tnot part of this build/)
    const use = await svc(['hosts', 'use', 'cloud'])
    expect(use.code).toBe(1)
    expect(use.stderr).toContain('The host cloud is not part of this build')
    expect((await svc(['cr', 'ls', '--host', 'cloud', '--project', ids.project])).stderr).toContain(
      'not part of this build',
    )
  })

  test.each([
    ['https://svc.example.com', 'https://svc.example.com'],
    ['https://svc.example.com/', 'https://svc.example.com'],
    ['https://svc.example.com/v1', 'https://svc.example.com'],
    ['https://svc.example.com/v1/', 'https://svc.example.com'],
    ['https://example.com/svc/v1', 'https://example.com/svc'],
    ['HTTP://EXAMPLE.com:80/v1?x=1#y', 'http://example.com'],
  ])('the host URL %s is normalized to %s', (url, base) => expect(parseHostUrl(url)).toBe(base))

  test.each([
    '',
    'example.com',
    'file:///etc/passwd',
    'ssh://x',
    'https://user:pass@example.com',
    'javascript:alert(1)',
  ])('refuses %s as a host URL', (url) => expect(() => parseHostUrl(url)).toThrow())
})

describe('the token of a host', () => {
  const stored = config({
    tokens: { 'https://svc.example.com': { token: 'stored' } },
    hosts: { work: { url: 'https://svc.example.com' } },
  })
  const at = (origin: string, source: 'flag' | 'environment' | 'link' | 'active') => ({
    name: 'x',
    base: origin,
    origin,
    source,
  })

  test('sends a stored token only to its own origin', () => {
    expect(tokenFor(at('https://svc.example.com', 'link'), { env: {}, config: stored })).toBe('stored')
    for (const origin of [
      'http://svc.example.com',
      'https://svc.example.com:8443',
      'https://svc.example.com.evil.net',
      'https://evil.net',
    ])
      expect(tokenFor(at(origin, 'flag'), { env: {}, config: stored })).toBeNull()
  })

  test('sends a token from the environment only to SVC_API_URL or the active host', () => {
    const env = { SVC_CLI_TOKEN: 'cli', SVC_API_URL: 'http://127.0.0.1:61080/v1' }
    expect(tokenFor(at('http://127.0.0.1:61080', 'environment'), { env, config: stored })).toBe('cli')
    expect(tokenFor(at('https://evil.net', 'link'), { env, config: stored })).toBeNull()
    expect(tokenFor(at('https://svc.example.com', 'flag'), { env, config: stored })).toBe('stored')
    const alone = { SVC_CLI_TOKEN: 'cli' }
    expect(tokenFor(at('http://127.0.0.1:8420', 'active'), { env: alone, config: stored })).toBe('cli')
    expect(tokenFor(at('https://evil.net', 'link'), { env: alone, config: stored })).toBeNull()
    expect(
      tokenFor(at('http://127.0.0.1:8420', 'active'), { env: { SVC_EXECUTOR_TOKEN: 'executor' }, config: stored }),
    ).toBe('executor')
    expect(
      tokenFor(at('http://127.0.0.1:8420', 'active'), { env: { SVC_TOKEN: 'svc_sbx_x' }, config: stored }),
    ).toBeNull()
  })
})

describe('a link file that names an unknown host', () => {
  async function inStrangersFolder(
    canary: Service,
    act: (options: { cwd: string; env: Record<string, string | null> }) => Promise<void>,
  ) {
    await using folder = await temporaryFolder()
    await mkdir(join(folder.path, '.svc'))
    await writeFile(
      join(folder.path, '.svc', 'link.json'),
      JSON.stringify({ project_id: ids.project, account_id: ids.account, host: 'stranger', host_url: canary.url }),
    )
    const configFile = join(folder.path, 'config.json')
    await writeFile(configFile, JSON.stringify({ tokens: { 'http://127.0.0.1:8420': { token } } }))
    await act({
      cwd: folder.path,
      env: { SVC_CONFIG_FILE: configFile, SVC_CLI_TOKEN: token, SVC_EXECUTOR_TOKEN: token },
    })
  }

  const calls = all
    // The others use no server, ignore the link file (`login` has a test below), or need a terminal first.
    .filter(([name]) => good[name]!.speaks && !['login', 'sessions shell'].includes(name))
    .map(([name]) => [name, good[name]!] as const)

  test.each(calls)('sends nothing to the unknown host: svc %s', async (name, { args, stdin }) => {
    await using canary = startService()
    await inStrangersFolder(canary, async (options) => {
      // Some commands need a repository with a commit.
      const { cwd } = options
      const identity = ['-c', 'user.name=A', '-c', 'user.email=a@example.test']
      await git(cwd, ['init', '--quiet'], process.env)
      await git(cwd, [...identity, 'commit', '--quiet', '--allow-empty', '-m', 'First'], process.env)
      const words = [...name.split(' '), ...args]
      const { code, stderr } = await svc(words, { ...options, ...(stdin === undefined ? {} : { stdin }) })
      expect(code).toBe(1)
      expect(stderr).toContain('Not signed in to')
      expect(stderr).toContain('sign in only if you trust it. --host selfhost asks the active host instead.')
      expect(canary.received).toEqual([])
    })
  })

  test('plain svc login does not sign in to the host of the link file', async () => {
    await using canary = startService()
    await using active = startService()
    await inStrangersFolder(canary, async ({ cwd, env }) => {
      await writeFile(
        env.SVC_CONFIG_FILE!,
        JSON.stringify({ active_host: 'mine', hosts: { mine: { url: active.url } } }),
      )
      expect((await svc(['login', '--token', token], { cwd, env })).code).toBe(0)
      expect(active.of('whoAmI')).toHaveLength(1)
      expect(canary.received).toEqual([])
      expect(JSON.parse(await readFile(env.SVC_CONFIG_FILE!, 'utf8')).tokens).toEqual({ [active.url]: { token } })
    })
  })

  test('sends a token after the user signed in to the host by name', async () => {
    await using canary = startService()
    await inStrangersFolder(canary, async (options) => {
      expect((await svc(['login', '--host', 'stranger', '--api', canary.url, '--token', token], options)).code).toBe(0)
      expect((await svc(['cr', 'ls'], options)).code).toBe(0)
      expect(canary.of('listChangeRequests')).toHaveLength(1)
    })
  })
})

describe('svc hosts', () => {
  test('hosts adds, uses, shows and removes a host', async () => {
    await using service = startService()
    await using folder = await temporaryFolder()
    const options = { env: { SVC_CONFIG_FILE: join(folder.path, 'config.json') } }
    expect((await svc(['hosts', 'add', 'work', '--url', `${service.url}/v1`], options)).code).toBe(0)
    expect((await svc(['hosts', 'use', 'work'], options)).code).toBe(0)
    expect((await svc(['hosts', 'current'], options)).stdout).toBe('work\n')
    const { hosts } = (await svc(['hosts', 'ls', '--json'], options)).json<{
      hosts: { name: string; active: boolean }[]
    }>()
    expect(hosts.filter((host) => host.active).map((host) => host.name)).toEqual(['work'])
    const info = await svc(['hosts', 'info'], options)
    expect(info.stdout).toContain('ready, version 0.1.0')
    expect(service.received.map((request) => request.headers.get('authorization'))).toEqual([null])
    const asked = await svc(['hosts', 'rm', 'work'], options)
    expect(asked.code).toBe(2)
    expect(asked.stderr).toContain('svc hosts rm work --yes')
    expect((await svc(['hosts', 'rm', 'work', '--yes'], options)).code).toBe(0)
    expect((await svc(['hosts', 'current'], options)).stdout).toBe('selfhost\n')
    expect((await svc(['hosts', 'rm', 'selfhost', '--yes'], options)).code).toBe(1)
  })

  test('hosts use asks on a terminal and names the missing argument elsewhere', async () => {
    const without = await svc(['hosts', 'use'])
    expect(without.code).toBe(2)
    expect(without.stderr).toContain('svc hosts use <name>')
    const picked = await svc(['hosts', 'use'], {
      terminal: true,
      types: [
        { after: /Which host/, keys: 'local' },
        { after: /local-dev/, keys: '\r' },
      ],
    })
    expect(picked.stdout).toContain('local-dev')
    const cancelled = await svc(['hosts', 'use'], { terminal: true, types: [{ after: /Which host/, keys: '\x03' }] })
    expect(cancelled.code).toBe(1)
    expect(cancelled.stderr).toContain('Cancelled')
  })

  test.each(['Work', '-x', '__proto__', 'a b', ''])('hosts add refuses the name %p', async (name) => {
    expect((await svc(['hosts', 'add', '--url', 'https://example.com', '--', name])).code).toBe(2)
  })

  test('suggests the nearest host for an unknown name', async () => {
    const { code, stderr } = await svc(['hosts', 'use', 'selfhots'])
    expect(code).toBe(1)
    expect(stderr).toContain('Did you mean selfhost?')
  })
})

describe('svc login and logout', () => {
  test('login keeps one token per origin, from stdin or from the command line', async () => {
    await using service = startService()
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'deep', 'config.json')
    const options = { env: { SVC_CONFIG_FILE: file } }
    const ran = await svc(['login', '--api', service.url, '--token', '-'], { ...options, stdin: `${token}\n` })
    expect(ran.code).toBe(0)
    expect(ran.stdout).toContain('as Ada (Home)')
    expect(ran.stdout + ran.stderr).not.toContain(token)
    const name = new URL(service.url).host.replace(':', '-')
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
      active_host: name,
      hosts: { [name]: { url: service.url } },
      tokens: { [service.url]: { token } },
    })
    expect((await svc(['whoami'], options)).stdout).toContain('Ada <ada@example.com>')
    expect((await svc(['logout'], options)).stdout).toContain('Signed out')
    expect((await svc(['logout'], options)).stderr).toContain('No token is stored')
    const { stderr } = await svc(['whoami'], options)
    expect(stderr).toContain('Not signed in')
    // Where no browser is.
    expect(stderr).toContain('svc login --link -')
  })

  describe('logout --revoke', () => {
    const whoAmI = (kind: 'user' | 'project') => () => ({
      kind,
      token_id: ids.token,
      user: { user_id: ids.user, name: 'Ada', email: null },
      account: { account_id: ids.account, name: 'Home' },
      project_id: kind === 'user' ? null : ids.project,
      session_id: null,
      expires_at: null,
    })

    async function signedIn(answers: Answers, more: Record<string, string> = {}) {
      const service = startService(answers)
      const folder = await temporaryFolder()
      const env = { SVC_CONFIG_FILE: join(folder.path, 'config.json'), SVC_API_URL: service.url }
      await svc(['login', '--token', token], { env })
      const ran = await svc(['logout', '--revoke', '--json'], { env: { ...env, ...more } })
      const left = JSON.parse(await readFile(env.SVC_CONFIG_FILE, 'utf8')) as { tokens: object }
      await service[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
      // The local token is removed in every case.
      expect([ran.code, left.tokens]).toEqual([0, {}])
      return { ran, revoked: service.of('revokeUserToken') }
    }

    test('logout --revoke revokes the stored user token with that token itself', async () => {
      const { ran, revoked } = await signedIn({ whoAmI: whoAmI('user'), revokeUserToken: () => ({ ok: true }) })
      expect(ran.json<object>()).toMatchObject({ removed: true, revoked: true })
      expect(revoked.map(({ params }) => params)).toEqual([{ tokenId: ids.token }])
      expect(revoked[0]!.headers.get('authorization')).toBe(`Bearer ${token}`)
    })

    test('logout --revoke does not revoke a token from the environment or a project token', async () => {
      for (const [kind, more] of [
        ['user', { SVC_CLI_TOKEN: token }],
        ['user', { SVC_EXECUTOR_TOKEN: token }],
        ['project', {}],
      ] as const) {
        const { ran, revoked } = await signedIn({ whoAmI: whoAmI(kind) }, more)
        expect(ran.json<object>()).toMatchObject({ removed: true, revoked: false })
        expect(ran.stderr).toContain('stays valid')
        expect(revoked).toEqual([])
      }
    })

    test('logout --revoke warns when the server refuses', async () => {
      const { ran } = await signedIn({
        whoAmI: whoAmI('user'),
        revokeUserToken: () => {
          throw new ServiceError('unavailable', 'The database does not answer.')
        },
      })
      expect(ran.json<object>()).toMatchObject({ revoked: false })
      expect(ran.stderr).toContain('The database does not answer.')
    })
  })

  test('login opens no browser page of a server that does not respond', async () => {
    const { code, stdout, stderr } = await svc(['login', '--api', 'http://127.0.0.1:1'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('cannot be reached')
    expect(stderr).not.toContain('/authorize')
  })

  test('login refuses a mistyped token before it sends a request', async () => {
    await using service = startService()
    for (const wrong of ['', 'svc_pat_short', `${token.slice(0, -1)}x`, token.replace('svc_pat_', 'svc_sbx_')]) {
      const { code, problem } = await svc(['login', '--api', service.url, '--json', `--token=${wrong}`])
      expect(code).toBe(1)
      expect(problem()).toMatchObject({ code: 'bad_token' })
    }
    expect(service.received).toEqual([])
  })

  test('login does not store a token that the server does not know', async () => {
    await using service = startService({
      whoAmI: () => Response.json({ error: 'This token is not valid', code: 'unauthenticated' }, { status: 401 }),
    })
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'config.json')
    expect(
      (await svc(['login', '--api', service.url, '--token', token], { env: { SVC_CONFIG_FILE: file } })).code,
    ).toBe(1)
    expect(await Bun.file(file).exists()).toBe(false)
  })
})
