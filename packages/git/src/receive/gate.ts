import { isRefName } from '../refs/branch-name.ts'
import { isSha, isZero, type RefUpdate, type Repository } from '../repository.ts'

/** null: allowed. A sentence: the whole push is refused, and the pusher sees the sentence. */
export type PushGate = (commands: RefUpdate[]) => string | null | Promise<string | null>

/** Called after the objects arrived, before any ref moves. `repo` exists only during the call. */
export type PushInspector = (push: { repo: Repository; updates: RefUpdate[] }) => Promise<string | null>

/** The same, which may wait. `say` shows the pusher for what. */
export type PushWaiter = (push: Parameters<PushInspector>[0], say: (line: string) => void) => ReturnType<PushInspector>

/** Refs of our own store and of hosts' pull request machinery; the gateway neither shows nor accepts them. */
export const hiddenRefs = [
  'refs/svc',
  'refs/pull',
  'refs/changes',
  'refs/merge-requests',
  'refs/keep-around',
  'refs/replace',
]

/** Enough for all tags of an old project, few enough to keep in memory. */
export const updatesMax = 5000

/** The gate of a session: create or fast-forward exactly one branch. */
export function allowOnlyBranch(branch: string): PushGate {
  const own = `refs/heads/${branch}`
  return (commands) => {
    for (const { ref, newSha } of commands) {
      if (ref !== own)
        return `This session may push to its own branch ${branch} only, not to ${ref}. To change another branch, open a change request with svc cr open.`
      if (isZero(newSha)) return `The branch ${branch} may not be deleted.`
    }
    return null
  }
}

interface Permissions {
  allowForce?: boolean
  allowDelete?: boolean
  allowAnyRef?: boolean
  idLength: number
}

/** Rules for every gate and pusher. */
export function refuseAlways(commands: RefUpdate[], options: Permissions): string | null {
  if (commands.length > updatesMax) return `A push may update at most ${updatesMax} refs at once.`
  const seen = new Set<string>()
  for (const command of commands) {
    const reason =
      refuseOne(command, options) ?? (seen.has(command.ref) ? `The push names ${command.ref} twice.` : null)
    if (reason) return reason
    seen.add(command.ref)
  }
  return null
}

function refuseOne({ ref, oldSha, newSha }: RefUpdate, options: Permissions): string | null {
  if (!isRefName(ref)) return 'The push names a ref that is not a full and valid ref name.'
  if (!isSha(oldSha) || !isSha(newSha)) return 'The push contains an id that is not a full object id.'
  if (oldSha.length !== options.idLength || newSha.length !== options.idLength)
    return 'The push uses another object format than the repository.'
  if (hiddenRefs.some((hidden) => ref.toLowerCase() === hidden || ref.toLowerCase().startsWith(`${hidden}/`))) {
    return `The ref ${ref} belongs to the service and cannot be pushed.`
  }
  if (!options.allowAnyRef && !ref.startsWith('refs/heads/') && !ref.startsWith('refs/tags/'))
    return `Only branches and tags can be pushed, not ${ref}.`
  if (isZero(oldSha) && isZero(newSha)) return `The push neither creates nor changes ${ref}.`
  if (isZero(newSha) && !options.allowDelete)
    return `The push deletes ${ref}, which is not allowed. Only a user token may delete a branch or a tag.`
  // receive-pack refuses a rewind of a branch alone; its denyNonFastForwards lets a tag move anywhere.
  if (ref.startsWith('refs/tags/') && !isZero(oldSha) && !isZero(newSha) && !options.allowForce)
    return `The push moves ${ref}, which is not allowed. Only a user token may move a tag.`
  return null
}
