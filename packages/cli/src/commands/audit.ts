import type { AuditEvent as AuditRow, Member } from '@svc/sdk'
import { command } from '../arguments/command.ts'
import type { Context } from '../context.ts'
import { limitFlag } from '../arguments/limit.ts'
import { type Column, dim } from '../terminal/output.ts'
import { accountFlag, allMembers, findMember, resolveAccountId } from './members/account.ts'
import { resolveProjectId } from './projects/find.ts'
import type { Client } from '../requests.ts'

const pageSize = 1000
const limitMax = 100_000

export const audit = command({
  summary: 'Show who changed what in the account, newest first',
  about: [
    'For owners and admins. --action takes an action such as change_request.merge, or a noun for all of its actions. --json has every field, with the values before and after.',
  ],
  scope: 'host',
  flags: {
    action: { kind: 'text', summary: 'Only this action, or all actions of a noun', value: 'noun[.verb]' },
    member: { kind: 'text', summary: 'Only changes by this member', value: 'member', names: 'member' },
    project: { kind: 'text', summary: 'Only this project', value: 'id|slug', names: 'project' },
    limit: { ...limitFlag, summary: `Maximum number of rows (default: 100, at most ${limitMax})`, max: limitMax },
    account: accountFlag,
  },
  examples: ['svc audit', 'svc audit --action change_request --project my-app --json'],
  async run(ctx, { flags }) {
    const { limit } = flags
    const accountId = await resolveAccountId(ctx, flags.account)
    const query = {
      action: flags.action,
      ...(flags.project === undefined ? {} : { project_id: await resolveProjectId(ctx.api, flags.project) }),
      ...(flags.member === undefined
        ? {}
        : { actor_user_id: (await findMember(ctx.api, accountId, flags.member)).user_id }),
    }
    const { rows, isMore } = await readAudit(ctx.api, accountId, query, limit)
    const { out } = ctx
    if (out.json) return out.document(rows)
    if (rows.length === 0) return out.note('No audit entries match.')
    const members = await allMembers(ctx.api, accountId)
    const { page } = await import('../terminal/pager.ts')
    await page(ctx, out.tableText(rows, auditColumns(ctx, members)))
    if (isMore) out.note(`There are more: --limit ${Math.min(limitMax, limit * 10)}`)
  },
})

async function readAudit(
  api: Client,
  accountId: string,
  query: { action?: string; project_id?: string; actor_user_id?: string },
  limit: number,
): Promise<{ rows: AuditRow[]; isMore: boolean }> {
  const rows: AuditRow[] = []
  let cursor: string | null = null
  do {
    const page: { limit: number; cursor?: string } = {
      limit: Math.min(pageSize, limit - rows.length),
      cursor: cursor ?? undefined,
    }
    const next: { data: AuditRow[]; cursor: string | null } = await api.page('/v1/accounts/{accountId}/audit', {
      path: { accountId },
      query: { ...query, ...page },
    })
    rows.push(...next.data)
    cursor = next.cursor
  } while (cursor !== null && rows.length < limit)
  return { rows, isMore: cursor !== null }
}

function auditColumns({ out }: Context, members: readonly Member[]): Column<AuditRow>[] {
  const names = new Map(members.map((member) => [member.user_id, member.email ?? member.name]))
  const who = ({ actor_kind: kind, actor_user_id: user, actor_name: nameNow }: AuditRow) => {
    const name = user === null ? kind : (names.get(user) ?? nameNow ?? user)
    return kind === 'user' || user === null ? name : `${name} (${kind})`
  }
  return [
    { title: 'WHEN', of: (row) => out.time(row.at) },
    { title: 'WHO', of: who, shrink: true },
    { title: 'ACTION', of: (row) => row.action },
    { title: 'OF', of: (row) => `${row.object_type} ${row.object_id}`, shrink: true },
    { title: 'FROM', of: (row) => row.address ?? dim('-') },
  ]
}
