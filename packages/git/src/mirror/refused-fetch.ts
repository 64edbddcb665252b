/** Fetches that failed because of the content, not the connection: a retry would fetch and refuse it again. */
import { LRUCache } from 'lru-cache'
import { GitError } from '../process/git.ts'
import { placeOf } from '../process/scratch.ts'
import type { Repository, Sha } from '../repository.ts'

/** Long enough that a page with many readers causes one fetch, short enough to notice that a host was repaired. */
const rememberedMs = 30_000
const refused = new LRUCache<string, string>({ max: 10_000, ttl: rememberedMs })

/** Messages of index-pack and fetch-pack about a pack that was complete, or reached its limits. */
const ofContent =
  /fsck error|pack has bad object|pack is corrupted|bad pack header|unresolved delta|index-pack died of signal (?:11|24|25)\b|pack exceeds maximum|out of memory|did not send all necessary objects|inflate returned|SHA1 COLLISION/i
/** With these the transfer broke off, and earlier messages mean nothing. */
const ofTheWay = /early EOF|hung up|RPC failed|curl \d|unexpected disconnect|timed out|less than \d+ bytes/i

export function isRefusalOfContent(error: GitError): boolean {
  if (error.failure === 'limit') return true
  return error.failure === 'exit' && ofContent.test(error.stderr) && !ofTheWay.test(error.stderr)
}

/** These commits are not requested again for a while. The folder is part of the key: a rebuilt store may succeed. */
export async function rememberRefusal(repo: Repository, shas: Sha[], reason: string): Promise<void> {
  const place = await keyOf(repo)
  for (const sha of shas) refused.set(place + sha, reason)
  repo.remote?.refused?.(reason)
}

/** Why all of these failed recently. null: at least one was not requested since, as after a push to the host. */
export async function recentRefusal(repo: Repository, shas: Sha[]): Promise<string | null> {
  if (shas.length === 0 || refused.size === 0) return null
  const place = await keyOf(repo)
  const reasons = shas.map((sha) => refused.get(place + sha))
  return reasons.every((reason) => reason !== undefined) ? (reasons[0] ?? null) : null
}

async function keyOf(repo: Repository): Promise<string> {
  return `${repo.dir}\0${await placeOf(repo.dir)}\0${repo.remote?.url ?? ''}\0`
}
