import type { PushGate } from './gate.ts'
import { LiveFlights } from './live-flight.ts'
import { syncMirror, type BringOutcome } from './mirror.ts'
import type { Repository } from './repository.ts'
import { plain, serveGitRequest, type GitRequest, type ServeOptions } from './smart-http.ts'

export interface GatewayOptions extends ServeOptions {
  /** Serve what the mirror has when the host cannot be reached, instead of 502. */
  staleOk?: boolean
}

/**
 * What the server calls. Managed repositories are served directly. External ones are served from their mirror, which
 * is brought to the host's live tips first; a push reaches the host before the pusher is told that it worked.
 */
export async function serveGateway(
  repo: Repository,
  request: GitRequest,
  gate: PushGate,
  options: GatewayOptions = {},
): Promise<Response> {
  // Every fetch and every push begins with this request, so the refs that follow are as new as the asking.
  if (repo.remote && request.path === 'info/refs') {
    const reason = await refresh(repo, repo.remote.url)
    if (reason !== null && !options.staleOk) return plain(502, `The repository's git host cannot be reached: ${reason}`)
  }
  return serveGitRequest(repo, request, gate, options)
}

/** Fifty sandboxes that start at once ask the host twice, not fifty times; each still sees what is live after it came. */
const refreshes = new LiveFlights<Repository, BringOutcome>(syncMirror, (_one, other) => other)

async function refresh(repo: Repository, url: string): Promise<string | null> {
  const synced = await refreshes.ask(`${repo.dir}\0${url}`, repo)
  if (synced.kind === 'unreachable') return synced.reason
  return synced.kind === 'missing'
    ? 'it names commits that it does not hand out; it may be a shallow repository.'
    : null
}
