/** The first commit of a managed repository, which creates its default branch. Every later change goes through a merge. */
import { type BodyOf, type createFirstCommitRoute, ServiceError } from '@svc/contract'
import { commitFilesOnBranch, isFilePath, listCommits, readTips, type Repository, treeOf } from '@svc/git'
import { commitAuthor } from '../../accounts/commit-author.ts'
import { getUser } from '../../accounts/store.ts'
import { auditEvent, isAudited, recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import { acknowledge, type AcknowledgeDeps } from '../../projects/acknowledge.ts'
import { requestPoll } from '../../projects/poll-store.ts'
import { openRepository, unreachable } from '../../projects/repository.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { requireRoom } from '../require-room.ts'
import { refuseAddedSecrets, refuseAgents } from './edit-rules.ts'

type FirstCommit = NonNullable<BodyOf<typeof createFirstCommitRoute>> & {
  project: ProjectRow
  caller: Caller
  signal: AbortSignal
}

type FirstCommitDeps = AcknowledgeDeps & Pick<Deps, 'config' | 'disk' | 'keyring' | 'log' | 'now' | 'redaction'>

type Author = ReturnType<typeof commitAuthor>

export async function createFirstCommit(deps: FirstCommitDeps, input: FirstCommit) {
  const { project, caller } = input
  refuseAgents(caller)
  if (!project.managed)
    throw new ServiceError('conflict', 'This repository is on another git host, which makes its first commit.', {
      hint: 'Push a first commit there. Sessions can start as soon as the branch exists.',
    })
  const files = filesOf(input)
  const author = commitAuthor(await getUser(deps.db, caller.actor.user_id))
  // One at a time, so that a click that is sent twice makes one commit and one audit row.
  return deps.localLocks.run(`first commit ${project.project_id}`, async () => {
    const repository = await openRepository(deps, project)
    const sha = await commitOnce(deps, { ...input, repository, files, author })
    await record(deps, { project, caller, repository, sha })
    return { branch: project.default_branch, sha }
  })
}

interface File {
  path: string
  content: string
}

function filesOf({ project, files }: FirstCommit): File[] {
  const all = files ?? [{ path: 'README.md', content: `# ${project.name}\n` }]
  for (const [index, { path }] of all.entries()) {
    const problem = problemOf(path, all.slice(0, index))
    if (problem === null) continue
    throw new ServiceError('invalid', `${JSON.stringify(path)} ${problem}.`, {
      detail: { issues: [{ path: `files.${index}.path`, message: problem }] },
    })
  }
  return all
}

function problemOf(path: string, before: readonly File[]): string | null {
  if (!isFilePath(path)) return 'is no path of a file in a repository'
  const other = before.find((each) => each.path === path)
  if (other !== undefined) return 'is there twice'
  const isInside = (inner: string, outer: string) => inner.startsWith(`${outer}/`)
  return before.some((each) => isInside(each.path, path) || isInside(path, each.path))
    ? 'is a file and a folder at once'
    : null
}

interface Making extends FirstCommit {
  repository: Repository
  files: File[]
  author: Author
}

/** Returns the commit. An earlier try of the same caller with the same files may have made it. */
async function commitOnce(deps: FirstCommitDeps, input: Making): Promise<string> {
  const { project, repository, files, author, signal } = input
  await requireEmpty(input)
  const bytes = files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0)
  await requireRoom(deps, { project, repository, bytes })
  const branch = project.default_branch
  const made = await commitFilesOnBranch(
    repository,
    { parent: null, branch, files, message: `${input.message ?? 'First commit'}\n`, author, at: deps.now() },
    {
      signal,
      made: async (sha) => {
        await refuseAddedSecrets(deps, { project, repository, base: branch, parent: null, sha, signal })
        await deps.replicas.send(project, repository, [sha])
      },
    },
  )
  switch (made.kind) {
    case 'created':
      return made.sha
    case 'exists':
      return sameCommit(input, made.sha)
    case 'unreachable':
      throw unreachable(made.reason)
    case 'rejected':
      throw new ServiceError('conflict', `The repository refused the branch ${branch}: ${made.reason}`)
    default:
      return made satisfies never
  }
}

async function tipsOf({ repository, signal }: Making): Promise<Map<string, string>> {
  const outcome = await readTips(repository, 'all', { signal })
  if (outcome.kind === 'unreachable') throw unreachable(outcome.reason)
  return outcome.tips
}

/** A first commit of the same author may be that of an earlier try, which `sameCommit` decides by its files. */
async function requireEmpty(input: Making): Promise<void> {
  const tips = await tipsOf(input)
  if (tips.size === 0) return
  const tip = tips.get(input.project.default_branch)
  if (tip === undefined || !(await isFirstOf(input, tip))) throw notEmpty(tips)
}

async function isFirstOf({ repository, author, signal }: Making, sha: string): Promise<boolean> {
  const [commit] = await listCommits(repository, { sha, limit: 1 }, { signal })
  return (
    commit !== undefined &&
    commit.parents.length === 0 &&
    commit.author_name === author.name &&
    commit.author_email === author.email
  )
}

async function sameCommit(input: Making, made: string): Promise<string> {
  const { repository, project } = input
  const tips = await tipsOf(input)
  const tip = tips.get(project.default_branch)
  const isSame =
    tip !== undefined &&
    (await isFirstOf(input, tip)) &&
    (await treeOf(repository, tip)) === (await treeOf(repository, made))
  if (!isSame) throw notEmpty(tips)
  return tip
}

function notEmpty(tips: Map<string, string>): ServiceError {
  const [branch = ''] = tips.keys()
  return new ServiceError('conflict', `The repository is not empty: it has the branch ${JSON.stringify(branch)}.`, {
    hint: 'Nothing was changed. Change files on a branch, and open a change request.',
    detail: { branch },
  })
}

async function record(
  deps: FirstCommitDeps,
  { project, caller, repository, sha }: { project: ProjectRow; caller: Caller; repository: Repository; sha: string },
): Promise<void> {
  const { project_id, default_branch: branch } = project
  const event = { ...auditEvent(project, 'project.first_commit', 'commit', sha), after: { branch } }
  const refs = [{ ref: `refs/heads/${branch}`, old: null }]
  await acknowledge(deps, { project, store: repository, refs }, async (db) => {
    if (!(await isAudited(db, event))) await recordAudit(db, caller, event)
  })
  await requestPoll(deps.db, project_id).catch((error: unknown) =>
    deps.log.warn({ err: error, project_id }, 'failed to request a poll after a first commit; a later poll finds it'),
  )
}
