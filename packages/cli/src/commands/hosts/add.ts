import { changeConfig } from '../../config/config-file.ts'
import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { chooseHost, isUnencrypted, parseHostUrl, refuseHostName } from '../../config/hosts.ts'
import { bold } from '../../terminal/output.ts'

export const add = command({
  summary: 'Add a host, or change its URL',
  scope: 'nothing',
  args: { name: { summary: 'Name of the host' } },
  flags: {
    url: { kind: 'text', summary: 'URL of the host, with or without /v1', value: 'url', required: true },
    use: { kind: 'switch', summary: 'Make it the active host' },
    login: { kind: 'switch', summary: 'Also sign in to it' },
    token: { kind: 'text', summary: 'With --login: the token; - reads it from stdin', value: 'pat' },
  },
  examples: [
    'svc hosts add work --url https://svc.example.com',
    'svc hosts add work --url https://svc.example.com --login',
  ],
  async run(ctx, { args, flags }) {
    const refused = refuseHostName(args.name)
    if (refused !== null) throw new UsageError(`${refused}: ${args.name}`)
    if (flags.token !== undefined && !flags.login) throw new UsageError('--token requires --login')
    const url = parseHostUrl(flags.url)
    await changeConfig(ctx.configPath(), (config) => {
      config.hosts[args.name] = { url }
      if (flags.use) config.active_host = args.name
    })
    const { out } = ctx
    if (isUnencrypted(url)) out.warn(`${url} is not encrypted.`)
    if (flags.login) {
      const { signIn } = await import('../sign-in/login.ts')
      const { readConfig } = await import('../../config/config-file.ts')
      const config = await readConfig(ctx.configPath())
      return signIn(ctx, chooseHost({ flag: args.name, env: ctx.io.env, link: null, config }), flags.token)
    }
    out.done({ name: args.name, url }, 'Added ', bold(args.name), ` · ${url}`)
    out.note(flags.use ? 'Next: svc login' : `Next: svc login --host ${args.name} · svc hosts use ${args.name}`)
  },
})
