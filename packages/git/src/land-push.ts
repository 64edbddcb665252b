import { withLock } from './lock.ts'
import { pushRefs, type PushOutcome } from './push.ts'
import type { PushReport } from './push-report.ts'
import { keepReceivedObjects } from './receive.ts'
import { busyReason, type MoveOutcome, moveRefs, type Person } from './refs.ts'
import type { RefUpdate, Remote, Repository } from './repository.ts'
import { tidyAfter } from './tidy.ts'

const movedReason = 'fetch first: the branch moved on the host in the meantime'

export interface LandOptions {
  atomic: boolean
  /** For the reflog of a managed repository. */
  pusher?: Person
}

/** Makes a received push true: on disk for a managed repository, on the host for an external one, and only then says so. */
export async function landPush(
  repo: Repository,
  room: string,
  updates: RefUpdate[],
  options: LandOptions,
): Promise<PushReport> {
  return repo.remote ? relayPush(repo, repo.remote, room, updates, options) : landOnDisk(repo, room, updates, options)
}

async function landOnDisk(
  repo: Repository,
  room: string,
  updates: RefUpdate[],
  options: LandOptions,
): Promise<PushReport> {
  // Objects before refs: a ref must never name what is not there.
  const objects = await keepReceivedObjects(repo, room)
  const refs = await moveOnDisk(repo, updates, options)
  await tidyAfter(repo, objects)
  return { unpack: 'ok', refs, remarks: [] }
}

async function moveOnDisk(
  repo: Repository,
  updates: RefUpdate[],
  { atomic, pusher }: LandOptions,
): Promise<PushReport['refs']> {
  // All at once is the same as one by one when nothing is in the way, and a push of all tags is a thousand of them.
  const outcome = await moveRefs(repo, updates, { by: pusher })
  if (outcome.kind === 'moved') return new Map(updates.map(({ ref }) => [ref, null]))
  if (updates.length === 1 || atomic) {
    const reason = `${updates.length === 1 ? '' : 'atomic transaction failed: '}${reasonOnDisk(outcome)}`
    return new Map(updates.map(({ ref }) => [ref, reason]))
  }
  const refs: PushReport['refs'] = new Map()
  for (const update of updates) {
    const one = await moveRefs(repo, [update], { by: pusher })
    refs.set(update.ref, one.kind === 'moved' ? null : reasonOnDisk(one))
  }
  return refs
}

function reasonOnDisk(outcome: Exclude<MoveOutcome, { kind: 'moved' }>): string {
  if (outcome.kind === 'busy') return `${busyReason} Push again in a moment.`
  return outcome.kind === 'stale' ? movedReason : outcome.reason
}

/**
 * Hands a push on to the external host, with exactly these ref updates, each under a lease on its old id. The mirror
 * takes the objects and the refs only after the host said yes, and the pusher hears yes only then.
 */
export async function relayPush(
  repo: Repository,
  remote: Remote,
  room: string,
  updates: RefUpdate[],
  options: { atomic: boolean },
): Promise<PushReport> {
  const pushed = await pushRefs(room, remote, updates, { atomic: options.atomic })
  const report = reportOf(pushed, updates)
  const landed = updates.filter(({ ref }) => report.refs.get(ref) === null)
  if (landed.length > 0) await followHost(repo, room, landed)
  return report
}

function reportOf(pushed: PushOutcome, updates: RefUpdate[]): PushReport {
  const refs = new Map<string, string | null>()
  for (const { ref } of updates) refs.set(ref, reasonFor(pushed, ref))
  return { unpack: 'ok', refs, remarks: pushed.kind === 'answered' ? pushed.remarks : [] }
}

function reasonFor(pushed: PushOutcome, ref: string): string | null {
  if (pushed.kind === 'not-sent') return `the git host did not take the push: ${pushed.reason}`
  if (pushed.kind === 'unknown')
    return `the git host did not say whether it took the push; fetch to see, then push again: ${pushed.reason}`
  const outcome = pushed.refs.get(ref)
  if (outcome?.kind === 'done') return null
  if (outcome?.kind === 'failed') return `nothing was changed; push again in a moment: ${outcome.reason}`
  return outcome?.kind === 'rejected' ? outcome.reason : movedReason
}

/** A mirror that cannot follow now is brought up by the next fetch, so this failure is not the pusher's. */
async function followHost(repo: Repository, room: string, landed: RefUpdate[]): Promise<void> {
  const objects = await withLock(repo.dir, async () => {
    const count = await keepReceivedObjects(repo, room)
    for (const update of landed) await moveRefs(repo, [update])
    return count
  })
  await tidyAfter(repo, objects)
}
