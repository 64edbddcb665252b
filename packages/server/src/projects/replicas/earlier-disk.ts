/** Notices a home whose disk is of an earlier time, as after a snapshot of its machine was restored: it lacks commits that it acknowledged. */
import { existsSync } from 'node:fs'
import { ServiceError } from '@svc/contract'
import { listAllRefs, missingObjects, type Repository } from '@svc/git'
import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import type { Config } from '../../config.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Homed } from '../home-store.ts'
import { managedDir } from '../repository.ts'
import { lastChanged, lastValues } from './store.ts'

/** Projects whose commits were all here, by their epoch. A disk does not change under a server. */
const whole = new LRUCache<string, true>({ max: 20_000 })
const examinedAtOnce = 4
/** Branches and tags. Other refs are of the service, which may replace them before that is recorded. */
const isPublic = /^refs\/(heads|tags)\//

/** Branches and tags whose last recorded commit the repository does not have. */
async function lackingRefs(
  db: DbOrTransaction,
  { project_id, home_epoch }: Homed,
  { dir }: Pick<Repository, 'dir'>,
): Promise<string[]> {
  const key = `${dir} ${project_id} ${home_epoch}`
  if (whole.has(key)) return []
  const recorded = (await lastValues(db, project_id)).flatMap(({ ref, new_sha }) =>
    new_sha !== null && isPublic.test(ref) ? [{ ref, sha: new_sha }] : [],
  )
  const shas = recorded.map(({ sha }) => sha)
  const gone = new Set(shas.length === 0 ? [] : await missingObjects({ dir, remote: null }, shas))
  if (gone.size === 0) whole.set(key, true)
  return recorded.flatMap(({ ref, sha }) => (gone.has(sha) ? [ref] : []))
}

/** Throws before a change is recorded on such a disk, or copied from it: the copy elsewhere is the better one. */
export async function requireWholeDisk(
  db: DbOrTransaction,
  project: Homed,
  store: Pick<Repository, 'dir'>,
): Promise<void> {
  const refs = await lackingRefs(db, project, store)
  if (refs.length === 0) return
  throw new ServiceError(
    'unavailable',
    'Nothing was acknowledged: the disk of the server of this project is of an earlier time and lacks commits that were acknowledged.',
    { hint: 'Ask the operator of this service.', detail: { refs: refs.slice(0, 10) } },
  )
}

/** Null: another server may copy the repository and become the home of the project. */
export async function whyNotToMove(
  db: DbOrTransaction,
  project: Homed,
  { dir, serverName }: { dir: string; serverName: string },
): Promise<string | null> {
  if (!existsSync(dir) || (await lackingRefs(db, project, { dir })).length === 0) return null
  return `The disk of ${serverName} is of an earlier time and lacks commits of this project that were acknowledged. Stop ${serverName} and run svc self-host take-over ${serverName} on another server, which goes on with the copies.`
}

/** A disk that is of an earlier time lacks the newest changes. */
const examinedMax = 500

/** Those of the projects at home on this server that changed last whose repository is of an earlier time. */
export async function outdatedProjects(
  db: DbOrTransaction,
  { config, serverName }: { config: Config; serverName: string },
): Promise<{ slug: string }[]> {
  const changed = await lastChanged(db, { home: serverName, limit: examinedMax })
  const here = changed.filter(({ project_id }) => existsSync(managedDir({ config }, project_id)))
  const found = await pLimit(examinedAtOnce).map(here, async (project) => {
    const refs = await lackingRefs(db, project, { dir: managedDir({ config }, project.project_id) })
    return refs.length === 0 ? [] : [project]
  })
  return found.flat()
}

/** More projects than that change rarely in the days of the log, and then nothing is known. */
const comparedMax = 2_000

/**
 * Whether a disk of an earlier time has the last recorded commits of a project and not its branches and tags, as before
 * the merge of a branch that was pushed already, a new tag, or the deletion of a branch. Its home would go on from there:
 * on a disk that is not known to be earlier, each of these is a change which was not recorded.
 */
export async function hasRewoundRefs(
  db: DbOrTransaction,
  { config, serverName, since }: { config: Config; serverName: string; since: string },
): Promise<boolean> {
  const changed = await lastChanged(db, { home: serverName, since, limit: comparedMax })
  const rewound = await pLimit(examinedAtOnce).map(changed, async (project) => {
    const dir = managedDir({ config }, project.project_id)
    if (!existsSync(dir) || (await lackingRefs(db, project, { dir })).length > 0) return false
    const now = new Map((await listAllRefs(dir)).map(({ ref, sha }) => [ref, sha]))
    const recorded = await lastValues(db, project.project_id)
    return recorded.some(({ ref, new_sha }) => isPublic.test(ref) && (now.get(ref) ?? null) !== new_sha)
  })
  return changed.length === comparedMax || rewound.includes(true)
}
