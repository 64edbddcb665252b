import { LRUCache } from 'lru-cache'
import { type CommitFacts, readCommits } from './object-reader.ts'
import type { Repository, Sha } from './repository.ts'

/** Commits by repository and id; what is in them never changes. */
const known = new LRUCache<string, CommitFacts>({ max: 50_000 })
/** Beyond this many questions git, which has a graph of the whole history, is faster. */
const questionsMax = 24
const stepsMax = 2_000

const ofOne = 1
const ofOther = 2
const stale = 4

/**
 * The best common ancestor of two commits whose histories parted not long ago: one id, or none for unrelated ones. null:
 * not found out; there may be several, or they parted long ago.
 *
 * Both histories are walked from the newest commit on. What both reach is a candidate, and everything before it is
 * stale. Once only stale commits are left to walk, whatever both have in common lies at or before a candidate, whatever
 * the dates say; so a single candidate is the best. Between several git has to decide.
 */
export async function findNearAncestor(repo: Repository, one: Sha, other: Sha): Promise<Sha[] | null> {
  const paint = new Map<Sha, number>()
  const queue = new Set<Sha>()
  const candidates = new Set<Sha>()
  const commits = new Map<Sha, CommitFacts>()
  const reach = (sha: Sha, colour: number) => {
    const before = paint.get(sha) ?? 0
    if ((before | colour) === before) return
    paint.set(sha, before | colour)
    queue.add(sha)
  }
  reach(one, ofOne)
  reach(other, ofOther)
  let questions = 0
  for (let steps = 0; [...queue].some((sha) => !(paint.get(sha)! & stale)); steps++) {
    if (steps > stepsMax) return null
    const asked = [...queue].filter((sha) => !commits.has(sha))
    if (asked.length > 0) {
      const read = await recall(repo, asked, () => questions++ < questionsMax)
      if (read === null) return null
      for (const [sha, facts] of read) commits.set(sha, facts)
    }
    const sha = newest(queue, commits)
    queue.delete(sha)
    let colour = paint.get(sha)!
    if ((colour & (ofOne | ofOther)) === (ofOne | ofOther)) {
      if (!(colour & stale)) candidates.add(sha)
      colour |= stale
    }
    for (const parent of commits.get(sha)!.parents) reach(parent, colour)
  }
  const best = [...candidates].filter((sha) => !(paint.get(sha)! & stale))
  return best.length <= 1 ? best : null
}

function newest(queue: Set<Sha>, commits: Map<Sha, CommitFacts>): Sha {
  let found = ''
  for (const sha of queue) if (found === '' || commits.get(sha)!.date > commits.get(found)!.date) found = sha
  return found
}

async function recall(repo: Repository, shas: Sha[], mayAsk: () => boolean): Promise<Map<Sha, CommitFacts> | null> {
  const keyOf = (sha: Sha) => `${repo.dir}\0${sha}`
  const found = new Map<Sha, CommitFacts>()
  const asked = shas.filter((sha) => {
    const facts = known.get(keyOf(sha))
    if (facts) found.set(sha, facts)
    return !facts
  })
  if (asked.length === 0) return found
  const read = mayAsk() ? await readCommits(repo, asked) : null
  if (read === null) return null
  for (const [sha, facts] of read) {
    known.set(keyOf(sha), facts)
    found.set(sha, facts)
  }
  return found
}
