/** Opens a change request for one file that the service itself commits. */
import { ServiceError } from '@svc/contract'
import { commitFilesOnBranch, type Repository } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { acknowledge, type AcknowledgeDeps } from '../../projects/acknowledge.ts'
import { unreachable } from '../../projects/repository.ts'
import type { ChangeRequestRow } from '../store.ts'
import { openChangeRequest } from './open.ts'

type Commit = Omit<Parameters<typeof commitFilesOnBranch>[1], 'at' | 'files'>

type Opening = Omit<Parameters<typeof openChangeRequest>[1], 'head_ref'> & {
  file: Commit & {
    path: string
    content: string
    repository: Repository
    /** Runs on the commit before its branch exists, and throws to refuse it. */
    inspect?: (sha: string) => Promise<void>
  }
}

/** A retry with the same branch finds it and opens the change request that is missing. */
export async function openWithFile(
  deps: AcknowledgeDeps & Pick<Deps, 'config' | 'keyring' | 'log' | 'now'>,
  { file: { repository, inspect, path, content, ...file }, ...opening }: Opening,
): Promise<ChangeRequestRow> {
  const { project, signal } = opening
  const isManaged = repository.remote === null
  const made = await commitFilesOnBranch(
    repository,
    { ...file, files: [{ path, content }], at: deps.now() },
    {
      signal,
      made: async (sha) => {
        await inspect?.(sha)
        if (isManaged) await deps.replicas.send(project, repository, [sha])
      },
    },
  )
  if (made.kind === 'unreachable') throw unreachable(made.reason)
  if (made.kind === 'rejected')
    throw new ServiceError('conflict', `The repository refused the branch ${file.branch}: ${made.reason}`)
  const refs = [{ ref: `refs/heads/${file.branch}`, old: null }]
  if (isManaged) await acknowledge(deps, { project, store: repository, refs }, async () => {})
  return openChangeRequest(deps, { ...opening, head_ref: file.branch })
}
