import { command } from '../../arguments/command.ts'
import { Refusal } from '../../errors.ts'
import { page } from '../../terminal/pager.ts'
import { safeBlock } from '../../terminal/safe.ts'
import { placeArg, placeOf } from './place.ts'

export const show = command({
  summary: 'Print a file of the repository',
  about: ['Paged on a terminal. --json has a binary file as base64.'],
  scope: 'project',
  args: { place: placeArg },
  examples: ['svc file show src/main.ts', 'svc file show greeting:page.html'],
  async run(ctx, { args }) {
    const project = await ctx.project()
    const file = await project.get('/file', { query: placeOf(args.place) })
    const { out } = ctx
    if (out.json) return out.document(file)
    if (file.encoding !== 'utf-8')
      throw new Refusal('not_available', `${file.path} is not a text file (${file.size} bytes)`, {
        hint: 'Use --json to get it as base64.',
      })
    if (out.terminal) await page(ctx, safeBlock(file.content))
    else out.raw(file.content)
    if (file.truncated) out.warn('The file is larger than 1 MiB and is truncated.')
  },
})
