import { command } from '../../../arguments/command.ts'
import { bold, green } from '../../../terminal/output.ts'
import { sessionAt } from '../find.ts'
import { sessionArg, shortId } from '../labels.ts'

export const abort = command({
  summary: 'Abort the current turn of a session; the session keeps running',
  about: ['Also cancels queued prompts; svc sessions cancel takes back one alone. Changes stay in the work tree.'],
  scope: 'project',
  args: { id: sessionArg },
  examples: ['svc sessions abort 8f3a1c20', 'svc sessions abort 8f3a1c20 --json'],
  async run(ctx, { args }) {
    const at = await sessionAt(ctx, args.id)
    const session = await at.get('', { query: { include: 'activity' } })
    const wasBusy = session.is_busy === true
    // Send it regardless: the agent may have started a turn since.
    await at.post('/abort')
    const { out } = ctx
    if (out.json) return out.document({ session_id: at.id, was_busy: wasBusy })
    const id = shortId(at.id, out.terminal)
    if (wasBusy) out.line(green('✓ '), 'Aborted the turn of ', bold(session.name), `  ${id}`)
    else out.line('The agent of ', bold(session.name), ' was idle', `  ${id}`)
    out.note(ctx.next(`svc sessions chat ${id}`))
  },
})
