import { command } from '../../arguments/command.ts'

export const ls = command({
  summary: 'List the models that sessions, agents and triggers can choose',
  scope: 'host',
  examples: ['svc models ls', 'svc sessions new --model <name> --prompt "Fix the failing test"'],
  async run(ctx) {
    const { out } = ctx
    const found = await (await ctx.api()).get('/v1/models')
    if (out.json) return out.document(found)
    out.table(found.models, [
      { title: 'MODEL', of: (model) => model.id, shrink: true },
      { title: 'DEFAULT', of: (model) => (model.default ? 'yes' : '') },
    ])
    if (found.models.length === 0) out.note(`An owner of the server can set one: ${ctx.next('svc models set --help')}`)
  },
})
