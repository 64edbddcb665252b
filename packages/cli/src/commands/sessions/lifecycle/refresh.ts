import type { Session } from '@svc/sdk'
import { command } from '../../../arguments/command.ts'
import type { Context } from '../../../context.ts'
import { Refusal } from '../../../errors.ts'
import { bold, dim, green, yellow } from '../../../terminal/output.ts'
import { sessionAt } from '../find.ts'
import { sessionArg, shortId } from '../labels.ts'

export const refresh = command({
  summary: 'Apply changes of the default branch to a running session',
  about: [
    'Pulls the session branch, applies svc.toml and the agents of the default branch, and restarts the agent runtime. Keeps the conversation and the work tree.',
    'If the agent is working, the refresh waits for the end of its turn.',
  ],
  scope: 'project',
  args: { id: sessionArg },
  examples: ['svc sessions refresh 8f3a1c20', 'svc sessions refresh 8f3a1c20 --json'],
  async run(ctx, { args }) {
    const at = await sessionAt(ctx, args.id)
    const session = await at.post('/refresh')
    if (ctx.out.json) return ctx.out.document(session)
    printRefresh(ctx, session)
  },
})

function printRefresh(ctx: Context, { session_id: sessionId, name, refresh }: Session): void {
  const { out } = ctx
  const id = shortId(sessionId, true)
  if (refresh?.status === 'failed')
    throw new Refusal('session_failed', refresh.error ?? 'The refresh failed.', { next: [`svc sessions info ${id}`] })
  if (refresh?.status === 'waiting') {
    if (refresh.error === null) out.line('The refresh of ', bold(name), ' waits for the end of the turn.')
    else out.line('The refresh of ', bold(name), ' waits: ', refresh.error)
    return out.note(`${ctx.next(`svc sessions info ${id}`)} shows what it changed.`)
  }
  out.line(green('✓ '), 'Refreshed ', bold(name), `  ${shortId(sessionId, out.terminal)}`)
  if (refresh === null) return
  if (refresh.applied.length > 0) out.line(dim('  Applied: '), refresh.applied.join(', '))
  if (refresh.error !== null) out.line('  ', yellow(refresh.error))
  if (refresh.needs_restart.length > 0) {
    out.line(dim('  Needs a restart: '), refresh.needs_restart.join(', '))
    out.note(`${ctx.next(`svc sessions restart ${id}`)} applies the rest.`)
  }
}
