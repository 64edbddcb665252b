/** Names around models. Loads no zod: the daemon and the client use them too. */

/** The model gateway is OpenAI-compatible, so the upstream defines its bodies. */
export const modelGatewayPath = '/v1/llm'
/** The name of the gateway's provider in the agent runtime. */
export const modelProvider = 'svc'
/** The demo model of `svc tour`, shown wherever a session uses it. */
export const scriptedModelName = 'svc-scripted-demo'

/** Removes the provider, which the runtime and older files put in front of a model's name. */
export function bareModelName(name: string): string {
  return name.startsWith(`${modelProvider}/`) ? name.slice(modelProvider.length + 1) : name
}
