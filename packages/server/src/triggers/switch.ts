/** `svc triggers enable|disable`: changes svc.toml through a change request. */
import { manifestPath, ManifestEditError, ServiceError, setTriggerEnabled } from '@svc/contract'
import { readTips } from '@svc/git'
import { getUser } from '../accounts/store.ts'
import { boundSession, type Caller, type ProjectActor, type UserActor } from '../auth/actor.ts'
import { notFound } from '../auth/allow.ts'
import { mergeChangeRequest, type MergeDeps } from '../change-requests/merge/merge.ts'
import { openWithFile } from '../change-requests/open/open-with-file.ts'
import { presentChangeRequest } from '../change-requests/store.ts'
import { readManifestFileAt } from '../projects/manifest.ts'
import { openRepository, unreachable } from '../projects/repository.ts'
import type { ProjectRow } from '../projects/store.ts'

interface SwitchTrigger {
  project: ProjectRow
  caller: Caller<UserActor | ProjectActor>
  slug: string
  enabled: boolean
  /** The id of the change request, which a retry repeats. */
  crId: string
  signal: AbortSignal
}

const author = { name: 'svc', email: 'noreply@svc.invalid' }

/** Opens a change request when there is something to change, and merges it for a person. An agent's waits for a person. */
export async function switchTrigger(deps: MergeDeps, input: SwitchTrigger) {
  const { project, caller, slug, crId } = input
  const words = `${input.enabled ? 'Enable' : 'Disable'} the trigger ${slug}`
  const edit = await editedManifest(deps, input)
  if (edit === null) return { change_request: null, merged: false }
  const user = await getUser(deps.db, caller.actor.user_id)
  const sessionId = boundSession(caller.actor)
  const askedBy =
    sessionId === null
      ? `Requested by ${user.name}.`
      : `Requested by the agent of session ${sessionId}, for ${user.name}.`
  const branch = `svc/${input.enabled ? 'enable' : 'disable'}-${slug}-${crId.slice(0, 8)}`
  const cr = await openWithFile(deps, {
    ...{ project, caller, crId, title: words, description: askedBy, session_id: sessionId, signal: input.signal },
    file: {
      ...{ repository: edit.repository, parent: edit.sha, branch, path: manifestPath, content: edit.text },
      ...{ message: `${words}\n\n${askedBy}\n`, author },
    },
  })
  if (sessionId !== null) return { change_request: presentChangeRequest(cr), merged: false }
  const { change_request } = await mergeChangeRequest(deps, {
    project,
    caller,
    crId,
    idempotencyKey: null,
    message: `${words}\n\n${askedBy}`,
    signal: input.signal,
  })
  return { change_request, merged: true }
}

async function editedManifest(deps: MergeDeps, { project, slug, enabled, signal }: SwitchTrigger) {
  const repository = await openRepository(deps, project)
  const tips = await readTips(repository, [project.default_branch], { signal })
  if (tips.kind === 'unreachable') throw unreachable(tips.reason)
  const sha = tips.tips.get(project.default_branch)
  const { raw, manifest } =
    sha === undefined ? { raw: null, manifest: null } : await readManifestFileAt(repository, sha, { signal })
  if (sha === undefined || raw === null || !manifest?.triggers.some((trigger) => trigger.slug === slug))
    throw notFound('trigger')
  try {
    const text = setTriggerEnabled(raw, slug, enabled)
    return text === raw ? null : { repository, sha, text }
  } catch (error) {
    if (error instanceof ManifestEditError)
      throw new ServiceError('manifest_invalid', error.message, { hint: `Edit ${manifestPath} in a change request.` })
    throw error
  }
}
