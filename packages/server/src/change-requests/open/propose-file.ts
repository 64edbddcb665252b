/** A person's edit of one text file, as a change request. */
import { isUtf8 } from 'node:buffer'
import { type BodyOf, type proposeFileRoute, ServiceError } from '@svc/contract'
import { isFilePath, readFileAt, readTips, type Repository } from '@svc/git'
import { commitAuthor } from '../../accounts/commit-author.ts'
import { getUser } from '../../accounts/store.ts'
import type { Caller } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import { fetchForRequest } from '../../projects/mirrors/fetch-for-request.ts'
import { openRepository, unreachable } from '../../projects/repository.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { commitsNotServed } from '../preview/commit-pair.ts'
import { requireRoom } from '../require-room.ts'
import { type ChangeRequestRow, getChangeRequests } from '../store.ts'
import { refuseAddedSecrets, refuseAgents } from './edit-rules.ts'
import { openWithFile } from './open-with-file.ts'

type ProposeFile = BodyOf<typeof proposeFileRoute> & {
  project: ProjectRow
  caller: Caller
  /** The id of the change request, the same when the request is a retry. */
  crId: string
  signal: AbortSignal
}

type ProposeDeps = Parameters<typeof openWithFile>[0] & Pick<Deps, 'disk' | 'redaction'>

export async function proposeFile(deps: ProposeDeps, input: ProposeFile): Promise<ChangeRequestRow> {
  const { project, caller, crId, path, content, signal } = input
  refuseAgents(caller)
  if (!isFilePath(path))
    throw new ServiceError('invalid', `${JSON.stringify(path)} is no path of a file in a repository.`, {
      detail: { issues: [{ path: 'path', message: 'must name a file, without empty parts, . and ..' }] },
    })
  const [earlier] = await getChangeRequests(deps.db, project.project_id, [crId])
  if (earlier !== undefined) return earlier
  const base = input.ref ?? project.default_branch
  const repository = await openRepository(deps, project)
  const parent = await tipOf(repository, base, signal)
  await requireUnchanged(repository, { parent, base, path, content, blob: input.blob_sha, signal })
  if (repository.remote === null) await requireRoom(deps, { project, repository, bytes: Buffer.byteLength(content) })
  const user = await getUser(deps.db, caller.actor.user_id)
  const title = input.title ?? `Edit ${path}`.slice(0, 200)
  return openWithFile(deps, {
    ...{ project, caller, crId, title, description: input.description, base_ref: base, signal },
    file: {
      ...{ repository, parent, path, content, branch: `svc/edit-${crId.slice(0, 8)}` },
      message: `${title}\n${input.description === '' ? '' : `\n${input.description}\n`}`,
      author: commitAuthor(user),
      inspect: (sha) => refuseAddedSecrets(deps, { project, repository, base, parent, sha, signal }),
    },
  })
}

async function tipOf(repository: Repository, branch: string, signal: AbortSignal): Promise<string> {
  const outcome = await readTips(repository, [branch], { signal })
  if (outcome.kind === 'unreachable') throw unreachable(outcome.reason)
  const tip = outcome.tips.get(branch)
  if (tip === undefined)
    throw new ServiceError('ref_not_found', `The repository has no branch ${JSON.stringify(branch)}.`, {
      hint: 'A file is edited on a branch, not at a commit. Choose the branch first.',
      detail: { ref: branch, issues: [{ path: 'ref', message: 'does not exist' }] },
    })
  const fetched = await fetchForRequest(repository, [tip], signal)
  if (fetched.kind === 'unreachable') throw unreachable(fetched.reason)
  if (fetched.kind === 'missing') throw commitsNotServed(fetched.shas)
  return tip
}

/** The edit starts from the file that its author saw. Other files of the branch may have moved on. */
async function requireUnchanged(
  repository: Repository,
  of: { parent: string; base: string; path: string; content: string; blob: string; signal: AbortSignal },
): Promise<void> {
  const { parent, base, path, content, blob, signal } = of
  const found = await readFileAt(repository, { sha: parent, path }, { signal })
  const changed = (how: string, now: string | null) =>
    new ServiceError('conflict', `${path} ${how} on ${base} since you opened it.`, {
      hint: 'Keep a copy of your edit, open the file again, and apply the edit to what is there now.',
      detail: { path, sha: parent, blob_sha: now },
    })
  if (found.kind !== 'file') throw changed('is no longer a file', null)
  if (found.sha !== blob) throw changed('changed', found.sha)
  if (found.mode === '120000')
    throw new ServiceError('unprocessable', `${path} is a symbolic link.`, { hint: 'Edit the file that it points to.' })
  if (!isUtf8(Buffer.from(found.content)))
    throw new ServiceError(
      'unprocessable',
      `${path} is not text in UTF-8, so an edit would change other bytes of it.`,
      {
        hint: 'Commit the change with git.',
      },
    )
  if (Buffer.from(content).equals(Buffer.from(found.content)))
    throw new ServiceError('invalid', 'There is nothing to propose: the file is unchanged.', {
      detail: { issues: [{ path: 'content', message: 'is the content of the file' }] },
    })
}
