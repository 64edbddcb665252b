import { connect } from '../../api.ts'
import { command } from '../../arguments/command.ts'
import { changeConfig } from '../../config/config-file.ts'
import {
  activeHostName,
  builtInNames,
  chooseHost,
  defaultHost,
  findHost,
  isUnencrypted,
  knownHosts,
  parseHostUrl,
  refuseHostName,
} from '../../config/hosts.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { confirm, pick } from '../../terminal/ask.ts'
import { bold, dim, green, red, yellow } from '../../terminal/output.ts'

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

/** Long enough for a distant server, short enough for one that is down. */
const answerMs = 5000

export const info = command({
  summary: 'Show a host: its URL, whether it responds, whether you are signed in',
  scope: 'nothing',
  args: { name: { summary: 'Name of the host (default: the active host)', names: 'host', optional: true } },
  examples: ['svc hosts info', 'svc hosts info work --json'],
  async run(ctx, { args }) {
    const config = await ctx.config()
    const active = activeHostName(config)
    const host = findHost(knownHosts(config, ctx.io.env), args.name ?? active)
    // Send no token: this only checks whether a server answers.
    const ready =
      host.base === null
        ? null
        : await connect(ctx.io, { name: host.name, base: host.base }, null)
            .get('/v1/ready', { signal: AbortSignal.timeout(answerMs) })
            .catch(() => null)
    const found = {
      name: host.name,
      url: host.base,
      active: host.name === active,
      signed_in: host.origin !== null && Object.hasOwn(config.tokens, host.origin),
      built_in: host.builtIn,
      server: ready,
    }
    const { out } = ctx
    if (out.json) return out.document(found)
    out.line(bold(found.name), found.active ? ' (active)' : '')
    out.fields([
      ['address', found.url ?? 'not part of this build'],
      ['token', found.signed_in ? 'signed in' : yellow('none: svc login')],
      ['server', ready === null ? red('does not answer') : green(`ready, version ${ready.version}`)],
      [
        'sandboxes',
        ready === null
          ? null
          : ready.sandbox.ready
            ? ready.sandbox.driver
            : yellow(ready.sandbox.problem ?? 'not ready'),
      ],
      ['to fix', ready?.sandbox.install ?? null],
      ['model', ready?.model ?? null],
    ])
  },
})

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
