import { replaceModelCap } from '../../accounts/store.ts'
import {
  accountUsageRoute,
  capAccountUsageRoute,
  projectUsageRoute,
  sessionUsageRoute,
  type Storage,
  type Usage,
} from '@svc/contract'
import { storeBytes } from '@svc/git'
import { auditEvent, recordAudit } from '../../audit/record.ts'

import { controlledOf } from '../../auth/session-control.ts'
import type { Deps } from '../../deps.ts'
import { handle, type Mounted } from '../../http/mount.ts'
import { quotasOf } from '../../projects/quotas.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { storedBytesOf } from '../../sessions/stored-bytes-store.ts'
import { requireSession } from '../../sessions/store.ts'
import { storeOf } from '../../sessions/unfinished-work/wip.ts'
import { accountCap, type Cap, capsOf, usageOf, type UsageScope } from '../store.ts'

export function usageRoutes(deps: Deps): Mounted[] {
  return [
    handle(accountUsageRoute, async ({ account, query }) => {
      const { cap, taken } = await accountCap(deps.db, account.account_id)
      const usage = await readUsage(deps, { account_id: account.account_id }, query.days)
      return { ...usage, caps: cap === null ? [] : [{ scope: 'account' as const, tokens: cap, tokens_taken: taken }] }
    }),
    handle(capAccountUsageRoute, async ({ account, body, caller }) => {
      const { account_id } = account
      const tokens = body.model_tokens_per_month
      await deps.db.transaction().execute(async (trx) => {
        const before = await replaceModelCap(trx, account_id, tokens)
        await recordAudit(trx, caller, {
          ...auditEvent({ account_id }, 'account.cap', 'account', account_id),
          before: { model_tokens_per_month: before },
          after: { model_tokens_per_month: tokens },
        })
      })
      return { model_tokens_per_month: tokens }
    }),
    handle(projectUsageRoute, async ({ project, query, caller }) => {
      const { account_id, project_id } = project
      const [usage, storage] = await Promise.all([
        readUsage(deps, { project_id }, query.days),
        storageOf(deps, project),
      ])
      const noSession = '00000000-0000-0000-0000-000000000000'
      const caps = await capsOf(deps.db, { account_id, project_id, session_id: noSession })
      const rows = [...usage.sessions, ...usage.sandboxes]
      const isControlled = await controlledOf(
        deps.db,
        caller.actor,
        rows.map((row) => row.session_id),
      )
      return {
        ...usage,
        // An agent sees the totals of the project, but only its own sessions.
        sessions: usage.sessions.filter((row) => isControlled(row.session_id)),
        sandboxes: usage.sandboxes.filter((row) => isControlled(row.session_id)),
        caps: caps.filter(({ scope }) => scope === 'project').map(shownCap),
        storage,
      }
    }),
    handle(sessionUsageRoute, async ({ project, params, query }) => {
      const session = await requireSession(deps.db, project.project_id, params.sessionId)
      const { session_id, project_id, account_id } = session
      const usage = await readUsage(deps, { session_id }, query.days)
      const caps = await capsOf(deps.db, { session_id, project_id, account_id })
      // The account's cap is only for its members, on their own page.
      return { ...usage, caps: caps.filter(({ scope }) => scope !== 'account').map(shownCap) }
    }),
  ]
}

function shownCap({ scope, tokens, taken }: Cap) {
  return { scope, tokens, tokens_taken: taken }
}

async function readUsage(
  deps: Pick<Deps, 'db' | 'now'>,
  scope: UsageScope,
  days: number,
): Promise<Omit<Usage, 'caps'>> {
  const used = await usageOf(deps.db, scope, days)
  const to = deps.now()
  return {
    from: new Date(to.getTime() - (days - 1) * 86_400_000).toISOString().slice(0, 10),
    to: to.toISOString().slice(0, 10),
    ...used,
  }
}

async function storageOf(deps: Pick<Deps, 'db' | 'config'>, project: ProjectRow): Promise<Storage> {
  const [inStore, { unfinished, transcripts, attachments, checkLogs }] = await Promise.all([
    storeBytes(storeOf(deps, project).dir),
    storedBytesOf(deps.db, project.project_id),
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
