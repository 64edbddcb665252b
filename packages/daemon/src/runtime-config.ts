/** What the agent runtime is told: its configuration file and its environment. Both lie outside the repository. */
import { join } from 'node:path'

import { systemPath } from './child.ts'
import type { DaemonConfig, DaemonPaths } from './config.ts'

/** A window to plan with where the model is behind a gateway and cannot be asked. */
const modelLimit = { context: 128_000, output: 16_384 }

/** Both come with the runtime. */
const providers = { openai: '@ai-sdk/openai-compatible', anthropic: '@ai-sdk/anthropic' }

export function runtimeConfig(config: DaemonConfig): Record<string, unknown> {
  const shared = {
    $schema: 'https://opencode.ai/config.json',
    // The sandbox is the wall, so the runtime need not ask. A project's own configuration comes later and may make it ask:
    // people answer through the service. An agent file allows "question" where an agent may wait for a person.
    permission: { '*': 'allow', question: 'deny' },
    autoupdate: false,
    share: 'disabled',
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
  const model = modelName(config)
  if (model === null) return shared
  if (config.llm === null) return { ...shared, model }
  // A name with a slash belongs to a provider that the project's own keys open.
  const ours = model.startsWith('svc/') ? model.slice('svc/'.length) : 'default'
  return {
    ...shared,
    model,
    small_model: model,
    provider: {
      svc: {
        npm: providers[config.llm.shape],
        name: 'svc',
        options: { baseURL: config.llm.baseUrl, apiKey: '{env:SVC_LLM_API_KEY}' },
        models: { [ours]: { name: ours, limit: modelLimit } },
      },
    },
  }
}

/** Whether a prompt goes through the service's gateway, and not to a provider that the project's own keys open. */
export function promptsReachGateway(config: DaemonConfig): boolean {
  return config.llm !== null && modelName(config)?.startsWith('svc/') === true
}

function modelName(config: DaemonConfig): string | null {
  if (config.model !== null) return config.model.includes('/') ? config.model : `svc/${config.model}`
  // The gateway knows which model that is.
  return config.llm === null ? null : 'svc/default'
}

export function runtimeEnvironment(
  config: DaemonConfig,
  paths: DaemonPaths,
  secrets: Record<string, string>,
): Record<string, string> {
  return {
    ...secrets,
    ...config.platform,
    // Both names of the pair are always there, whichever the server sent.
    ...(config.llm === null ? {} : { SVC_LLM_API_KEY: config.llm.apiKey, SVC_LLM_BASE_URL: config.llm.baseUrl }),
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
