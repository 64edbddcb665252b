import type { Session } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { limitFlag } from '../../arguments/limit.ts'
import { type Column, yellow } from '../../terminal/output.ts'
import { sessionPiece, shortId, unfinishedLabel } from './labels.ts'

export const ls = command({
  summary: 'List sessions, newest first',
  scope: 'project',
  flags: {
    status: {
      kind: 'choice',
      summary: 'Status (default: all)',
      choices: ['provisioning', 'running', 'stopped', 'failed', 'all'],
    },
    limit: limitFlag,
  },
  examples: ['svc sessions ls', 'svc sessions ls --status running --json'],
  async run(ctx, { flags }) {
    const { limit } = flags
    const listing = ctx.project.page('/sessions', { query: { status: flags.status ?? 'all', limit } })
    const { out } = ctx
    if (out.json) return out.document((await listing).data)
    const [{ data, cursor }, unfinished] = await Promise.all([listing, ctx.project.get('/unfinished-work')])
    if (data.length === 0)
      return out.note(`No sessions yet. Start one: ${ctx.next('svc sessions new --prompt "<what to do>"')}`)
    const bySession = new Map(unfinished.map((work) => [work.session_id, work]))
    const notPushed: Column<Session> = {
      title: 'NOT PUSHED',
      of: ({ session_id: id }) => (bySession.has(id) ? yellow(unfinishedLabel(bySession.get(id)!)) : ''),
    }
    // Usually everything is pushed, so print nothing.
    const isShown = data.some((session) => bySession.has(session.session_id))
    out.table(data, [...sessionColumns(ctx), ...(isShown ? [notPushed] : [])])
    if (cursor !== null) out.note(`There are more: --limit ${Math.min(1000, limit * 10)}`)
  },
})

export function sessionColumns({ out }: Context): Column<Session>[] {
  return [
    { title: 'ID', of: (session) => shortId(session.session_id, out.terminal) },
    { title: 'STATUS', of: sessionPiece },
    { title: 'NAME', of: (session) => session.name, shrink: true },
    { title: 'AGENT', of: (session) => session.agent_name },
    { title: 'BASE', of: (session) => session.base_ref, shrink: true },
    { title: 'ACTIVE', of: (session) => out.time(session.last_active_at) },
  ]
}
