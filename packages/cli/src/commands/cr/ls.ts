import { replyPage } from '../../api.ts'
import { command } from '../../command.ts'
import type { Context } from '../../context.ts'
import { limitFlag } from '../../limit.ts'
import type { Column } from '../../output.ts'
import type { ChangeRequest } from '../../wire.ts'
import { branch, statusPiece } from './words.ts'

export const ls = command({
  summary: 'List change requests, newest first',
  scope: 'project',
  args: {},
  flags: {
    status: { kind: 'choice', summary: 'Which ones (default: open)', choices: ['open', 'merged', 'closed', 'all'] },
    search: {
      kind: 'text',
      summary: 'Those with this in title or branch, or with this number',
      value: 'text',
    },
    limit: limitFlag,
  },
  examples: ['svc cr ls', "svc cr ls --status all --search 'login'"],
  async run(ctx, { flags }) {
    const status = flags.status ?? 'open'
    const { limit } = flags
    const { api, projectId } = await ctx.project()
    const { data, cursor } = await replyPage(
      api.GET('/v1/projects/{projectId}/change-requests', {
        params: {
          path: { projectId },
          query: { status, limit, ...(flags.search === undefined ? {} : { search: flags.search }) },
        },
      }),
    )
    const { out } = ctx
    if (out.json) return out.document(data)
    if (data.change_requests.length === 0 && flags.search !== undefined) return out.note('None.')
    if (data.change_requests.length === 0)
      return out.note(
        status === 'open' ? `No open change requests. ${ctx.next('svc cr ls --status all')} shows every one.` : 'None.',
      )
    out.table(data.change_requests, changeRequestColumns(ctx))
    if (cursor !== null) out.note(`There are more: --limit ${Math.min(1000, limit * 10)}`)
  },
})

export function changeRequestColumns({ out }: Pick<Context, 'out'>): Column<ChangeRequest>[] {
  return [
    { title: '#', of: (cr) => `#${cr.number}` },
    { title: 'STATUS', of: (cr) => statusPiece(cr.status) },
    { title: 'TITLE', of: (cr) => cr.title, shrink: true },
    { title: 'HEAD → BASE', of: (cr) => `${branch(cr.head_ref, out.terminal)} → ${cr.base_ref}`, shrink: true },
    { title: 'UPDATED', of: (cr) => out.time(cr.updated_at) },
  ]
}
