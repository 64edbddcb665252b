import { describe, expect, test } from 'bun:test'

import { type DaemonConfig, dropLoaderNames, readConfig, readIdentity, refuseSecretName } from './config.ts'
import { enforcedConfig, runtimeEnvironment } from './runtime/runtime-config.ts'
import { bootEnvironment } from './testing.ts'

const paths = {
  workspace: '/workspace',
  home: '/opt/svc/home',
  runtimeDir: '/opt/svc/runtime',
  sessionEnv: '/opt/svc/session.env',
  attachments: '/opt/svc/attachments',
}
const read = (extra: Record<string, string> = {}) => readConfig(bootEnvironment(extra)) as DaemonConfig

describe('the boot environment', () => {
  test('reports all missing variables at once', () => {
    const { problems } = readConfig({}) as { problems: string[] }
    for (const name of ['SVC_PROJECT_ID', 'SVC_SESSION_ID', 'SVC_TOKEN', 'SVC_REPO_URL']) {
      expect(problems.join('\n')).toContain(`${name} is not set.`)
    }
  })
  test('refuses a configuration folder outside of the repository', () => {
    for (const SVC_CONFIG_DIR of ['/etc', '../x', 'a/../../b'])
      expect(readConfig(bootEnvironment({ SVC_CONFIG_DIR }))).toHaveProperty('problems')
  })
  test('treats every other variable as a secret, except those that change how programs start', () => {
    const hostile = {
      LD_PRELOAD: 'x',
      NODE_OPTIONS: 'x',
      BASH_ENV: 'x',
      BUN_OPTIONS: 'x',
      PATH: 'x',
      GIT_SSH_COMMAND: 'x',
      HOME: 'x',
      OPENCODE_CONFIG: 'x',
    }
    expect(read({ MY_KEY: '1', ...hostile }).secrets).toEqual({ MY_KEY: '1' })
  })
  test('the agent name "default" leaves the choice to the runtime', () => {
    expect(read({ SVC_AGENT_NAME: 'default' }).agentName).toBeNull()
    expect(read({ SVC_AGENT_NAME: 'house' }).agentName).toBe('house')
  })
  test("drops variables that would change how the daemon's own programs start", () => {
    expect(dropLoaderNames({ LD_PRELOAD: 'x', BUN_BE_BUN: '1', A: 'b', NODE_OPTIONS: 'x' })).toEqual({ A: 'b' })
  })
  test.each(['SVC_TOKEN', 'svc_x', 'LD_AUDIT', 'BASH_ENV', 'A B', '1A', '', 'PATH', 'BUN_X', 'A=B', 'A\n'])(
    'refuses the secret name %j',
    (name) => {
      expect(refuseSecretName(name)).not.toBeNull()
    },
  )
})

describe('the user of the agent', () => {
  test('runs the agent as uid 1000 if that uid is mapped and the daemon is root', () => {
    const root = process.getuid?.() === 0
    expect(readIdentity([], '0 100000 65536').uid).toBe(root ? 1000 : null)
    expect(readIdentity([], '0 5 1\n1 300000 65535').uid).toBe(root ? 1000 : null)
    expect(readIdentity([], '1000 5 1').uid).toBe(root ? 1000 : null)
    expect(readIdentity([], '0 5 1').uid).toBeNull()
  })
  test('reads the process limit of the agent from the command line', () => {
    expect(readIdentity(['--agent-processes', '77'], '').processesMax).toBe(77)
    expect(readIdentity(['--agent-processes', 'x'], '').processesMax).toBeNull()
    expect(readIdentity([], '').processesMax).toBeNull()
  })
})

describe('the configuration of the runtime', () => {
  const llm = { SVC_LLM_BASE_URL: 'http://127.0.0.1:61080/v1/llm', SVC_LLM_API_KEY: 'k' }
  const enforced = (env: Record<string, string>, agents: Record<string, string> = {}) =>
    enforcedConfig(read({ ...llm, ...env }), agents) as {
      model: string
      provider: { svc: { models: Record<string, { provider: { npm: string } }>; whitelist: string[] } }
    }
  test('makes the gateway the only provider, also for titles, and writes no key into a file', () => {
    const config = enforced({ SVC_RUNTIME_MODEL: 'big' })
    expect(config).toMatchObject({
      enabled_providers: ['svc'],
      disabled_providers: [],
      model: 'svc/big',
      small_model: 'svc/big',
      share: 'disabled',
      autoupdate: false,
      provider: {
        svc: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: llm.SVC_LLM_BASE_URL, apiKey: '{env:SVC_LLM_API_KEY}' },
          models: { big: {} },
          whitelist: ['big'],
        },
      },
    })
    expect(JSON.stringify(config)).not.toContain('"k"')
  })
  test('treats a name with a slash as a model of the gateway, and sets the default model', () => {
    expect(enforced({ SVC_RUNTIME_MODEL: 'vendor/x' }).model).toBe('svc/vendor/x')
    expect(enforced({ SVC_RUNTIME_MODEL: 'svc/big' }).model).toBe('svc/big')
    expect(enforced({}).model).toBe('svc/default')
  })
  test('knows no other provider even when the environment names no gateway', () => {
    expect(enforcedConfig(read(), {})).toMatchObject({
      enabled_providers: ['svc'],
      provider: { svc: { options: { baseURL: expect.stringMatching(/\/llm$/) } } },
    })
  })
  test("uses the API of each model's upstream, and agents name models without the provider", () => {
    const env = { SVC_LLM_SHAPE: 'anthropic', SVC_LLM_MODELS: '{"claude":"anthropic","small":"openai"}' }
    const config = enforced(env, { writer: 'small', reviewer: 'svc/claude' })
    expect(Object.entries(config.provider.svc.models).map(([name, { provider }]) => [name, provider.npm])).toEqual([
      ['claude', '@ai-sdk/anthropic'],
      ['small', '@ai-sdk/openai-compatible'],
      ['default', '@ai-sdk/anthropic'],
    ])
    expect(config).toMatchObject({ agent: { writer: { model: 'svc/small' }, reviewer: { model: 'svc/claude' } } })
  })
  test("gives the runtime the platform's variables and the secrets, and nothing that a secret could change", () => {
    const config = read({ ...llm, MY_KEY: '1' })
    const env = runtimeEnvironment(config, paths, { MY_KEY: '2', RUNTIME_CONFIG_DIR: '/evil' })
    expect(env).toMatchObject({
      MY_KEY: '2',
      HOME: '/opt/svc/home',
      RUNTIME_CONFIG_DIR: '/workspace/.svc/runtime',
      OPENCODE_CONFIG_DIR: '/opt/svc/runtime/config',
      OPENCODE_MODELS_PATH: '/opt/svc/runtime/models.json',
      OPENCODE_TEST_MANAGED_CONFIG_DIR: '/opt/svc/runtime/enforced',
      BASH_ENV: '/opt/svc/session.env',
      SVC_TOKEN: 'svc_sbx_unit',
    })
    expect(Object.keys(env).filter((name) => name.startsWith('OPENCODE_DISABLE_')).length).toBe(5)
  })
})
