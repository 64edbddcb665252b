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
    async run({ out, project, next }, { args }) {
      const { change_request: cr, merged } = await project.post(`/triggers/{slug}/${verb}`, {
        path: { slug: args.slug },
        once: true,
      })
      if (out.json) return out.document({ change_request: cr, merged })
      const state = `${verb}d`
      if (cr === null) return out.line(green('✓ '), `${args.slug} is already ${state}`)
      if (merged) return out.line(green('✓ '), bold(args.slug), ` is ${state} by #${cr.number}`)
      out.line(green('✓ '), 'Opened ', bold(`#${cr.number}`), `: ${args.slug} is ${state} once a user merges it`)
      out.note(`The user merges it with ${next(`svc cr merge ${cr.number}`)}`)
    },
  })

export const enable = switching('enable', 'Set enabled = true in svc.toml')
export const disable = switching('disable', 'Set enabled = false in svc.toml')
