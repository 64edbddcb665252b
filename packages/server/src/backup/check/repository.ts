/** One repository beside the rows that tell about it. */
import { existsSync } from 'node:fs'
import { quote } from '@svc/contract/shell-words'
import type { Disagreement } from '@svc/contract/daemon/operator-reports'
import {
  damagedFiles,
  GitError,
  hasObjects,
  listAllRefs,
  missingLinks,
  missingObjects,
  notContained,
  type Repository,
  whyUnreadable,
} from '@svc/git'
import type { Config } from '../../config.ts'
import type { Db } from '../../db/schema.ts'
import { managedDir, mirrorDir } from '../../projects/repository.ts'
import { findReplica, lastValues } from '../../projects/replicas/store.ts'
import { lostBranches } from './branches.ts'
import { type CheckedProject, mergedCommits, openMerges, savedWorkOf } from './store.ts'

/** A server that works changes rows and refs in turn, so what differs once may agree in the next moment. */
const readsMax = 3

export interface Checked {
  db: Db
  project: CheckedProject
  repo: Repository
}

export type Found = Omit<Disagreement, 'project_id'>

export async function checkRepository(
  config: Config,
  db: Db,
  project: CheckedProject,
): Promise<{ isThere: boolean; found: Disagreement[] }> {
  const { project_id, managed } = project
  const dir = managed ? managedDir({ config }, project_id) : mirrorDir({ config }, project_id)
  const of = (found: Found[]) => found.map((one) => ({ ...one, project_id }))
  if (!existsSync(dir)) {
    if (project.is_new) return { isThere: false, found: [] }
    const rest = await whatIsLeft(db, project)
    const says = `${project.slug}: ${dir} is missing${rest === null ? ', which is its only repository.' : `. ${rest}`}`
    const work = managed ? [] : await untilAgreed(() => workWithoutStore(db, project, rest))
    return { isThere: false, found: of(managed ? [{ kind: 'missing_repository', says }] : work) }
  }
  const checked = { db, project, repo: { dir, remote: null } }
  const why = await whyUnreadable(dir)
  const damage = why === null ? await damageOf(checked) : [await broken(checked, `git cannot read it: ${why}`)]
  const rest = why === null ? await besideDamage(checked, damage) : []
  return { isThere: true, found: of([...damage, ...rest]) }
}

/** Compares a repository that git can read as a whole with its rows. */
async function besideDamage(checked: Checked, damage: Found[]): Promise<Found[]> {
  const { managed } = checked.project
  try {
    return [
      // The host of an external repository has its branches and merges.
      ...(managed ? await untilAgreed(() => merges(checked)) : []),
      ...(managed ? await untilAgreed(() => lostBranches(checked)) : []),
      ...(await untilAgreed(() => receipts(checked))),
      ...(await untilAgreed(() => work(checked))),
    ]
  } catch (error) {
    if (!(error instanceof GitError) || error.failure !== 'exit') throw error
    // git stumbled over the damage, which is reported already, or over some that only reading shows.
    return damage.length > 0 ? [] : [await broken(checked, error.message)]
  }
}

/** Null: no other server has a copy. */
async function whatIsLeft(db: Db, { project_id, home }: CheckedProject): Promise<string | null> {
  const copy = await findReplica(db, project_id)
  if (home === null || copy === null || copy.server === home) return null
  return `The server ${copy.server} has a copy. If this disk is lost for good, stop this server and run on ${copy.server}: svc self-host take-over ${home}`
}

async function untilAgreed(read: () => Promise<Found[]>): Promise<Found[]> {
  let found = await read()
  for (let reads = 1; found.length > 0 && reads < readsMax; reads++) found = await read()
  return found
}

const damagesMax = 20

async function damageOf(checked: Checked): Promise<Found[]> {
  const { dir } = checked.repo
  const missing = await missingLinks(dir)
  const damaged = await damagedFiles(dir, damagesMax)
  return [
    ...(missing.length === 0 ? [] : [await broken(checked, `git fsck finds it incomplete: ${missing.join('; ')}`)]),
    ...(damaged.length === 0 ? [] : [await broken(checked, `its files are damaged: ${damaged.join('; ')}`)]),
  ]
}

async function broken({ db, project, repo }: Checked, how: string): Promise<Found> {
  if (!project.managed) {
    const [dir, aside] = [repo.dir, `${repo.dir}.damaged`].map(quote)
    const { length } = await savedWorkOf(db, project.project_id)
    const work =
      length === 0
        ? ''
        : ` The unfinished work of ${length === 1 ? '1 session' : `${length} sessions`} is in the mirror alone: see "A mirror" on the page "Backup and restore" of the docs, /docs/operate/backup#a-mirror on your server.`
    const remedy = `Its host has the commits. As the user of the server, move it away, and the server fetches it again when it next needs it: mv ${dir} ${aside}${work}`
    return { kind: 'broken_mirror', says: `${project.slug}: the mirror ${repo.dir} is damaged: ${how}. ${remedy}` }
  }
  return { kind: 'broken_repository', says: `${project.slug}: the repository ${repo.dir} is damaged: ${how}` }
}

async function merges({ db, project, repo }: Checked): Promise<Found[]> {
  const merged = await mergedCommits(db, project.project_id)
  const gone = new Set(
    merged.length === 0 ? [] : await missingObjects(repo, [...new Set(merged.map(({ sha }) => sha))]),
  )
  const found: Found[] = merged
    .filter(({ sha }) => gone.has(sha))
    .map(({ number, sha }) => ({
      kind: 'lost_merge',
      says: `${project.slug}: change request #${number} is merged as ${sha}, and its repository does not have this commit.`,
    }))
  const tips = new Map((await listAllRefs(repo.dir, 'refs/heads/')).map(({ ref, sha }) => [ref, sha]))
  const present = merged.filter(({ sha }) => !gone.has(sha))
  for (const [base, of] of Map.groupBy(present, (one) => one.base)) {
    const tip = tips.get(`refs/heads/${base}`)
    // One that was deleted tells nothing; branches.ts reports those that are needed.
    if (tip === undefined) continue
    const shas = [...new Set(of.map(({ sha }) => sha))]
    const outside = new Set(await notContained(repo.dir, shas, tip))
    const numbers = of.flatMap(({ number, sha }) => (outside.has(sha) ? [`#${number}`] : []))
    if (numbers.length > 0) found.push(rewound(project, base, numbers))
  }
  const waiting = await openMerges(db, project.project_id)
  if (waiting > 0)
    found.push({
      kind: 'open_merge',
      says: `${project.slug}: ${waiting} merges began over an hour ago and neither landed nor failed.`,
    })
  return found
}

function rewound({ slug, default_branch }: CheckedProject, base: string, numbers: string[]): Found {
  // Only a merged change request writes the default branch, and svc ship opens and merges one.
  const command =
    base === default_branch ? `svc ship --project ${quote(slug)}` : `git push origin ${quote(base)}:${quote(base)}`
  const [are, them] = numbers.length === 1 ? ['is', 'it'] : ['are', 'them']
  return {
    kind: 'rewound_branch',
    says: `${slug}: ${base} does not contain ${numbers.join(', ')}, which ${are} merged. Someone force-pushed it, or the repository is older than the database. To have ${them} there again, check out ${base} in a clone that has ${them}, and run: ${command}`,
  }
}

/** What the database recorded as the last value of a ref, on servers with copies. */
async function receipts({ db, project, repo }: Checked): Promise<Found[]> {
  const recorded = await lastValues(db, project.project_id)
  if (recorded.length === 0) return []
  const refs = new Map((await listAllRefs(repo.dir)).map(({ ref, sha }) => [ref, sha]))
  return recorded.flatMap(({ ref, new_sha }) => {
    const now = refs.get(ref) ?? null
    if (now === new_sha) return []
    const says = `${project.slug}: ${ref} is ${now ?? 'gone'}, and ${new_sha ?? 'its end'} was acknowledged.`
    return [{ kind: 'other_ref', says }]
  })
}

async function work({ db, project, repo }: Checked): Promise<Found[]> {
  const saved = await savedWorkOf(db, project.project_id)
  if (saved.length === 0) return []
  const refs = new Map((await listAllRefs(repo.dir, 'refs/svc/')).map(({ ref, sha }) => [ref, sha]))
  const found: Found[] = []
  for (const { session_id, sha } of saved) {
    const isThere = await hasObjects(repo, [sha])
    if (isThere && refs.has(`refs/svc/wip/${session_id}`)) continue
    const lack = isThere ? 'no ref keeps it' : 'the repository does not have it'
    found.push({
      kind: 'lost_work',
      says: `${project.slug}: session ${session_id} has unfinished work ${sha}, and ${lack}.${isThere ? '' : ` ${withoutWork(project, session_id)}`}`,
    })
  }
  return found
}

/** A start finds the loss out and records it, so that later saves and checks go on without that work. */
function withoutWork({ slug }: CheckedProject, sessionId: string): string {
  return `To go on without it, if no backup has it, restart the session: svc sessions restart ${sessionId} --project ${quote(slug)}`
}

async function workWithoutStore(db: Db, project: CheckedProject, rest: string | null): Promise<Found[]> {
  return (await savedWorkOf(db, project.project_id)).map(({ session_id, sha }) => ({
    kind: 'lost_work',
    says: `${project.slug}: session ${session_id} has unfinished work ${sha}, and the repository that had it is gone. ${rest ?? withoutWork(project, session_id)}`,
  }))
}
