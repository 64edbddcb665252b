import { confirm } from '../../terminal/ask.ts'
import { changeConfig } from '../../config/config-file.ts'
import { command } from '../../arguments/command.ts'
import { Refusal } from '../../errors.ts'
import { activeHostName, builtInNames, defaultHost, findHost, knownHosts } from '../../config/hosts.ts'
import { bold } from '../../terminal/output.ts'

export const rm = command({
  summary: 'Remove an added host and its token',
  scope: 'nothing',
  args: { name: { summary: 'Name of the host', names: 'host' } },
  flags: { yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc hosts rm work', 'svc hosts rm work --yes'],
  async run(ctx, { args, flags }) {
    const config = await ctx.config()
    const host = findHost(knownHosts(config, ctx.io.env), args.name)
    const added = Object.keys(config.hosts)
    if (!added.includes(args.name))
      throw new Refusal('unknown_host', `${args.name} is built in and can't be removed`, {
        next: [`svc logout --host ${args.name}`, 'svc hosts ls'],
      })
    const active = activeHostName(config) === args.name
    if (active || added.length === 1)
      await confirm(ctx, {
        question: `${args.name} is ${active ? 'the active host' : 'the last host you added'}. Remove it?`,
        yes: flags.yes,
        corrected: `svc hosts rm ${args.name} --yes`,
      })
    await changeConfig(ctx.configPath(), (now) => {
      delete now.hosts[args.name]
      if (now.active_host === args.name && !builtInNames.some((name) => name === args.name)) now.active_host = null
      const shared = knownHosts(now, ctx.io.env).some((other) => other.origin === host.origin)
      if (host.origin !== null && !shared) delete now.tokens[host.origin]
    })
    ctx.out.done({ name: args.name, removed: true }, 'Removed ', bold(args.name))
    if (active) ctx.out.note(`The active host is ${defaultHost} again.`)
  },
})
