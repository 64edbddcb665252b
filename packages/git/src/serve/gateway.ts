import type { PushGate } from '../receive/gate.ts'
import { LiveFlights } from '../refs/single-flight.ts'
import { followDefaultBranch } from '../mirror/head.ts'
import { syncMirror, type FetchOutcome } from '../mirror/mirror.ts'
import type { Repository } from '../repository.ts'
import { plain, serveGitRequest, type GitRequest, type ServeOptions } from './smart-http.ts'

export interface GatewayOptions extends ServeOptions {
  /** Serve the mirror's state when the host is unreachable, instead of 502. */
  staleOk?: boolean
}

/**
 * Serves git requests of the server. Managed repositories are served directly. External ones are served from their
 * mirror, which is first updated to the host's live tips; a push reaches the host before the pusher gets its result.
 */
export async function serveGateway(
  repo: Repository,
  request: GitRequest,
  gate: PushGate,
  options: GatewayOptions = {},
): Promise<Response> {
  // Every fetch and push starts with this request, so the refs it shows are as recent as the request.
  if (request.path === 'info/refs') {
    await followDefaultBranch(repo)
    const reason = repo.remote ? await refresh(repo, repo.remote.url) : null
    if (reason !== null && !options.staleOk) return plain(502, `The repository's git host cannot be reached: ${reason}`)
  }
  return serveGitRequest(repo, request, gate, options)
}

/** Fifty sandboxes that start at once ask the host twice; each sees tips no older than its request. */
const refreshes = new LiveFlights<Repository, FetchOutcome>(syncMirror, (_one, other) => other)

async function refresh(repo: Repository, url: string): Promise<string | null> {
  const synced = await refreshes.ask(`${repo.dir}\0${url}`, repo)
  if (synced.kind === 'unreachable') return synced.reason
  return synced.kind === 'missing' ? 'it lists commits that it does not serve; it may be a shallow repository.' : null
}
