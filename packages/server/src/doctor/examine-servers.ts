/** The doctor's findings about several servers on one database. */
import { type Finding, good, missing, weak } from '@svc/sandbox'
import type { Config } from '../config.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { readServerName } from '../fleet/server-name.ts'
import { uncopiedProjects } from '../projects/replicas/store.ts'
import { findLostRepositories, listOf } from './lost-repositories.ts'

/** As old as a heartbeat of a server that runs may be. */
const deadAfterSeconds = 20

/** Null where servers keep no copies. */
export async function examineCopies(config: Config, db: DbOrTransaction): Promise<Finding | null> {
  if (config.replica === 'none') return null
  const { count, projects } = await uncopiedProjects(db, { deadAfterSeconds })
  if (count === 0) return good('copies', 'every project has a current copy on another server')
  const listed = listOf(projects.map(({ slug, home }) => `${slug} (at ${home})`))
  return weak(
    'copies',
    `${count} ${count === 1 ? 'project has' : 'projects have'} no current copy: ${listed}`,
    'Start another server of this database. `svc self-host copies` lists them all.',
  )
}

/**
 * Whether this disk has the repositories of its projects: one that was replaced has none, and every request fails. Null
 * on a server that runs alone.
 */
export async function examineRepositories(config: Config, db: DbOrTransaction): Promise<Finding | null> {
  if (config.peerUrl === null) return null
  // The folder has its name since its first start.
  const serverName = readServerName(config, '')
  const found = await findLostRepositories(db, { config, serverName, now: new Date() })
  if (found !== null) return missing('repositories', found.says, found.mend)
  return good('repositories', 'this disk has the repository of every project at home here')
}
