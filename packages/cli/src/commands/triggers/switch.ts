import { reply } from '../../api.ts'
import { command } from '../../arguments/command.ts'
import { bold, green } from '../../terminal/output.ts'
import { slugArg } from './labels.ts'

const about = [
  'The service edits svc.toml in a change request. It merges at once for a user, and waits for a user if an agent requested it.',
] as const

const switching = (verb: 'enable' | 'disable', summary: string) =>
  command({
    summary,
    about,
    scope: 'project',
    args: { slug: slugArg },
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
      if (cr === null) return out.line(green('✓ '), `${args.slug} is already ${state}`)
      if (merged) return out.line(green('✓ '), bold(args.slug), ` is ${state} by #${cr.number}`)
      out.line(green('✓ '), 'Opened ', bold(`#${cr.number}`), `: ${args.slug} is ${state} once a user merges it`)
      out.note(`The user merges it with ${ctx.next(`svc cr merge ${cr.number}`)}`)
    },
  })

export const enable = switching('enable', 'Set enabled = true in svc.toml')
export const disable = switching('disable', 'Set enabled = false in svc.toml')
