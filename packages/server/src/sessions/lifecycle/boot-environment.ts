import {
  type BootEnvironment,
  daemonPort,
  type Manifest,
  modelGatewayPath,
  relayPort,
  scriptedModelName,
} from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { defaultModel, type ModelCatalog, shapeOfModel } from '../../model-catalog/catalog.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { secretsForSandbox } from '../../secrets/for-sandbox.ts'
import { namesOfKeys, type SandboxKeys } from './credentials.ts'
import type { SessionRow } from '../store.ts'
import type { SandboxRow } from '../../sandboxes/store.ts'

/** Inside a sandbox the API is on loopback; the relay of the daemon forwards to this server. */
export const apiUrlInSandbox = `http://127.0.0.1:${relayPort}/v1`

interface NewBoot {
  project: ProjectRow
  session: Pick<SessionRow, 'session_id' | 'branch_name'> & SessionChoices
  sandbox: Pick<SandboxRow, 'sandbox_id' | 'generation'>
  keys: SandboxKeys
  manifest: Manifest
  /** Null selects the default model. */
  model: string | null
  models: ModelCatalog
}

/** The environment of a new sandbox, whose values are redacted from here on. Secrets cannot replace the platform's variables. */
export async function bootEnvironment(
  deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'redaction'>,
  input: NewBoot,
): Promise<Record<string, string>> {
  const { project, session, sandbox, keys, manifest } = input
  const secrets = await secretsForSandbox(deps, project, manifest, session.session_id)
  deps.redaction.sandboxBegins(session.session_id, sandbox.sandbox_id, namesOfKeys(keys))
  return { ...secrets.env, ...platformEnvironment(deps, input, secrets.names) }
}

function platformEnvironment({ config }: Pick<Deps, 'config'>, input: NewBoot, secretNames: string[]): BootEnvironment {
  const { project, session, sandbox, keys, model, models } = input
  const { command, config_dir } = input.manifest.runtime
  return {
    SVC_PROJECT_ID: project.project_id,
    SVC_SESSION_ID: session.session_id,
    SVC_BRANCH_NAME: session.branch_name,
    SVC_HEAD_REF: session.branch_name,
    SVC_REPO_URL: `${apiUrlInSandbox}/projects/${project.project_id}/git`,
    SVC_DEFAULT_BRANCH: project.default_branch,
    SVC_SERVICE_PORT: String(daemonPort),
    SVC_API_URL: apiUrlInSandbox,
    ...chosenEnvironment(session),
    SVC_PROJECT_AUTO_CLONE: '1',
    SVC_PROJECT_SECRET_NAMES: secretNames.join(','),
    SVC_PROJECT_SECRETS_REVISION: String(project.secrets_revision),
    SVC_TOKEN: keys.serviceKey,
    SVC_CLI_TOKEN: keys.projectToken,
    SVC_EXECUTOR_TOKEN: keys.projectToken,
    ...modelEnvironment(models, { key: keys.modelKey, model }),
    SVC_SANDBOX_GENERATION: String(sandbox.generation),
    SVC_CONFIG_DIR: config_dir,
    ...(command === null ? {} : { SVC_RUNTIME_COMMAND: JSON.stringify(command) }),
    ...(config.freezeSeconds === 0 ? {} : { SVC_RUNTIME_FREEZE_SECONDS: String(config.freezeSeconds) }),
    ...(config.stopSeconds === 0 ? {} : { SVC_RUNTIME_STOP_SECONDS: String(config.stopSeconds) }),
  }
}

type SessionChoices = Pick<SessionRow, 'base_ref' | 'agent_name' | 'initial_prompt' | 'initial_prompt_delivered_at'>

/** The choices of the user who creates the session. A warm sandbox receives them when it is claimed. */
export function chosenEnvironment(session: SessionChoices) {
  const prompt = session.initial_prompt_delivered_at === null ? session.initial_prompt : null
  return {
    SVC_BASE_REF: session.base_ref,
    SVC_AGENT_NAME: session.agent_name,
    ...(prompt === null ? {} : { SVC_INITIAL_PROMPT: prompt, SVC_BOOTSTRAP_RUNTIME_SESSION: '1' as const }),
  }
}

/** The gateway is the only provider of the runtime. It is set even without a model, which may be configured later. */
export function modelEnvironment(models: ModelCatalog, { key, model }: { key: string; model: string | null }) {
  const url = `${apiUrlInSandbox}${modelGatewayPath.slice('/v1'.length)}`
  const isMessages = model !== scriptedModelName && shapeOfModel(models, model) === 'anthropic'
  const runs = model ?? defaultModel(models)
  const shapes = models.names.map((name) => [name, shapeOfModel(models, name)])
  return {
    ...(runs === null ? {} : { SVC_RUNTIME_MODEL: runs }),
    SVC_LLM_API_KEY: key,
    SVC_LLM_BASE_URL: url,
    SVC_ALT_API_KEY: key,
    SVC_ALT_URL: url,
    ...(isMessages ? { SVC_LLM_SHAPE: 'anthropic' as const } : {}),
    ...(shapes.length > 1 ? { SVC_LLM_MODELS: JSON.stringify(Object.fromEntries(shapes)) } : {}),
  }
}
