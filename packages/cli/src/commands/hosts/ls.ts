import { command } from '../../arguments/command.ts'
import { activeHostName, knownHosts } from '../../config/hosts.ts'
import { dim, green } from '../../terminal/output.ts'

export const ls = command({
  summary: 'List the known hosts and mark the active one',
  scope: 'nothing',
  examples: ['svc hosts ls', 'svc hosts ls --json'],
  async run(ctx) {
    const config = await ctx.config()
    const active = activeHostName(config)
    const rows = knownHosts(config, ctx.io.env).map((host) => ({
      name: host.name,
      url: host.base,
      active: host.name === active,
      signed_in: host.origin !== null && Object.hasOwn(config.tokens, host.origin),
      built_in: host.builtIn,
    }))
    const { out } = ctx
    if (out.json) return out.document({ hosts: rows })
    out.table(rows, [
      { title: '', of: (host) => (host.active ? green('*') : '') },
      { title: 'NAME', of: (host) => host.name },
      { title: 'ADDRESS', of: (host) => host.url ?? dim('not part of this build'), shrink: true },
      { title: 'TOKEN', of: (host) => (host.signed_in ? 'signed in' : dim('-')) },
    ])
  },
})
