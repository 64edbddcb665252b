import { changeConfig } from '../config-file.ts'
import { command } from '../command.ts'
import { chooseHost } from '../hosts.ts'
import { bold, green } from '../output.ts'

export const logout = command({
  summary: 'Forget the token of the active or named host',
  about: ['The token itself stays valid until it is revoked.'],
  scope: 'host',
  args: {},
  flags: {},
  examples: ['svc logout', 'svc logout --host work'],
  async run(ctx) {
    const host = chooseHost({ flag: ctx.globals.host, env: ctx.io.env, link: null, config: await ctx.config() })
    let removed = false
    await changeConfig(ctx.configPath(), (config) => {
      removed = Object.hasOwn(config.tokens, host.origin)
      delete config.tokens[host.origin]
    })
    const { out } = ctx
    if (out.json) return out.document({ host: host.name, url: host.base, removed })
    if (removed) out.line(green('✓ '), 'Signed out of ', bold(host.name))
    else out.note(`There was no token for ${host.name}.`)
    if (ctx.io.env.SVC_CLI_TOKEN || ctx.io.env.SVC_EXECUTOR_TOKEN)
      out.warn('SVC_CLI_TOKEN or SVC_EXECUTOR_TOKEN is set and is used as before.')
  },
})
