/** What the agent runtime is told: its configuration file and its environment. Both lie outside the repository. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { bareModelName, modelProvider } from '@svc/contract/model-names'

import { modelsOfAgents } from './agent-models.ts'
import { systemPath } from './child.ts'
import type { DaemonConfig, DaemonPaths } from './config.ts'

/** A window to plan with where the model is behind a gateway and cannot be asked. */
const modelLimit = { context: 128_000, output: 16_384 }

/** Both come with the runtime. */
const providerPackages = { openai: '@ai-sdk/openai-compatible', anthropic: '@ai-sdk/anthropic' }

/** Settings that the project's own configuration may change. */
export function runtimeConfig(config: DaemonConfig): Record<string, unknown> {
  return {
    $schema: 'https://opencode.ai/config.json',
    // The sandbox is the wall, so the runtime need not ask. A project's own configuration comes later and may make it ask:
    // people answer through the service. An agent file allows "question" where an agent may wait for a person.
    permission: { '*': 'allow', question: 'deny' },
    // The tools of the project and of its connectors. Their credentials stay with the server, which knows this sandbox by its token.
    mcp: {
      svc: {
        type: 'remote',
        url: `${config.apiUrl}/mcp`,
        headers: { Authorization: 'Bearer {env:SVC_EXECUTOR_TOKEN}' },
        oauth: false,
        enabled: true,
      },
    },
  }
}

/**
 * Settings that win over every other file the runtime reads: the gateway is its only provider. Without them the runtime
 * falls back to a provider it brings along, and sends the code to a third party that nobody chose.
 */
export function enforcedConfig(config: DaemonConfig, agentModels: Record<string, string>): Record<string, unknown> {
  const { llm } = config
  // The gateway knows which model the default is, also after it changed.
  const chosen = config.model ?? 'default'
  const shapes = { ...config.models, [chosen]: config.models[chosen] ?? llm.shape }
  const models = Object.entries(shapes).map(([name, shape]) => [
    name,
    { name, limit: modelLimit, provider: { npm: providerPackages[shape] } },
  ])
  return {
    $schema: 'https://opencode.ai/config.json',
    enabled_providers: [modelProvider],
    // A list of the project's own could disable the only one.
    disabled_providers: [],
    model: `${modelProvider}/${chosen}`,
    // It makes titles and summaries.
    small_model: `${modelProvider}/${chosen}`,
    provider: {
      [modelProvider]: {
        npm: providerPackages[llm.shape],
        name: modelProvider,
        options: { baseURL: llm.baseUrl, apiKey: '{env:SVC_LLM_API_KEY}' },
        models: Object.fromEntries(models) as Record<string, unknown>,
        whitelist: Object.keys(shapes),
        blacklist: [],
      },
    },
    agent: Object.fromEntries(
      Object.entries(agentModels).map(([name, model]) => [name, { model: `${modelProvider}/${bareModelName(model)}` }]),
    ),
    autoupdate: false,
    share: 'disabled',
  }
}

/** Written again whenever the agents of the default branch are copied: their files name models without our provider. */
export function writeEnforcedConfig(config: DaemonConfig, paths: Pick<DaemonPaths, 'runtimeDir'>): void {
  const folder = enforcedDir(paths)
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  const enforced = enforcedConfig(config, modelsOfAgents(join(paths.runtimeDir, 'config')))
  writeFileSync(join(folder, 'opencode.json'), JSON.stringify(enforced), { mode: 0o644 })
}

const enforcedDir = ({ runtimeDir }: Pick<DaemonPaths, 'runtimeDir'>) => join(runtimeDir, 'enforced')

export function runtimeEnvironment(
  config: DaemonConfig,
  paths: DaemonPaths,
  secrets: Record<string, string>,
): Record<string, string> {
  return {
    ...secrets,
    ...config.platform,
    // Both names of the pair are always there, whichever the server sent.
    SVC_LLM_API_KEY: config.llm.apiKey,
    SVC_LLM_BASE_URL: config.llm.baseUrl,
    PATH: systemPath,
    HOME: paths.home,
    SHELL: '/bin/bash',
    USER: 'agent',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_GLOBAL: join(paths.runtimeDir, 'git', 'config'),
    GIT_CONFIG_NOSYSTEM: '1',
    // What POST /svc/env brings after the start reaches every bash from here.
    BASH_ENV: paths.sessionEnv,
    RUNTIME_CONFIG_DIR: join(paths.workspace, config.configDir),
    OPENCODE_CONFIG: join(paths.runtimeDir, 'opencode.json'),
    OPENCODE_CONFIG_DIR: join(paths.runtimeDir, 'config'),
    // The runtime reads this folder last, as an administrator's. The variable comes from the runtime's own tests; the
    // documented folder, /etc/opencode, belongs to the image, which a project may build.
    OPENCODE_TEST_MANAGED_CONFIG_DIR: enforcedDir(paths),
    // Without these five it waits for hosts that cannot be reached, and writes into the repository.
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_SHARE: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  }
}

/**
 * What makes programs use the way out. curl reads the lower-case names for http alone, others only the upper-case ones;
 * Node looks at them since 24, when it is told to. The relay to the service is on loopback, and no proxy's business.
 */
export function proxyEnvironment(egress: { port: number } | null): Record<string, string> {
  if (egress === null) return {}
  const proxy = `http://127.0.0.1:${egress.port}`
  const direct = 'localhost,127.0.0.1,::1'
  return {
    ...{ HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: direct, NODE_USE_ENV_PROXY: '1' },
    ...{ http_proxy: proxy, https_proxy: proxy, no_proxy: direct },
  }
}
