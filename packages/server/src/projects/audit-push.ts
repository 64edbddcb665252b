import { isAncestor, isZero, type RefUpdate, type Repository } from '@svc/git'
import { type AuditEvent, auditEvent } from '../audit/record.ts'
import type { AuthorizedProject } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'

/** Each takes a git process. A push of more branches, as a mirror's, records them all without the question. */
const examinedMax = 100

/**
 * A row for each branch and tag that a push deleted or forced to another commit, with the commit before, which no ref
 * may have any more. New refs and fast-forwards take nothing away, and have none: each turn of an agent pushes.
 * `isForward`: the gateway let branches only move forward, so they are not examined.
 */
export async function eventsOfPush(
  deps: Pick<Deps, 'log'>,
  { project, repository, isForward }: { project: AuthorizedProject; repository: Repository; isForward: boolean },
  updates: RefUpdate[],
): Promise<AuditEvent[]> {
  const replaced = updates.filter(({ oldSha, newSha }) => !isZero(oldSha) && oldSha !== newSha)
  const isBounded = replaced.length <= examinedMax
  const events: AuditEvent[] = []
  for (const update of replaced) {
    const [, folder, name] = /^refs\/(heads|tags)\/(.*)$/s.exec(update.ref) ?? []
    if (name === undefined) continue
    const noun = folder === 'heads' ? 'branch' : 'tag'
    const verb = await verbOf(deps, update, { repository, isForward, examines: isBounded })
    if (verb === null) continue
    events.push({
      ...auditEvent(project, `${noun}.${verb}`, noun, name),
      before: { head_sha: update.oldSha },
      after: verb === 'delete' ? null : { head_sha: update.newSha },
    })
  }
  return events
}

/** Null for a fast-forward. `update`: of unknown kind. */
async function verbOf(
  deps: Pick<Deps, 'log'>,
  { ref, oldSha, newSha }: RefUpdate,
  { repository, isForward, examines }: { repository: Repository; isForward: boolean; examines: boolean },
): Promise<'delete' | 'force_push' | 'update' | null> {
  if (isZero(newSha)) return 'delete'
  // A client moves a tag by force alone.
  if (ref.startsWith('refs/tags/')) return 'force_push'
  if (isForward) return null
  if (!examines) return 'update'
  try {
    return (await isAncestor(repository, oldSha, newSha)) ? null : 'force_push'
  } catch (error) {
    // The branch has moved, and its row must not fail with this question: git may be busy, or the mirror behind.
    deps.log.warn({ err: error, ref, before: oldSha, after: newSha }, 'failed to examine a push for the audit log')
    return 'update'
  }
}
