/**
 * `svc server --check`: reads the database, the repositories and what they say of each other side by side, of a running
 * or a stopped server, and changes nothing. What differs only because the server works right now is read again.
 */
import { join } from 'node:path'
import type { CheckReport, Disagreement } from '@svc/contract/daemon/operator-reports'
import { endPooledGit } from '@svc/git'
import type { Config } from '../../config.ts'
import { countPending } from '../../db/migrate.ts'
import { openDatabase } from '../../db/pool.ts'
import type { Db } from '../../db/schema.ts'
import { requireGit } from '../../doctor/examine-git.ts'
import { readServerName } from '../../fleet/server-name.ts'
import { makeLog } from '../../log.ts'
import { storedRepositories } from '../../projects/mirrors/stored-repositories.ts'
import { purgedAmong } from '../../projects/store.ts'
import { reachData } from '../reach-data.ts'
import { checkKeys } from './keys.ts'
import { checkRepository } from './repository.ts'
import { checkedProjects, damagedAttachments, lowSequences } from './store.ts'

export interface CheckProgress {
  phase: 'checking'
  name: string
  done: number
  of: number
}

type OnProgress = (progress: CheckProgress) => void

export async function check(config: Config, onProgress: OnProgress): Promise<CheckReport> {
  const log = makeLog('json', (text) => text)
  log.level = 'warn'
  const reached = await reachData(config, log)
  const database = openDatabase(reached.url, log)
  try {
    // Refuses the tables of a newer version, which it could not read, and a database that the data have left.
    await countPending(reached.url)
    await requireGit()
    return await checkAll(config, database.db, onProgress)
  } finally {
    await database.close()
    await endPooledGit()
    await reached.end()
  }
}

async function checkAll(config: Config, db: Db, onProgress: OnProgress): Promise<CheckReport> {
  const disagreements = [
    ...(await checkKeys(config, db)),
    ...(await checkAttachments(db)),
    ...(await checkSequences(db)),
    ...(await checkFolders(config, db)),
  ]
  const serverName = readServerName(config, '')
  const all = await checkedProjects(db)
  const isHere = ({ home }: { home: string | null }) => home === null || home === serverName
  const projects = all.filter(isHere)
  const homes = all.flatMap((each) => (isHere(each) ? [] : (each.home ?? [])))
  let repositories = 0
  for (const [done, project] of projects.entries()) {
    onProgress({ phase: 'checking', name: project.slug, done, of: projects.length })
    const { isThere, found } = await checkRepository(config, db, project)
    if (isThere) repositories++
    disagreements.push(...found)
  }
  const elsewhere = { projects: homes.length, homes: [...new Set(homes)].toSorted() }
  return { projects: projects.length, repositories, disagreements, elsewhere }
}

async function checkAttachments(db: Db): Promise<Disagreement[]> {
  return (await damagedAttachments(db)).map(({ attachment_id, session_id }) => ({
    kind: 'damaged_attachment',
    project_id: null,
    says: `The attachment ${attachment_id} of session ${session_id} is not as long as it was.`,
  }))
}

async function checkSequences(db: Db): Promise<Disagreement[]> {
  return (await lowSequences(db)).map(({ sequence, last, highest }) => ({
    kind: 'low_sequence',
    project_id: null,
    says: `The sequence ${sequence} is at ${last}, and a row has ${highest} already, so that new rows fail.`,
  }))
}

/** Repositories on the disk that no row knows. One that is just being purged is removed by the server. */
async function checkFolders(config: Config, db: Db): Promise<Disagreement[]> {
  const found: Disagreement[] = []
  for (const folder of ['repositories', 'mirrors'] as const) {
    const ids = (await storedRepositories({ config }, folder)).flatMap(({ projectId }) => projectId ?? [])
    // Read after the disk, so that a project that is made meanwhile is known.
    const known = new Set((await checkedProjects(db)).map(({ project_id }) => project_id))
    const unknown = ids.filter((id) => !known.has(id))
    const purged = new Set(await purgedAmong(db, unknown))
    for (const id of unknown.filter((one) => !purged.has(one)))
      found.push({
        kind: 'unknown_repository',
        project_id: id,
        says: `${join(config.dataDir, folder, `${id}.git`)} is the repository of a project that the database does not have.`,
      })
  }
  return found
}
