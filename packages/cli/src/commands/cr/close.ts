import { command } from '../../arguments/command.ts'
import { bold } from '../../terminal/output.ts'
import { crArg, changeRequestAt } from './find.ts'

export const close = command({
  summary: 'Close a change request without merging it',
  scope: 'project',
  args: { cr: crArg },
  examples: ['svc cr close 3', "svc cr close '#3' --json"],
  async run(ctx, { args }) {
    const { at } = await changeRequestAt(ctx, args.cr)
    const cr = await at.post('/close')
    ctx.out.done(cr, 'Closed ', bold(`#${cr.number} ${cr.title}`))
    ctx.out.note(`The branch ${cr.head_ref} stays. ${ctx.next(`svc cr reopen ${cr.number}`)} reopens it.`)
  },
})
