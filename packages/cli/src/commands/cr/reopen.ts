import { command } from '../../arguments/command.ts'
import { bold } from '../../terminal/output.ts'
import { crArg, changeRequestAt } from './find.ts'

export const reopen = command({
  summary: 'Reopen a closed change request',
  scope: 'project',
  args: { cr: crArg },
  examples: ['svc cr reopen 3', "svc cr reopen '#3' --json"],
  async run(ctx, { args }) {
    const { at } = await changeRequestAt(ctx, args.cr)
    const cr = await at.post('/reopen')
    ctx.out.done(cr, 'Reopened ', bold(`#${cr.number} ${cr.title}`))
    ctx.out.note(`${ctx.next(`svc cr show ${cr.number}`)} shows whether it can merge.`)
  },
})
