/** Projects at home on this server whose repository its disk lacks: a disk that was replaced has none. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Finding } from '@svc/sandbox'
import type { Config } from '../config.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { projectsAt } from '../projects/home-store.ts'
import { managedDir } from '../projects/repository.ts'

const listedMax = 5

export function listOf(names: string[]): string {
  const more = names.length > listedMax ? `, and ${names.length - listedMax} more` : ''
  return `${names.slice(0, listedMax).join(', ')}${more}`
}

/** A project that is being made may have no repository yet. */
const madeMs = 60_000

/**
 * Null: the disk has the repository of every project at home here. A server that runs alone has no name (null), and one
 * that has run beside others has its name, and can have projects without a home.
 */
export async function findLostRepositories(
  db: DbOrTransaction,
  { config, serverName, now }: { config: Config; serverName: string | null; now: Date },
): Promise<(Pick<Finding, 'says'> & { mend: string }) | null> {
  const lost = (await projectsAt(db, null)).filter(
    ({ project_id, home, managed, deleted_at, created_at }) =>
      (serverName === null || (home ?? serverName) === serverName) &&
      managed &&
      deleted_at === null &&
      Date.parse(created_at) < now.getTime() - madeMs &&
      !existsSync(managedDir({ config }, project_id)),
  )
  if (lost.length === 0) return null
  const takeOver =
    serverName === null
      ? ''
      : ` If it is lost for good, stop this server and run \`svc self-host take-over ${serverName}\` on another one, which goes on with the copies.`
  return {
    says: `${lost.length} ${lost.length === 1 ? 'project' : 'projects'} at home here without a repository on this disk: ${listOf(lost.map(({ slug }) => slug))}`,
    mend: `Restore ${join(config.dataDir, 'repositories')} from a backup.${takeOver}`,
  }
}
