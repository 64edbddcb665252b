/** Reads the history, the database and git after a run and returns every inconsistency. */
import { readdir } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type pg from 'pg'
import { withClient } from '../../packages/server/src/db/testing-cluster.ts'
import { gitIn, tryGitIn } from './repositories.ts'
import type { Change, TortureProject, World } from './world.ts'

export interface Findings {
  violations: string[]
  merged: number
  acknowledged: number
  outsidePushes: number
  abandoned: number
}

interface CrRow {
  cr_id: string
  number: number
  head_ref: string
  status: string
  merge_commit_sha: string | null
  head_commit_sha: string
}

/** Needs a running server without other clients. */
export async function check(world: World): Promise<Findings> {
  const findings: Findings = { violations: [], merged: 0, acknowledged: 0, outsidePushes: 0, abandoned: 0 }
  await withClient(await world.server.databaseUrl(), async (client) => {
    await checkAttempts(client, findings)
    for (const project of world.projects) await checkProject(world, project, client, findings)
  })
  await checkRetries(world, findings)
  return findings
}

async function checkAttempts(client: pg.Client, findings: Findings): Promise<void> {
  const { rows } = await client.query<{ state: string; n: string }>(
    'select state, count(*) as n from merge_attempts group by state',
  )
  for (const { state, n } of rows) {
    if (state === 'intended') findings.violations.push(`${n} intents were never settled`)
    if (state === 'abandoned') findings.abandoned = Number(n)
  }
  const twice = await client.query(
    "select cr_id from merge_attempts where state = 'landed' group by cr_id having count(*) > 1",
  )
  for (const row of twice.rows) findings.violations.push(`${row.cr_id} has several landed attempts`)
  const audits = await client.query(
    `select cr_id from change_requests c where status = 'merged' and 1 <>
       (select count(*) from audit_events where object_id = c.cr_id::text and action = 'change_request.merge')`,
  )
  for (const row of audits.rows) findings.violations.push(`${row.cr_id} is merged, but not once in the audit`)
}

async function checkProject(
  world: World,
  project: TortureProject,
  client: pg.Client,
  findings: Findings,
): Promise<void> {
  const complain = (what: string) => findings.violations.push(`${project.kind}: ${what}`)
  const base = await readBase(project)
  const { rows } = await client.query<CrRow>('select * from change_requests where project_id = $1', [project.id])
  const opened = world.changes.filter((change) => change.project === project && change.crId !== null)
  if (rows.length !== opened.length) complain(`${rows.length} rows for ${opened.length} change requests`)
  if (new Set(rows.map((row) => Number(row.number))).size !== rows.length) complain('a number was given out twice')
  const byBranch = new Map(rows.map((row) => [row.head_ref, row]))

  for (const change of opened) {
    const row = byBranch.get(change.branch)
    if (row === undefined || row.cr_id !== change.crId) {
      complain(`${change.branch} has no row of its id`)
      continue
    }
    checkChange(change, row, base, complain)
    if (row.status === 'merged') findings.merged++
    if (change.merge !== null) findings.acknowledged++
  }
  for (const pushed of world.history.of('pushed').filter((entry) => entry.project === project.id)) {
    findings.outsidePushes++
    if (!base.parents.has(pushed.sha) || !base.files.has(pushed.file)) complain(`the push of ${pushed.file} is lost`)
  }
  await checkStore(project, rows, complain)
}

interface Base {
  parents: Map<string, string[]>
  /** The number of commits of the base that merged this one. */
  mergesOf: Map<string, number>
  files: Set<string>
}

async function readBase({ dir }: TortureProject): Promise<Base> {
  const log = await gitIn(dir, ['rev-list', '--parents', 'refs/heads/main'])
  const parents = new Map(log.split('\n').map((line) => [line.slice(0, 40), line.split(' ').slice(1)]))
  const mergesOf = new Map<string, number>()
  for (const [, [, second]] of parents) if (second !== undefined) mergesOf.set(second, (mergesOf.get(second) ?? 0) + 1)
  const files = await gitIn(dir, ['ls-tree', '-r', '--name-only', 'refs/heads/main'])
  return { parents, mergesOf, files: new Set(files.split('\n')) }
}

function checkChange(change: Change, row: CrRow, base: Base, complain: (what: string) => void): void {
  const { branch, head, file, merge } = change
  const isOnBase = base.parents.has(head)
  if ((base.mergesOf.get(head) ?? 0) > 1) complain(`${branch} was merged twice`)
  if (merge !== null) {
    if (row.status !== 'merged') complain(`${branch} was acknowledged as merged and is ${row.status}`)
    if (row.merge_commit_sha !== merge.merge.merge_commit_sha) complain(`${branch} has another merge commit`)
    if (merge.change_request.head_commit_sha !== head) complain(`${branch} was merged at another head than was sent`)
  }
  if (row.status === 'merged') {
    if (row.merge_commit_sha === null || !base.parents.has(row.merge_commit_sha))
      complain(`${branch} is merged by a commit that is not on the base`)
    if (!isOnBase || !base.files.has(file)) complain(`${branch} is merged and its work is not on the base`)
    if (row.head_commit_sha !== head) complain(`${branch} has another head than was sent`)
  } else if (isOnBase) complain(`${branch} is on the base and ${row.status}`)
}

async function checkStore(project: TortureProject, rows: CrRow[], complain: (what: string) => void): Promise<void> {
  for (const dir of new Set([project.dir, project.storeDir])) {
    const fsck = await tryGitIn(dir, ['fsck', '--connectivity-only', '--no-dangling'])
    if (fsck.code !== 0) complain(`git fsck finds ${fsck.stderr.slice(0, 500)}`)
    const names = await readdir(dir, { recursive: true })
    for (const name of names)
      if (/\.lock$|(^|\/)svc-scratch-/.test(name) && !name.includes('/', name.indexOf('svc-scratch-') + 1))
        complain(`${name} was left behind`)
  }
  const kept = new Set(
    (await gitIn(project.storeDir, ['for-each-ref', '--format=%(refname)', 'refs/svc/cr'])).split('\n'),
  )
  for (const { number, status } of rows)
    if (status === 'merged' && !kept.has(`refs/svc/cr/${number}/head`))
      complain(`the commits of ${number} are not kept`)
}

/** A request repeated with the same key gets the same response. */
async function checkRetries(world: World, findings: Findings): Promise<void> {
  for (const change of world.changes) {
    if (change.merge === null) continue
    const again = await world.merge(change)
    if (again.status !== 200 || !isDeepStrictEqual(again.body, change.merge))
      findings.violations.push(`${change.branch}: a retry was answered otherwise: ${JSON.stringify(again)}`)
  }
}
