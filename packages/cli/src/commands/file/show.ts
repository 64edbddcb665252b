import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import { Refusal } from '../../errors.ts'
import { page } from '../../pager.ts'
import { safeBlock } from '../../safe.ts'
import { placeArg, placeOf } from './place.ts'

export const show = command({
  summary: 'Print a file of the repository',
  about: ['On a terminal it is paged. A file that is no text is in --json, as base64.'],
  scope: 'project',
  args: { place: placeArg },
  flags: {},
  examples: ['svc file show src/main.ts', 'svc file show greeting:page.html'],
  async run(ctx, { args }) {
    const { api, projectId } = await ctx.project()
    const file = await reply(
      api.GET('/v1/projects/{projectId}/file', { params: { path: { projectId }, query: placeOf(args.place) } }),
    )
    const { out } = ctx
    if (out.json) return out.document(file)
    if (file.encoding !== 'utf-8')
      throw new Refusal('not_available', `${file.path} is no text (${file.size} bytes)`, {
        hint: '--json has it as base64.',
      })
    if (out.terminal) await page(ctx, safeBlock(file.content))
    else out.raw(file.content)
    if (file.truncated) out.warn('The file is larger than 1 MiB and ends early.')
  },
})
