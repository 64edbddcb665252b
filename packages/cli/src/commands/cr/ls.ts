import type { ChangeRequest } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { limitFlag } from '../../arguments/limit.ts'
import type { Column } from '../../terminal/output.ts'
import { findMember, resolveAccountId } from '../members/account.ts'
import { uuid } from '../../arguments/find-one.ts'
import { branch, statusPiece } from './labels.ts'

export const ls = command({
  summary: 'List change requests, newest first',
  scope: 'project',
  flags: {
    status: {
      kind: 'choice',
      summary: 'Status (default: open)',
      choices: ['open', 'merged', 'closed', 'all'],
      aliases: ['state'],
      short: 's',
    },
    search: {
      kind: 'text',
      summary: 'Only with this text in title or branch, or with this number',
      value: 'text',
      short: 'S',
    },
    author: {
      kind: 'text',
      summary: 'Only by this member; @me for yours',
      value: 'member',
      names: 'member',
      short: 'A',
    },
    head: { kind: 'text', summary: 'Only with this head branch', value: 'ref', short: 'H' },
    base: { kind: 'text', summary: 'Only with this base branch', value: 'ref', short: 'B' },
    limit: limitFlag,
  },
  examples: ['svc cr ls', 'svc cr ls --author @me --base main', "svc cr ls --status all --search 'login'"],
  async run(ctx, { flags }) {
    const status = flags.status ?? 'open'
    const { limit } = flags
    const { data, cursor } = await ctx.project.page('/change-requests', {
      query: {
        status,
        limit,
        search: flags.search,
        ...(flags.author === undefined ? {} : { created_by: await userId(ctx, flags.author) }),
        head_ref: flags.head,
        base_ref: flags.base,
      },
    })
    const { out } = ctx
    if (out.json) return out.document(data)
    const isFiltered = [flags.search, flags.author, flags.head, flags.base].some((given) => given !== undefined)
    if (data.change_requests.length === 0 && isFiltered) return out.note('None.')
    if (data.change_requests.length === 0)
      return out.note(
        status === 'open' ? `No open change requests. Show all: ${ctx.next('svc cr ls --status all')}` : 'None.',
      )
    out.table(data.change_requests, changeRequestColumns(ctx))
    if (cursor !== null) out.note(`There are more: --limit ${Math.min(1000, limit * 10)}`)
  },
})

async function userId(ctx: Context, author: string): Promise<string> {
  if (uuid.test(author)) return author
  if (author === '@me') return (await ctx.api.get('/v1/token')).user.user_id
  return (await findMember(ctx.api, await resolveAccountId(ctx, undefined), author)).user_id
}

export function changeRequestColumns({ out }: Pick<Context, 'out'>): Column<ChangeRequest>[] {
  return [
    { title: '#', of: (cr) => `#${cr.number}` },
    { title: 'STATUS', of: (cr) => statusPiece(cr) },
    { title: 'TITLE', of: (cr) => cr.title, shrink: true },
    { title: 'HEAD → BASE', of: (cr) => `${branch(cr.head_ref, out.terminal)} → ${cr.base_ref}`, shrink: true },
    { title: 'UPDATED', of: (cr) => out.time(cr.updated_at) },
  ]
}
