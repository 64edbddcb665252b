import { command } from '../../../arguments/command.ts'
import { bold, green } from '../../../terminal/output.ts'
import { sessionAt } from '../find.ts'
import { sessionArg, shortId } from '../labels.ts'

export const stop = command({
  summary: 'Stop a session and keep its branch',
  scope: 'project',
  args: { id: sessionArg },
  examples: ['svc sessions stop 8f3a1c20', 'svc sessions stop 8f3a1c20 --json'],
  async run(ctx, { args }) {
    const at = await sessionAt(ctx, args.id)
    const session = await at.post('/stop')
    const { out } = ctx
    if (out.json) return out.document(session)
    const id = shortId(session.session_id, out.terminal)
    out.line(green('✓ '), 'Stopped ', bold(session.name), `  ${id}`)
    out.note(`${ctx.next(`svc sessions restart ${id}`)} restarts it from its branch.`)
  },
})
