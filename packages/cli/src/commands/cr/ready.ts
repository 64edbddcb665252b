import { command } from '../../arguments/command.ts'
import { bold } from '../../terminal/output.ts'
import { crArg, changeRequestAt } from './find.ts'

export const ready = command({
  summary: 'Mark a draft as ready, so that it can be merged',
  scope: 'project',
  args: { cr: crArg },
  flags: { undo: { kind: 'switch', summary: 'Make it a draft again' } },
  examples: ['svc cr ready 3', 'svc cr ready @ --undo'],
  async run(ctx, { args, flags }) {
    const { at, cr } = await changeRequestAt(ctx, args.cr)
    const { draft: _, ...rest } = cr.metadata
    const edited = await at.patch('', { body: { metadata: flags.undo ? { ...rest, draft: true } : rest } })
    ctx.out.done(edited, bold(`#${edited.number} ${edited.title}`), flags.undo ? ' is a draft' : ' is ready to merge')
  },
})
