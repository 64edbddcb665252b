import { refuseSecretName, secretBytesOfAllMax, secretValueBytesMax, ServiceError } from '@svc/contract'
import { auditEvent, recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import { notFound } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import { bumpSecretsRevision, getProject, type ProjectRow } from '../projects/store.ts'
import type { SealedSecret } from './given-store.ts'
import { deleteSecretRow, lockForChange, sealedSecrets, upsertSecret } from './store.ts'

export type SecretDeps = Pick<Deps, 'db' | 'keyring' | 'redaction'>

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
  if (value.includes('\0')) throw invalidField('value', 'A secret value cannot contain a NUL character.')
  if (bytes > secretValueBytesMax) throw invalidField('value', 'A secret value can have at most 64 KiB.')
  const set = await deps.db.transaction().execute(async (trx) => {
    const { nextVersion, otherBytes } = await lockForChange(trx, project.project_id, name)
    if (otherBytes + bytes > secretBytesOfAllMax)
      throw invalidField('value', 'The secrets of a project can have at most 512 KiB in total.')
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
    await bumpSecretsRevision(trx, project.project_id)
    await recordAudit(trx, input.caller, auditEvent(project, 'secret.set', 'secret', name))
    return row
  })
  await learnSecrets(deps, project.project_id)
  return set
}

export async function deleteSecret(deps: SecretDeps, input: { project: ProjectRow; caller: Caller; name: string }) {
  // PostgreSQL rejects some invalid names as text, so do not query them.
  if (refuseSecretName(input.name) !== null) throw notFound('secret')
  await deps.db.transaction().execute(async (trx) => {
    if (!(await deleteSecretRow(trx, input.project.project_id, input.name))) throw notFound('secret')
    await bumpSecretsRevision(trx, input.project.project_id)
    await recordAudit(trx, input.caller, auditEvent(input.project, 'secret.delete', 'secret', input.name))
  })
  await learnSecrets(deps, input.project.project_id)
}

/** Maps names to plain values. */
export async function openSecrets(deps: SecretDeps, project: ProjectRow): Promise<Record<string, string>> {
  return Object.fromEntries((await openAll(deps, project)).map(({ name, value }) => [name, value]))
}

export async function openAll(deps: SecretDeps, project: ProjectRow): Promise<(SealedSecret & { value: string })[]> {
  const rows = await sealedSecrets(deps.db, project.project_id)
  const opened = rows.map((row) => ({ ...row, value: openSealed(deps, project, row) }))
  // Register the values before returning them, so that no log line contains one.
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

/** Registers the current secrets for redaction in the log. */
export async function learnSecrets(deps: SecretDeps, projectId: string): Promise<void> {
  const project = await getProject(deps.db, projectId)
  if (project !== null) await openSecrets(deps, project)
}

function invalidField(path: string, message: string): ServiceError {
  return new ServiceError('invalid', message, { detail: issue(path, message) })
}

function issue(path: string, message: string) {
  return { issues: [{ path, message }] }
}
