import type { PushGate } from './gate.ts'
import type { Repository } from './repository.ts'
import type { GitRequest, ServeOptions } from './smart-http.ts'
export interface GatewayOptions extends ServeOptions {
  /** Serve what the mirror has when the host cannot be reached, instead of 502. */
  staleOk?: boolean
}
/** What the server calls: managed repositories are served directly, external ones through their mirror, live. */
export async function serveGateway(
  _repo: Repository,
  _request: GitRequest,
  _gate: PushGate,
  _options: GatewayOptions = {},
): Promise<Response> {
  throw new Error('serveGateway is not built yet.')
}
