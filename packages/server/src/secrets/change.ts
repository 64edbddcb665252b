import { refuseSecretName, secretBytesOfAllMax, secretValueBytesMax, ServiceError } from '@svc/contract'
import { recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import { notFound } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import type { SealedSecret } from './given-store.ts'
import { bumpRevision, deleteSecretRow, lockForChange, sealedSecrets, upsertSecret } from './store.ts'

type SecretDeps = Pick<Deps, 'db' | 'keyring' | 'redaction'>

export async function setSecret(
  deps: SecretDeps,
  input: { project: ProjectRow; caller: Caller; name: string; value: string },
) {
  const { project, name, value } = input
  const refusal = refuseSecretName(name)
  if (refusal !== null)
    throw new ServiceError(/^SVC_/i.test(name) ? 'reserved_name' : 'invalid', refusal, {
      detail: issue('name', refusal),
    })
  const bytes = Buffer.byteLength(value)
  if (value.includes('\0')) throw tooBad('value', 'A secret value cannot hold a NUL character.')
  if (bytes > secretValueBytesMax) throw tooBad('value', 'A secret value is at most 64 KiB.')
  const set = await deps.db.transaction().execute(async (trx) => {
    const { nextVersion, otherBytes } = await lockForChange(trx, project.project_id, name)
    if (otherBytes + bytes > secretBytesOfAllMax)
      throw tooBad('value', 'The secrets of a project are at most 512 KiB together.')
    const row = await upsertSecret(trx, {
      project_id: project.project_id,
      name,
      version: nextVersion,
      sealed: deps.keyring.seal({
        projectId: project.project_id,
        dataKey: project.data_key,
        aad: ['secret', name, nextVersion],
        value,
      }),
      value_bytes: bytes,
      created_by: input.caller.actor.user_id,
    })
    await bumpRevision(trx, project.project_id)
    await recordAudit(trx, input.caller, auditOf(project, 'secret.set', name))
    return row
  })
  await learnSecrets(deps, project.project_id)
  return set
}

export async function deleteSecret(
  deps: SecretDeps,
  input: { project: ProjectRow; caller: Caller; name: string },
): Promise<void> {
  // A name that cannot be is not asked for: the database refuses some of them as text.
  if (refuseSecretName(input.name) !== null) throw notFound('secret')
  await deps.db.transaction().execute(async (trx) => {
    if (!(await deleteSecretRow(trx, input.project.project_id, input.name))) throw notFound('secret')
    await bumpRevision(trx, input.project.project_id)
    await recordAudit(trx, input.caller, auditOf(input.project, 'secret.delete', input.name))
  })
  await learnSecrets(deps, input.project.project_id)
}

/** Names and plain values. */
export async function openSecrets(deps: SecretDeps, project: ProjectRow): Promise<Record<string, string>> {
  return Object.fromEntries((await openAll(deps, project)).map(({ name, value }) => [name, value]))
}

export async function openAll(deps: SecretDeps, project: ProjectRow): Promise<(SealedSecret & { value: string })[]> {
  const rows = await sealedSecrets(deps.db, project.project_id)
  const opened = rows.map((row) => ({ ...row, value: openSealed(deps, project, row) }))
  // Before anything else has a value, so that no line of the log holds one.
  const secrets = Object.fromEntries(opened.map(({ name, value }) => [name, value]))
  deps.redaction.learn(project.project_id, project.secrets_revision, secrets)
  return opened
}

export function openSealed(
  { keyring }: Pick<Deps, 'keyring'>,
  { project_id: projectId, data_key: dataKey }: ProjectRow,
  { name, version, sealed }: SealedSecret,
): string {
  return keyring.open({ projectId, dataKey, aad: ['secret', name, version], sealed })
}

/** Secrets as they are now, so that the log is searched for them from now on. */
export async function learnSecrets(deps: SecretDeps, projectId: string): Promise<void> {
  const project = await getProject(deps.db, projectId)
  if (project !== null) await openSecrets(deps, project)
}

function auditOf(project: ProjectRow, action: string, name: string) {
  return {
    account_id: project.account_id,
    project_id: project.project_id,
    action,
    object_type: 'secret',
    object_id: name,
  }
}

function tooBad(path: string, message: string): ServiceError {
  return new ServiceError('invalid', message, { detail: issue(path, message) })
}

function issue(path: string, message: string) {
  return { issues: [{ path, message }] }
}
