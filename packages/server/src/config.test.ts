import { describe, expect, test } from 'bun:test'
import { backupsWithoutWorker, missingHiddenPaths, unknownSettings } from './config/warnings.ts'
import { generateKeyPairSync } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError, type Config, parseConfig } from './config.ts'

const token = 'svc_pat_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0TyBiU'

function problemsOf(env: Record<string, string>): string[] {
  try {
    parseConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n')
    throw error
  }
}

describe('the default configuration', () => {
  test('the default server runs on this machine for this user', () => {
    expect(parseConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 8420,
      publicUrl: 'http://127.0.0.1:8420',
      dataDir: join(homedir(), '.local/share/svc'),
      masterKeyFile: join(homedir(), '.config/svc/master.key'),
      databaseUrl: null,
      bootstrapToken: null,
      sandboxDriver: 'auto',
      model: null,
      sessionLimit: null,
      mirrorBytesMax: 20_480 * 1024 * 1024,
      previewDomain: 'localhost',
      allowPrivateGitHosts: true,
      roles: { api: true, worker: true },
    })
  })

  test('treats an empty variable as unset', () => {
    const names = [
      ...['SVC_HOST', 'SVC_PORT', 'SVC_DATA_DIR', 'SVC_PUBLIC_URL', 'DATABASE_URL', 'SVC_BOOTSTRAP_TOKEN'],
      'SVC_SANDBOX_DRIVER SVC_LLM_UPSTREAM_URL SVC_LLM_UPSTREAM_KEY SVC_LLM_MODEL SVC_MASTER_KEY_FILE',
    ]
    const all = [...names.join(' ').split(' '), 'SVC_SESSION_LIMIT', 'SVC_PREVIEW_DOMAIN', 'SVC_ROLES', 'SVC_LOG']
    // Functions are compared by their results.
    const parsed = (env: Record<string, string>) => {
      const { network, ...rest } = parseConfig(env)
      return { ...rest, network: { ...network, trustsProxy: network.trustsProxy('127.0.0.1') } }
    }
    expect(parsed(Object.fromEntries(all.map((name) => [name, ''])))).toEqual(parsed({}))
  })
})

const good: [Record<string, string>, Partial<Config>][] = [
  [{ SVC_PORT: '0' }, { port: 0, publicUrl: 'http://127.0.0.1:0' }],
  [{ SVC_PORT: '65535' }, { port: 65535 }],
  [{ SVC_HOST: '0.0.0.0' }, { host: '0.0.0.0', publicUrl: 'http://0.0.0.0:8420' }],
  [{ SVC_HOST: '::1' }, { host: '::1', publicUrl: 'http://127.0.0.1:8420' }],
  [{ SVC_HOST: '2001:db8::1' }, { publicUrl: 'http://[2001:db8::1]:8420' }],
  [{ SVC_HOST: 'svc.example' }, { publicUrl: 'http://svc.example:8420' }],
  [{ SVC_PUBLIC_URL: 'https://svc.example/' }, { publicUrl: 'https://svc.example' }],
  [{ SVC_DATA_DIR: '/var/lib/svc' }, { dataDir: '/var/lib/svc' }],
  [{ SVC_MASTER_KEY_FILE: '/etc/svc.key' }, { masterKeyFile: '/etc/svc.key' }],
  [{ DATABASE_URL: 'postgres://u@h/d' }, { databaseUrl: 'postgres://u@h/d' }],
  [{ DATABASE_URL: 'postgresql:///d?host=/run/pg' }, { databaseUrl: 'postgresql:///d?host=/run/pg' }],
  [{ SVC_BOOTSTRAP_TOKEN: token }, { bootstrapToken: token }],
  [{ SVC_SANDBOX_DRIVER: 'local' }, { sandboxDriver: 'local' }],
  [{ SVC_SANDBOX_DRIVER: 'none' }, { sandboxDriver: 'none' }],
  [
    {
      SVC_SANDBOX_DRIVER: 'kubernetes',
      KUBECONFIG: '/etc/one:/etc/two',
      KUBERNETES_SERVICE_HOST: '10.0.0.1',
      KUBERNETES_SERVICE_PORT: '443',
      SVC_KUBERNETES_NAMESPACE: 'agents',
      SVC_KUBERNETES_IMAGE: 'registry.example:5000/svc/sandbox:0.7.0',
      SVC_KUBERNETES_PROJECT_IMAGES: 'registry.example/team/*,registry.example/one:1',
      SVC_KUBERNETES_PULL_SECRETS: 'registry, team-registry',
      SVC_KUBERNETES_RUNTIME_CLASS: 'gvisor',
      SVC_KUBERNETES_NODE_SELECTOR: 'pool=agents, kubernetes.io/arch=amd64',
      SVC_KUBERNETES_WORKSPACE_STORAGE_CLASS: 'fast',
    },
    {
      sandboxDriver: 'kubernetes',
      kubernetes: {
        kubeconfig: '/etc/one',
        service: { host: '10.0.0.1', port: '443' },
        namespace: 'agents',
        image: 'registry.example:5000/svc/sandbox:0.7.0',
        projectImages: ['registry.example/team/*', 'registry.example/one:1'],
        imagePullSecrets: ['registry', 'team-registry'],
        runtimeClass: 'gvisor',
        nodeSelector: { pool: 'agents', 'kubernetes.io/arch': 'amd64' },
        workspaceStorageClass: 'fast',
      },
    },
  ],
  [
    { SVC_LLM_UPSTREAM_URL: 'https://models.example/v1/', SVC_LLM_UPSTREAM_KEY: 'k', SVC_LLM_MODEL: 'm' },
    { model: { url: 'https://models.example/v1', key: 'k', name: 'm' } },
  ],
  [
    { SVC_LLM_UPSTREAM_URL: 'http://127.0.0.1:1/v1', SVC_LLM_MODEL: 'm' },
    { model: { url: 'http://127.0.0.1:1/v1', key: null, name: 'm' } },
  ],
  [{ SVC_SESSION_LIMIT: '0' }, { sessionLimit: 0 }],
  [{ SVC_SESSION_LIMIT: '7' }, { sessionLimit: 7 }],
  [{ SVC_PREVIEW_DOMAIN: 'preview.example' }, { previewDomain: 'preview.example' }],
  [{ SVC_ALLOW_PRIVATE_GIT_HOSTS: '0' }, { allowPrivateGitHosts: false, fileRepositories: null }],
  [{}, { fileRepositories: { roots: 'owned' } }],
  [{ SVC_HOST: '0.0.0.0' }, { fileRepositories: null }],
  [{ SVC_SANDBOX_HIDDEN_PATHS: '/usr/share/x/:/usr/lib/y' }, { hiddenPaths: ['/usr/share/x', '/usr/lib/y'] }],
  [{ DATABASE_URL: 'postgres://h/d', SVC_ALLOW_PRIVATE_GIT_HOSTS: '1' }, { fileRepositories: null }],
  [
    { DATABASE_URL: 'postgres://h/d', SVC_FILE_REPOSITORY_ROOTS: '/srv/git:/home/me/work' },
    { fileRepositories: { roots: ['/srv/git', '/home/me/work'] } },
  ],
  [{ SVC_ALLOW_PRIVATE_GIT_HOSTS: 'true', DATABASE_URL: 'postgres://h/d' }, { allowPrivateGitHosts: true }],
  [{}, { github: { apis: { 'github.com': 'https://api.github.com' }, app: null } }],
  [
    { SVC_GITHUB_HOSTS: 'GHE.example, code.example:8443=https://api.code.example/x/' },
    {
      github: {
        apis: {
          'github.com': 'https://api.github.com',
          'ghe.example': 'https://ghe.example/api/v3',
          'code.example:8443': 'https://api.code.example/x',
        },
        app: null,
      },
    },
  ],
  [{ SVC_DISK_FREE_MIN: '0' }, { diskFreeBytesMin: 0 }],
  [{ SVC_DISK_FREE_MIN: '5GB' }, { diskFreeBytesMin: 5 * 1024 ** 3 }],
  [{ SVC_EGRESS: 'none' }, { egress: 'none' }],
  [{ SVC_ROLES: 'api' }, { roles: { api: true, worker: false } }],
  [{ SVC_ROLES: ' worker , api ' }, { roles: { api: true, worker: true } }],
  [{ SVC_LOG: 'json' }, { log: 'json' }],
  [{ SVC_LOG: 'pretty' }, { log: 'pretty' }],
]

test.each(good)('accepts %j', (env, expected) => {
  expect(parseConfig(env)).toMatchObject(expected)
})

test.each<Record<string, string>>([{ DATABASE_URL: 'postgres://h/d' }, { SVC_HOST: '0.0.0.0' }])(
  'forbids private git hosts by default with %j, which lets others reach the server',
  (env) => expect(parseConfig(env).allowPrivateGitHosts).toBeFalse(),
)

describe('warnings about settings without effect', () => {
  const known = ['SVC_SESSION_LIMIT', 'SVC_PORT', 'DATABASE_URL']

  test('names unknown settings with the closest known name, but not those of the client or other programs', () => {
    const names = ['SVC_SESION_LIMIT', 'SVC_WHAT_IS_THIS', 'SVC_PORT', 'SVC_CLI_TOKEN', 'SVC_TEST_RUNS', 'HOME']
    expect(unknownSettings(names, known)).toEqual([
      'SVC_SESION_LIMIT is not a setting of the server, so it has no effect. Did you mean SVC_SESSION_LIMIT?',
      'SVC_WHAT_IS_THIS is not a setting of the server, so it has no effect.',
    ])
  })

  test('says that a server without the role worker makes no backups', () => {
    const of = (env: Record<string, string>) => backupsWithoutWorker(parseConfig({ HOME: '/home/ada', ...env }))
    const place = { SVC_BACKUP_DIR: '/mnt/backups' }
    expect(of({ ...place, SVC_ROLES: 'api' })).toEqual([expect.stringContaining('this server makes no backups')])
    expect([of(place), of({ ...place, SVC_ROLES: 'api,worker' }), of({ SVC_ROLES: 'api' })]).toEqual([[], [], []])
  })

  test('names a hidden path that does not exist', () => {
    expect(missingHiddenPaths(['/nope-at-all', '/usr'])).toEqual([
      'SVC_SANDBOX_HIDDEN_PATHS names /nope-at-all, which does not exist, so nothing is hidden there.',
    ])
  })
})

const bad: [string, string][] = [
  ['SVC_HOST', 'one two'],
  ['SVC_PREVIEW_DOMAIN', 'preview.example:80'],
  ['SVC_PORT', '65536'],
  ['SVC_PORT', '-1'],
  ['SVC_PORT', '8e3'],
  ['SVC_PORT', '0x10'],
  ['SVC_PORT', ' 80'],
  ['SVC_PORT', '80.5'],
  ['SVC_PORT', 'http'],
  ['SVC_PUBLIC_URL', 'svc.example'],
  ['SVC_PUBLIC_URL', 'ftp://svc.example'],
  ['SVC_PUBLIC_URL', 'http://'],
  ['SVC_PUBLIC_URL', 'javascript:alert(1)'],
  ['DATABASE_URL', 'mysql://h/d'],
  ['DATABASE_URL', 'localhost'],
  ['SVC_BOOTSTRAP_TOKEN', `${token.slice(0, -1)}V`],
  ['SVC_BOOTSTRAP_TOKEN', 'secret'],
  ['SVC_SANDBOX_DRIVER', 'docker'],
  ['SVC_KUBERNETES_NAMESPACE', 'Not_A_Name'],
  ['SVC_KUBERNETES_IMAGE', '-x'],
  ['SVC_KUBERNETES_PULL_SECRETS', 'one two'],
  ['SVC_KUBERNETES_RUNTIME_CLASS', 'g visor'],
  ['SVC_KUBERNETES_NODE_SELECTOR', 'pool'],
  ['SVC_KUBERNETES_WORKSPACE_STORAGE_CLASS', '/fast'],
  ['SVC_LLM_UPSTREAM_URL', 'models.example/v1'],
  ['SVC_SESSION_LIMIT', 'many'],
  ['SVC_SESSION_LIMIT', '-1'],
  ['SVC_SESSION_LIMIT', '100001'],
  ['SVC_ALLOW_PRIVATE_GIT_HOSTS', 'yes'],
  ['SVC_SANDBOX_HIDDEN_PATHS', 'usr/share/x'],
  ['SVC_SANDBOX_HIDDEN_PATHS', '/usr'],
  ['SVC_SANDBOX_HIDDEN_PATHS', '/usr/share/x:/usr/bin/'],
  ['SVC_FILE_REPOSITORY_ROOTS', '/'],
  ['SVC_FILE_REPOSITORY_ROOTS', '/srv/git:../x'],
  ['SVC_GITHUB_HOSTS', 'https://ghe.example'],
  ['SVC_GITHUB_HOSTS', 'ghe.example=ftp://x'],
  ['SVC_GITHUB_API_URL', 'ghe.example'],
  ['SVC_GITHUB_APP_ID', '1'],
  ['SVC_OIDC_ISSUER', 'https://sign-in.example'],
  ['SVC_DISK_FREE_MIN', '5'],
  ['SVC_DISK_FREE_MIN', '512KiB'],
  ['SVC_EGRESS', 'none,github.com'],
  ['SVC_EGRESS', 'github.com, any'],
  ['SVC_ROLES', 'api,admin'],
  ['SVC_LOG', 'verbose'],
]

test.each(bad)('%s=%s is one problem that names it', (name, value) => {
  const problems = problemsOf({ [name]: value })
  expect(problems).toHaveLength(1)
  expect(problems[0]).toContain(name)
  expect(problems[0]).toEndWith('.')
})

test.each(['/srv/svc', '/srv/svc/', '/srv/svc/backups', '/srv/svc/../svc/backups'])(
  'refuses the place %s for backups, which would be lost with the data folder',
  (place) => {
    const problems = problemsOf({ SVC_DATA_DIR: '/srv/svc', SVC_BACKUP_DIR: place })
    expect(problems).toEqual([
      expect.stringContaining('SVC_BACKUP_DIR must not be inside the data folder /srv/svc, with which'),
    ])
    expect(problemsOf({ SVC_DATA_DIR: '/srv/svc', SVC_BACKUP_DIR: '/srv/svc-backups' })).toEqual([])
  },
)

test('refuses an upstream without a model', () => {
  expect(problemsOf({ SVC_LLM_UPSTREAM_URL: 'http://127.0.0.1:1/v1' })).toEqual([
    expect.stringContaining('SVC_LLM_MODEL'),
  ])
})

test('reports all problems at once', () => {
  const worst = Object.fromEntries(bad.map(([name, value]) => [name, value]))
  const problems = problemsOf(worst)
  expect(problems).toHaveLength(Object.keys(worst).length)
  for (const name of Object.keys(worst)) expect(problems.filter((problem) => problem.includes(name))).toHaveLength(1)
})

test('never repeats a secret in a problem', () => {
  const problems = problemsOf({ SVC_BOOTSTRAP_TOKEN: 'svc_pat_hunter2', DATABASE_URL: 'mysql://u:hunter2@h/d' })
  expect(problems).toHaveLength(2)
  expect(problems.join()).not.toContain('hunter2')
})

test('requires three settings for a sign-in provider, uses https except on this machine, and defaults its name to its host', () => {
  const env = { SVC_OIDC_CLIENT_ID: 'svc', SVC_OIDC_CLIENT_SECRET: 'hunter2' }
  const oidc = (issuer: string, name?: string) =>
    parseConfig({ ...env, SVC_OIDC_ISSUER: issuer, SVC_OIDC_NAME: name }).oidc
  expect(oidc('https://sign-in.example/tenant')).toEqual({
    issuer: 'https://sign-in.example/tenant',
    clientId: 'svc',
    clientSecret: 'hunter2',
    name: 'sign-in.example',
  })
  expect(oidc('http://127.0.0.1:9000', 'Our own')).toMatchObject({ name: 'Our own' })
  for (const issuer of ['http://sign-in.example', 'http://127.0.0.1.evil.example', 'ftp://sign-in.example', 'none'])
    expect(problemsOf({ ...env, SVC_OIDC_ISSUER: issuer })).toEqual([expect.stringMatching(/^SVC_OIDC_ISSUER .*https/)])
  expect(problemsOf(env)).toEqual([expect.stringMatching(/^SVC_OIDC_ISSUER(?!.*hunter2)/)])
})

test('checks the id and key of a GitHub App at once, which serves the first account by default', async () => {
  const file = join(tmpdir(), `svc-config-test-${process.pid}.pem`)
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(file, privateKey.export({ type: 'pkcs1', format: 'pem' }))
  try {
    const env = { SVC_GITHUB_APP_ID: '12', SVC_GITHUB_APP_PRIVATE_KEY_FILE: file }
    const app = { id: '12', privateKeyFile: file, apiUrl: 'https://api.github.com', accounts: null }
    expect(parseConfig(env).github.app).toEqual(app)
    expect(
      parseConfig({ ...env, SVC_GITHUB_API_URL: 'https://ghe.example/api/v3', SVC_GITHUB_APP_ACCOUNTS: 'a, b' }).github
        .app,
    ).toEqual({ ...app, apiUrl: 'https://ghe.example/api/v3', accounts: ['a', 'b'] })
    expect(parseConfig({ ...env, SVC_GITHUB_APP_ACCOUNTS: '*' }).github.app?.accounts).toBe('all')
    writeFileSync(file, 'canary')
    expect(problemsOf(env)).toEqual([expect.stringMatching(/^SVC_GITHUB_APP_PRIVATE_KEY_FILE (?!.*canary)/)])
  } finally {
    rmSync(file)
  }
})
