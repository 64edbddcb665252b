/** Every variable in the environment of an agent's programs, without the project's secrets. docs/guide/environment.md shows this list. */

export interface SandboxVariable {
  meaning: string
  /** Null when it is always set. */
  when: string | null
}

const always = (meaning: string) => ({ meaning, when: null })
const only = (when: string, meaning: string) => ({ meaning, when })

/** From the server. */
const platform = {
  SVC_PROJECT_ID: always('Id of the project.'),
  SVC_SESSION_ID: always('Id of the session.'),
  SVC_BRANCH_NAME: always('The session branch; its name is the id of the session.'),
  SVC_HEAD_REF: always('The session branch, as the client reads it for a change request.'),
  SVC_REPO_URL: always('URL of the repository, for clones and pushes.'),
  SVC_DEFAULT_BRANCH: always('The default branch of the repository.'),
  SVC_BASE_REF: always('The branch or commit that the session branch started from.'),
  SVC_SERVICE_PORT: always("The daemon's own port, `8000`."),
  SVC_API_URL: always('Base of the API as the sandbox reaches it; ends in `/v1`.'),
  SVC_AGENT_NAME: always('The agent of the session.'),
  SVC_RUNTIME_MODEL: only('a model is configured', 'The model of the session.'),
  SVC_INITIAL_PROMPT: only('the session began with a prompt that is not delivered yet', 'The first prompt.'),
  SVC_BOOTSTRAP_RUNTIME_SESSION: only('`SVC_INITIAL_PROMPT` is set', '`1`: the daemon opens the conversation at boot.'),
  SVC_PROJECT_AUTO_CLONE: always('`1`: the daemon clones the repository at boot.'),
  SVC_PROJECT_SECRET_NAMES: always(
    "Names of the project's secrets, separated by commas, including connectors' credentials, whose values are not in the sandbox. Updated when they change.",
  ),
  SVC_PROJECT_SECRETS_REVISION: always('Number of changes of the secrets. Updated when they change.'),
  SVC_TOKEN: always('Service key of this sandbox, for its daemon. The API does not accept it.'),
  SVC_CLI_TOKEN: always('Project token of this session, which the client uses.'),
  SVC_EXECUTOR_TOKEN: always('The same token, for the tools of the project.'),
  SVC_LLM_API_KEY: always('Key of the model gateway, for this sandbox.'),
  SVC_LLM_BASE_URL: always('URL of the model gateway.'),
  SVC_ALT_API_KEY: always('The same as `SVC_LLM_API_KEY`.'),
  SVC_ALT_URL: always('The same as `SVC_LLM_BASE_URL`.'),
  SVC_LLM_SHAPE: only("the session's model uses the Anthropic API", '`anthropic`: the API format of the model.'),
  SVC_LLM_MODELS: only('more than one model is configured', 'The models and their APIs, as JSON.'),
  // Identifies the sandbox. The daemon reports it, so the server recognizes a stale one.
  SVC_SANDBOX_GENERATION: always('Number of starts of the session.'),
  SVC_CONFIG_DIR: always('`[runtime] config_dir` of `svc.toml`.'),
  // The daemon adds `serve --port … --hostname …` to it.
  SVC_RUNTIME_COMMAND: only('`svc.toml` has `[runtime] command`', 'That command, as a JSON list.'),
  SVC_RUNTIME_FREEZE_SECONDS: only(
    'the operator did not turn it off',
    'The agent runtime freezes after this time without use.',
  ),
  SVC_RUNTIME_STOP_SECONDS: only('the operator did not turn it off', 'The frozen agent runtime stops after this time.'),
  SVC_SANDBOX_SETUP: only('`svc.toml` has `[sandbox] setup`', 'That command.'),
}

type Platform = typeof platform
type Always = { [K in keyof Platform]: Platform[K]['when'] extends null ? K : never }[keyof Platform]
/** Every variable the platform sets, without the project's secrets. */
export type BootEnvironment = Record<Always, string> & Partial<Record<keyof Platform, string>>

const proxied = 'the operator allows outgoing connections'

/** From the image or the driver, the daemon, the agent runtime and the shell. */
const around: Record<string, SandboxVariable> = {
  SVC_WORKSPACE: always('The work tree, `/workspace`. Baked into the image, or set by a driver without one.'),
  HOME: always('`/opt/svc/home`; the conversations of the agent runtime are below it.'),
  PATH: always('Folders of the programs.'),
  SHELL: always('`/bin/bash`.'),
  USER: always('`agent`.'),
  LANG: always('`C.UTF-8`.'),
  TERM: always('`dumb`; in a terminal `xterm-256color`.'),
  COLORTERM: only('the program runs in a terminal', '`truecolor`.'),
  BASH_ENV: always('A file that every `bash` reads at its start: secrets that changed since the runtime started.'),
  GIT_CONFIG_GLOBAL: always("The agent's git settings, outside of the repository."),
  GIT_CONFIG_NOSYSTEM: always('`1`: git reads no settings of the machine.'),
  GIT_TERMINAL_PROMPT: always('`0`: git does not ask for passwords.'),
  HTTP_PROXY: only(proxied, 'The proxy to the hosts of `[sandbox] egress`.'),
  HTTPS_PROXY: only(proxied, 'The same as `HTTP_PROXY`.'),
  NO_PROXY: only(proxied, 'Loopback addresses, which need no proxy.'),
  http_proxy: only(proxied, 'The same as `HTTP_PROXY`, for programs that read this name.'),
  https_proxy: only(proxied, 'The same as `HTTP_PROXY`, for programs that read this name.'),
  no_proxy: only(proxied, 'The same as `NO_PROXY`.'),
  NODE_USE_ENV_PROXY: only(proxied, "`1`: Node's `fetch` uses the proxy."),
  RUNTIME_CONFIG_DIR: always('The config dir in the work tree.'),
  OPENCODE_CONFIG: always('Settings of the agent runtime that a project may override.'),
  OPENCODE_CONFIG_DIR: always('Agents and skills of the default branch.'),
  OPENCODE_MODELS_PATH: always('An empty catalog of models: the models are in the settings.'),
  OPENCODE_TEST_MANAGED_CONFIG_DIR: always('Settings of the agent runtime that override all others.'),
  OPENCODE_DISABLE_AUTOUPDATE: always('`1`.'),
  OPENCODE_DISABLE_MODELS_FETCH: always('`1`.'),
  OPENCODE_DISABLE_LSP_DOWNLOAD: always('`1`.'),
  OPENCODE_DISABLE_SHARE: always('`1`.'),
  OPENCODE_DISABLE_DEFAULT_PLUGINS: always('`1`.'),
  AGENT: always('`1`, set by the agent runtime.'),
  OPENCODE: always('`1`, set by the agent runtime.'),
  OPENCODE_PID: always('Process id of the agent runtime, set by itself.'),
  npm_config_user_agent: only(
    'the config dir has a program or packages',
    'Name and version of the program that the agent runtime is built with, set by itself.',
  ),
  PWD: always('The current folder, set by the shell.'),
  SHLVL: always('Nesting depth of shells, set by the shell.'),
  _: always('The program that was started last, set by the shell.'),
}

export const sandboxVariables: Readonly<Record<string, SandboxVariable>> = { ...platform, ...around }

/** The table of docs/guide/environment.md. */
export function sandboxVariablesTable(): string {
  const rows = Object.entries(sandboxVariables).map(
    ([name, { meaning, when }]) => `| \`${name}\` | ${meaning} | ${when === null ? 'always' : when} |`,
  )
  return ['| Variable | Content | Set when |', '|---|---|---|', ...rows].join('\n')
}
