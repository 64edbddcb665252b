import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import { bold, green } from '../../output.ts'
import { slugArg } from './words.ts'

const about = [
  'The edit of svc.toml is a change request that the service opens. Of a user it is merged at once; of an agent it waits for a user.',
] as const

const switching = (verb: 'enable' | 'disable', summary: string) =>
  command({
    summary,
    about,
    scope: 'project',
    args: { slug: slugArg },
    flags: {},
    examples: [`svc triggers ${verb} nightly`, `svc triggers ${verb} nightly --json`],
    async run(ctx, { args }) {
      const { api, projectId } = await ctx.project()
      const params = { path: { projectId, slug: args.slug }, header: { 'Idempotency-Key': ctx.io.newId() } }
      const { change_request: cr, merged } = await reply(
        verb === 'enable'
          ? api.POST('/v1/projects/{projectId}/triggers/{slug}/enable', { params })
          : api.POST('/v1/projects/{projectId}/triggers/{slug}/disable', { params }),
      )
      const { out } = ctx
      if (out.json) return out.document({ change_request: cr, merged })
      const state = `${verb}d`
      if (cr === null) return out.line(green('✓ '), `${args.slug} is ${state} already`)
      if (merged) return out.line(green('✓ '), bold(args.slug), ` is ${state} by #${cr.number}`)
      out.line(green('✓ '), 'Opened ', bold(`#${cr.number}`), `: ${args.slug} is ${state} once a user merges it`)
      out.note(`The user merges it with ${ctx.next(`svc cr merge ${cr.number}`)}`)
    },
  })

export const enable = switching('enable', 'Set enabled = true in svc.toml')
export const disable = switching('disable', 'Set enabled = false in svc.toml')
