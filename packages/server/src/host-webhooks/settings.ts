/** The webhook that a git host calls after a push, and the secret it signs its calls with. */
import type { HostWebhook } from '@svc/contract'
import { auditEvent, recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import { openFor, sealFor } from '../keyring/of-project.ts'
import type { ProjectRow } from '../projects/store.ts'
import { getHostWebhook, replaceHostWebhook } from './store.ts'

const aad = ['host webhook']

type SettingsDeps = Pick<Deps, 'db' | 'config' | 'keyring'>

export async function readHostWebhook(deps: SettingsDeps, project: ProjectRow): Promise<HostWebhook> {
  const row = await getHostWebhook(deps.db, project.project_id)
  return {
    url: `${deps.config.publicUrl}/v1/projects/${project.project_id}/host-webhook`,
    secret: row === null ? null : openFor(deps, project, aad, row.secret),
    last_call_at: row?.last_call_at ?? null,
    last_sender: row?.last_sender ?? null,
  }
}

export async function rotateHostWebhook(
  deps: SettingsDeps & Pick<Deps, 'randomBytes'>,
  { project, caller }: { project: ProjectRow; caller: Caller },
): Promise<HostWebhook> {
  const { project_id: projectId } = project
  const value = `svc_hwh_${Buffer.from(deps.randomBytes(24)).toString('base64url')}`
  const secret = sealFor(deps, project, aad, value)
  await deps.db.transaction().execute(async (trx) => {
    await replaceHostWebhook(trx, projectId, { secret, created_at: new Date() })
    await recordAudit(trx, caller, auditEvent(project, 'host_webhook.rotate', 'project', projectId))
  })
  return readHostWebhook(deps, project)
}

export async function secretOf(deps: SettingsDeps, project: ProjectRow): Promise<string | null> {
  const row = await getHostWebhook(deps.db, project.project_id)
  return row === null ? null : openFor(deps, project, aad, row.secret)
}
