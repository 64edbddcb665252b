import type { PushGate, PushInspector } from './gate.ts'
import type { Repository } from './repository.ts'
export interface GitRequest {
  method: string
  path: 'info/refs' | 'git-upload-pack' | 'git-receive-pack'
  query: URLSearchParams
  headers: Headers
  body: ReadableStream<Uint8Array> | null
  signal: AbortSignal
}
export interface ServeOptions {
  inspect?: PushInspector
  /** Pushes that rewind or delete a branch are refused unless these say otherwise. */
  allowForce?: boolean
  allowDelete?: boolean
  packBytesMax?: number
}
export async function serveGitRequest(
  _repo: Repository,
  _request: GitRequest,
  _gate: PushGate,
  _options: ServeOptions = {},
): Promise<Response> {
  throw new Error('serveGitRequest is not built yet.')
}
