/** Names around models that the daemon and the client need, which load no schema library. */

/** The model gateway is OpenAI-compatible, so its bodies are the upstream's; only its place is ours. */
export const modelGatewayPath = '/v1/llm'
/** The name under which the agent runtime knows the gateway's provider and its model. */
export const modelProvider = 'svc'
/** Shown wherever a session runs against the stand-in that ships for `svc tour`. */
export const scriptedModelName = 'svc-scripted-demo'

/** A model's own name: the runtime, and older files, put the provider's in front. */
export function bareModelName(name: string): string {
  return name.startsWith(`${modelProvider}/`) ? name.slice(modelProvider.length + 1) : name
}
