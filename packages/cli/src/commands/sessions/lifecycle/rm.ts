import { confirm } from '../../../terminal/ask.ts'
import { command } from '../../../arguments/command.ts'
import { bold } from '../../../terminal/output.ts'
import { sessionAt } from '../find.ts'
import { sessionArg, shortId, unfinishedLabel } from '../labels.ts'

export const rm = command({
  summary: 'Stop and delete a session; its branch and its change requests stay',
  scope: 'project',
  args: { id: sessionArg },
  flags: { yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc sessions rm 8f3a1c20', 'svc sessions rm 8f3a1c20 --yes'],
  async run(ctx, { args, flags }) {
    const at = await sessionAt(ctx, args.id)
    const session = await at.get('')
    const wip = await at.get('/wip')
    const lost =
      wip.saved_at === null ? 'Unpushed work will be lost.' : `${unfinishedLabel(wip)} of unpushed work will be lost.`
    await confirm(ctx, {
      question: `Delete the session ${session.name} (${shortId(at.id, true)})? ${lost}`,
      yes: flags.yes,
      corrected: `svc sessions rm ${at.id} --yes`,
    })
    await at.delete('')
    ctx.out.done({ session_id: at.id, removed: true }, 'Deleted ', bold(session.name))
    ctx.out.note(`The branch ${session.branch_name} stays.`)
  },
})
