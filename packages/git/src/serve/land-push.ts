import { withLock } from '../process/keyed-lock.ts'
import { pushRefs, type PushOutcome } from '../hosts/push.ts'
import type { PushReport } from '../receive/push-report.ts'
import { keepReceivedObjects } from '../receive/receive.ts'
import { busyReason, type MoveOutcome, moveRefs, type Person } from '../refs/refs.ts'
import type { RefUpdate, Remote, Repository } from '../repository.ts'
import { tidyAfter } from '../mirror/tidy.ts'

const movedReason = 'fetch first: the branch moved on the host in the meantime'

interface LandOptions {
  atomic: boolean
  /** For the reflog of a managed repository. */
  pusher?: Person
}

/** Lands a received push, on disk or on the external host, and reports success only after that. */
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
  // Objects before refs: a ref must never name a missing object.
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
  // One transaction equals single updates when nothing conflicts, and a push of all tags has a thousand of them.
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

export const noSpace =
  'The disk of this server is full. Nothing was changed; push again when its operator has made room.'

function reasonOnDisk(outcome: Exclude<MoveOutcome, { kind: 'moved' }>): string {
  if (outcome.kind === 'busy') return `${busyReason} Push again in a moment.`
  if (outcome.kind === 'full') return noSpace
  return outcome.kind === 'stale' ? movedReason : outcome.reason
}

/**
 * Relays a push to the external host, with exactly these ref updates, each with a lease on its old id. The mirror
 * stores the objects and refs only after the host accepted them, and the pusher gets the result after that.
 */
async function relayPush(
  repo: Repository,
  remote: Remote,
  room: string,
  updates: RefUpdate[],
  options: { atomic: boolean },
): Promise<PushReport> {
  const pushed = await pushRefs(room, remote, updates, { atomic: options.atomic })
  const refs = new Map(updates.map(({ ref }) => [ref, reasonFor(pushed, ref)]))
  const landed = updates.filter(({ ref }) => refs.get(ref) === null)
  if (landed.length > 0) await followHost(repo, room, landed)
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

/** If the mirror cannot follow now, the next fetch updates it, so this error does not fail the push. */
async function followHost(repo: Repository, room: string, landed: RefUpdate[]): Promise<void> {
  const objects = await withLock(repo.dir, async () => {
    const count = await keepReceivedObjects(repo, room)
    for (const update of landed) await moveRefs(repo, [update])
    return count
  })
  await tidyAfter(repo, objects)
}
