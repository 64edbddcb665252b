import { pick } from '../../terminal/ask.ts'
import { changeConfig } from '../../config/config-file.ts'
import { command } from '../../arguments/command.ts'
import { Refusal } from '../../errors.ts'
import { findHost, knownHosts } from '../../config/hosts.ts'
import { bold, green } from '../../terminal/output.ts'

export const use = command({
  summary: 'Make a host the active one',
  scope: 'nothing',
  args: { name: { summary: 'Name of the host (default on a terminal: a picker)', names: 'host', optional: true } },
  examples: ['svc hosts use selfhost', 'svc hosts use'],
  async run(ctx, { args }) {
    const hosts = knownHosts(await ctx.config(), ctx.io.env)
    const name =
      args.name ??
      (await pick(ctx, {
        question: 'Which host?',
        missing: '<name>',
        corrected: 'svc hosts use <name>',
        choices: hosts
          .filter((host) => host.base !== null)
          .map((host) => ({ value: host.name, label: host.name, hint: host.base! })),
      }))
    const host = findHost(hosts, name)
    if (host.base === null)
      throw new Refusal('host_not_in_build', `The host ${name} is not part of this build`, {
        next: ['svc hosts ls', `svc hosts add ${name} --url <url>`],
      })
    await changeConfig(ctx.configPath(), (config) => {
      config.active_host = name
    })
    if (ctx.out.json) ctx.out.document({ name, url: host.base })
    else ctx.out.line(green('✓ '), 'Using ', bold(name), ` · ${host.base}`)
  },
})
