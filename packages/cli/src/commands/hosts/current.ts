import { command } from '../../arguments/command.ts'
import { activeHostName, findHost, knownHosts } from '../../config/hosts.ts'

export const current = command({
  summary: 'Print the name of the active host',
  scope: 'nothing',
  examples: ['svc hosts current', 'svc hosts current --json'],
  async run(ctx) {
    const config = await ctx.config()
    const name = activeHostName(config)
    if (ctx.out.json) ctx.out.document({ name, url: findHost(knownHosts(config, ctx.io.env), name).base })
    else ctx.out.line(name)
  },
})
