/** The agent runtime's configuration file and environment. Both are outside the repository. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { bareModelName, modelProvider } from '@svc/contract/schemas/model-names'

import { modelsOfAgents } from './agent-models.ts'
import { agentEnvironment } from '../child.ts'
import type { DaemonConfig, DaemonPaths } from '../config.ts'

/** The context window to plan with: a model behind a gateway cannot report its own. */
const modelLimit = { context: 128_000, output: 16_384 }

/** The runtime bundles both packages. */
const providerPackages = { openai: '@ai-sdk/openai-compatible', anthropic: '@ai-sdk/anthropic' }

/** Settings that the project's own configuration may override. */
export function runtimeConfig(config: DaemonConfig, shell: string): Record<string, unknown> {
  return {
    $schema: 'https://opencode.ai/config.json',
    shell,
    // The sandbox isolates the agent, so the runtime need not ask for permission. The project's configuration is read
    // later and may require it: people answer through the service. An agent file allows "question" where the agent
    // may wait for a person.
    permission: { '*': 'allow', question: 'deny' },
    // The tools of the project and its connectors. Their credentials stay on the server, which identifies this
    // sandbox by its token.
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
 * Settings that override every other file the runtime reads: the gateway is the only provider. Without them the
 * runtime falls back to a bundled provider and sends code to a third party.
 */
export function enforcedConfig(config: DaemonConfig, agentModels: Record<string, string>): Record<string, unknown> {
  const { llm } = config
  // The gateway resolves "default", also after the default model changed.
  const chosen = config.model ?? 'default'
  const shapes = { ...config.models, [chosen]: config.models[chosen] ?? llm.shape }
  const models = Object.entries(shapes).map(([name, shape]) => [
    name,
    { name, limit: modelLimit, provider: { npm: providerPackages[shape] } },
  ])
  return {
    $schema: 'https://opencode.ai/config.json',
    enabled_providers: [modelProvider],
    // The project's own list could disable the only provider.
    disabled_providers: [],
    model: `${modelProvider}/${chosen}`,
    // Used for titles and summaries.
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

/**
 * The runtime brings a catalog of the models of all providers and reads it at its first prompt, which takes half the
 * time until it asks the model. It needs none: the only provider and its models are in the settings.
 */
export function writeEmptyCatalog(paths: Pick<DaemonPaths, 'runtimeDir'>): void {
  writeFileSync(catalogPath(paths), '{}', { mode: 0o644 })
}

const catalogPath = ({ runtimeDir }: Pick<DaemonPaths, 'runtimeDir'>) => join(runtimeDir, 'models.json')

/** Runs after each copy of the default branch's agents, since their files name models without our provider. */
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
    // Both names are always set, even when the server sent only one.
    SVC_LLM_API_KEY: config.llm.apiKey,
    ...agentEnvironment(paths.home),
    TERM: 'dumb',
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_GLOBAL: join(paths.runtimeDir, 'git', 'config'),
    GIT_CONFIG_NOSYSTEM: '1',
    // Every bash sources this file, which gets later changes from POST /svc/env.
    BASH_ENV: paths.sessionEnv,
    RUNTIME_CONFIG_DIR: join(paths.workspace, config.configDir),
    OPENCODE_MODELS_PATH: catalogPath(paths),
    OPENCODE_CONFIG: join(paths.runtimeDir, 'opencode.json'),
    OPENCODE_CONFIG_DIR: join(paths.runtimeDir, 'config'),
    // The runtime reads this folder last, as an administrator's. The variable comes from the runtime's own tests: the
    // documented folder, /etc/opencode, is in the image, which a project may build.
    OPENCODE_TEST_MANAGED_CONFIG_DIR: enforcedDir(paths),
    // Without these five the runtime waits for unreachable hosts and writes into the repository.
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_SHARE: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  }
}

/**
 * Variables that make programs use the egress proxy. curl reads only the lower-case name for http, others only the
 * upper-case ones; Node reads them since 24 with NODE_USE_ENV_PROXY. The relay to the service is on loopback and
 * bypasses the proxy.
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
