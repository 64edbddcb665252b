import type { ChangeRequest } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { bold } from '../../terminal/output.ts'
import { changeRequestAt, crArg } from './find.ts'

const moving = (
  verb: 'close' | 'reopen',
  summary: string,
  did: string,
  note: (ctx: Context, cr: ChangeRequest) => string,
) =>
  command({
    summary,
    scope: 'project',
    args: { cr: crArg },
    examples: [`svc cr ${verb} 3`, `svc cr ${verb} '#3' --json`],
    async run(ctx, { args }) {
      const { at } = await changeRequestAt(ctx, args.cr)
      const cr = await at.post(`/${verb}`)
      ctx.out.done(cr, did, bold(`#${cr.number} ${cr.title}`))
      ctx.out.note(note(ctx, cr))
    },
  })

export const close = moving('close', 'Close a change request without merging it', 'Closed ', ({ next }, cr) => {
  return `The branch ${cr.head_ref} stays. ${next(`svc cr reopen ${cr.number}`)} reopens it.`
})
export const reopen = moving('reopen', 'Reopen a closed change request', 'Reopened ', ({ next }, cr) => {
  return `${next(`svc cr show ${cr.number}`)} shows whether it can merge.`
})
