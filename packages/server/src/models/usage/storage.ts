/** The storage that a project uses. */
import type { Storage } from '@svc/contract'
import { storeBytes } from '@svc/git'
import type { Deps } from '../../deps.ts'
import { quotasOf } from '../../projects/quotas.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { attachmentBytesOf } from '../../sessions/attachments/store.ts'
import { checkLogBytesOf } from '../../sessions/check-log-store.ts'
import { unfinishedBytesOf } from '../../sessions/unfinished-work/snapshot-store.ts'
import { transcriptBytesOf } from '../../sessions/conversation/message-store.ts'
import { storeOf } from '../../sessions/unfinished-work/wip.ts'

export async function storageOf(deps: Pick<Deps, 'db' | 'config'>, project: ProjectRow): Promise<Storage> {
  const [inStore, unfinished, transcripts, attachments, checkLogs] = await Promise.all([
    storeBytes(storeOf(deps, project).dir),
    unfinishedBytesOf(deps.db, project.project_id),
    transcriptBytesOf(deps.db, project.project_id),
    attachmentBytesOf(deps.db, { column: 'project_id', id: project.project_id }),
    checkLogBytesOf(deps.db, project.project_id),
  ])
  const quotas = quotasOf(deps.config, project)
  return {
    repository_bytes: Math.max(0, inStore - unfinished),
    unfinished_work_bytes: unfinished,
    transcript_bytes: transcripts + attachments,
    check_log_bytes: checkLogs,
    limit_bytes: quotas.repositoryBytes,
    sessions_limit_bytes: quotas.sessionsBytes,
  }
}
