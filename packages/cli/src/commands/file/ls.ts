import { command } from '../../arguments/command.ts'
import { cyan } from '../../terminal/output.ts'
import { placeArg, placeOf } from './place.ts'

export const ls = command({
  summary: 'List a folder of the repository',
  scope: 'project',
  args: { place: { ...placeArg, summary: 'branch:folder, or a folder on the default branch', optional: true } },
  examples: ['svc file ls', 'svc file ls greeting:src --json name,size'],
  async run(ctx, { args }) {
    const project = await ctx.project()
    const query = placeOf(args.place ?? '')
    const found = await project.get('/tree', { query })
    const { out } = ctx
    if (out.json) return out.document(found.entries)
    if (found.entries.length === 0) return out.note('The folder is empty.')
    out.table(found.entries, [
      { title: 'NAME', of: ({ name, type }) => (type === 'directory' ? cyan(`${name}/`) : name), shrink: true },
      { title: 'KIND', of: ({ type }) => type },
      { title: 'BYTES', of: ({ size }) => (size === null ? '' : String(size)) },
    ])
    if (found.truncated) out.warn('The list is truncated: the folder has more entries.')
  },
})
