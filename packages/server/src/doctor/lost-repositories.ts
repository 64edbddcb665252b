/** Projects at home on this server whose repository its disk lacks or has as it was: a disk that was replaced, or restored. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { count } from '@svc/contract/count'
import type { Finding } from '@svc/sandbox'
import type { Config } from '../config.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { projectsAt } from '../projects/home-store.ts'
import { outdatedProjects } from '../projects/replicas/earlier-disk.ts'
import { managedDir } from '../projects/repository.ts'

const listedMax = 5

export function listOf(names: string[]): string {
  const more = names.length > listedMax ? `, and ${names.length - listedMax} more` : ''
  return `${names.slice(0, listedMax).join(', ')}${more}`
}

/** A project that is being made may have no repository yet. */
const madeMs = 60_000

/** Null: the disk has the repository of every project at home here, with every acknowledged commit. A server that runs alone has no name (null). */
export async function findLostRepositories(
  db: DbOrTransaction,
  { config, serverName, now }: { config: Config; serverName: string | null; now: Date },
): Promise<(Pick<Finding, 'says'> & { mend: string }) | null> {
  const lost = (await projectsAt(db, serverName)).filter(
    ({ project_id, managed, deleted_at, created_at }) =>
      managed &&
      deleted_at === null &&
      Date.parse(created_at) < now.getTime() - madeMs &&
      !existsSync(managedDir({ config }, project_id)),
  )
  if (lost.length === 0) return serverName === null ? null : outdatedText(db, { config, serverName })
  const restore = `Restore ${join(config.dataDir, 'repositories')} from a backup.`
  const takeOver = `Stop this server and run \`svc self-host take-over ${serverName}\` on another one, which goes on with the copies: they have what was acknowledged since the last backup. Without a copy: ${restore}`
  return {
    says: `${count(lost.length, 'project')} at home here without a repository on this disk: ${listOf(lost.map(({ slug }) => slug))}`,
    mend: serverName === null ? restore : takeOver,
  }
}

async function outdatedText(
  db: DbOrTransaction,
  of: { config: Config; serverName: string },
): Promise<(Pick<Finding, 'says'> & { mend: string }) | null> {
  const found = await outdatedProjects(db, of)
  if (found.length === 0) return null
  const what = found.length === 1 ? '1 project whose repository' : `${found.length} projects whose repositories`
  return {
    says: `${what} on this disk ${found.length === 1 ? 'is' : 'are'} of an earlier time, without commits that were acknowledged: ${listOf(found.map(({ slug }) => slug))}`,
    mend: `Their changes are refused. Stop this server and run \`svc self-host take-over ${of.serverName}\` on another one, which goes on with the copies. If no copy is left, start this server with SVC_REPLICA=none once: it goes on with what is here.`,
  }
}
