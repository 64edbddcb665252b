import { describe, expect, test } from 'bun:test'

import { type DaemonConfig, dropLoaderNames, readConfig, readIdentity, refuseSecretName } from './config.ts'
import { runtimeConfig, runtimeEnvironment } from './runtime-config.ts'
import { bootEnvironment } from './testing.ts'

const paths = {
  workspace: '/workspace',
  home: '/opt/svc/home',
  runtimeDir: '/opt/svc/runtime',
  sessionEnv: '/opt/svc/session.env',
}
const read = (extra: Record<string, string> = {}) => readConfig(bootEnvironment(extra)) as DaemonConfig

describe('the boot environment', () => {
  test('names everything that is missing at once', () => {
    const { problems } = readConfig({}) as { problems: string[] }
    for (const name of ['SVC_PROJECT_ID', 'SVC_SESSION_ID', 'SVC_TOKEN', 'SVC_REPO_URL']) {
      expect(problems.join('\n')).toContain(`${name} is not set.`)
    }
  })
  test('a configuration folder outside of the repository is refused', () => {
    for (const SVC_CONFIG_DIR of ['/etc', '../x', 'a/../../b'])
      expect(readConfig(bootEnvironment({ SVC_CONFIG_DIR }))).toHaveProperty('problems')
  })
  test('secrets are what is not the platform’s, and never what changes how programs start', () => {
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
  test('"default" as the agent leaves the choice to the runtime', () => {
    expect(read({ SVC_AGENT_NAME: 'default' }).agentName).toBeNull()
    expect(read({ SVC_AGENT_NAME: 'house' }).agentName).toBe('house')
  })
  test('the daemon’s own start is clean of them', () => {
    expect(dropLoaderNames({ LD_PRELOAD: 'x', BUN_BE_BUN: '1', A: 'b', NODE_OPTIONS: 'x' })).toEqual({ A: 'b' })
  })
  test.each(['SVC_TOKEN', 'svc_x', 'LD_AUDIT', 'BASH_ENV', 'A B', '1A', '', 'PATH', 'BUN_X', 'A=B', 'A\n'])(
    '%j is no name for a secret',
    (name) => {
      expect(refuseSecretName(name)).not.toBeNull()
    },
  )
})

describe('who the agent runs as', () => {
  test('1000, if that uid is mapped and we are root', () => {
    const root = process.getuid?.() === 0
    expect(readIdentity([], '0 100000 65536').uid).toBe(root ? 1000 : null)
    expect(readIdentity([], '0 5 1\n1 300000 65535').uid).toBe(root ? 1000 : null)
    expect(readIdentity([], '1000 5 1').uid).toBe(root ? 1000 : null)
    expect(readIdentity([], '0 5 1').uid).toBeNull()
  })
  test('with as many processes as it is told', () => {
    expect(readIdentity(['--agent-processes', '77'], '').processesMax).toBe(77)
    expect(readIdentity(['--agent-processes', 'x'], '').processesMax).toBeNull()
    expect(readIdentity([], '').processesMax).toBeNull()
  })
})

describe('what the runtime is told', () => {
  const llm = { SVC_LLM_BASE_URL: 'http://127.0.0.1:61080/v1/llm', SVC_LLM_API_KEY: 'k' }
  test('a model without a slash is the gateway’s', () => {
    const config = runtimeConfig(read({ ...llm, SVC_RUNTIME_MODEL: 'big' })) as {
      model: string
      provider: { svc: Record<string, unknown> }
    }
    expect(config.model).toBe('svc/big')
    expect(config.provider.svc).toMatchObject({
      npm: '@ai-sdk/openai-compatible',
      options: { baseURL: llm.SVC_LLM_BASE_URL, apiKey: '{env:SVC_LLM_API_KEY}' },
      models: { big: {} },
    })
    // The key itself stands in no file.
    expect(JSON.stringify(config)).not.toContain('"k"')
  })
  test('a model of an upstream of the Anthropic shape is asked in that shape', () => {
    const config = runtimeConfig(read({ ...llm, SVC_RUNTIME_MODEL: 'claude', SVC_LLM_SHAPE: 'anthropic' }))
    expect(config).toMatchObject({
      model: 'svc/claude',
      provider: {
        svc: { npm: '@ai-sdk/anthropic', options: { baseURL: llm.SVC_LLM_BASE_URL }, models: { claude: {} } },
      },
    })
  })
  test('a model with a slash is a provider’s that the project has a key for', () => {
    expect(runtimeConfig(read({ ...llm, SVC_RUNTIME_MODEL: 'anthropic/x' }))).toMatchObject({ model: 'anthropic/x' })
  })
  test('without a gateway there is no provider of ours', () => {
    expect(runtimeConfig(read())).not.toHaveProperty('provider')
  })
  test('its environment holds the platform’s variables, the secrets, and nothing a secret could bend', () => {
    const config = read({ ...llm, MY_KEY: '1' })
    const env = runtimeEnvironment(config, paths, { MY_KEY: '2', RUNTIME_CONFIG_DIR: '/evil' })
    expect(env).toMatchObject({
      MY_KEY: '2',
      HOME: '/opt/svc/home',
      RUNTIME_CONFIG_DIR: '/workspace/.svc/runtime',
      OPENCODE_CONFIG_DIR: '/opt/svc/runtime/config',
      BASH_ENV: '/opt/svc/session.env',
      SVC_TOKEN: 'svc_sbx_unit',
    })
    expect(Object.keys(env).filter((name) => name.startsWith('OPENCODE_DISABLE_')).length).toBe(5)
  })
})
