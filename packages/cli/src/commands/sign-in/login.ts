import { isWellFormedToken } from '@svc/contract/schemas/token-format'
import { connect } from '../../api.ts'
import { changeConfig } from '../../config/config-file.ts'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import {
  activeHostName,
  type ChosenHost,
  chooseHost,
  isUnencrypted,
  knownHosts,
  parseHostUrl,
  refuseHostName,
} from '../../config/hosts.ts'
import { bold, green } from '../../terminal/output.ts'
import { readStdin, valueOrStdin } from '../../terminal/read-stdin.ts'

export const login = command({
  summary: 'Sign in to a host, in the browser, with a token, or with an owner link',
  about: [
    "Without --token, prints a URL to open: confirm there if the page shows the same code as this terminal. SVC_DASHBOARD_URL overrides the dashboard's URL.",
    'Stores the token for this host in ~/.config/svc/config.json (SVC_CONFIG_FILE), readable only by you. --token - reads it from stdin, which keeps it out of your shell history.',
    'Where no browser reaches the server, --link takes an owner link instead and creates a token with it.',
  ],
  scope: 'host',
  flags: {
    token: { kind: 'text', summary: 'A user token (svc_pat_…); - reads it from stdin', value: 'pat' },
    link: { kind: 'text', summary: 'An owner link of this server; - reads it from stdin', value: 'url' },
    api: { kind: 'text', summary: 'URL of the server, to add a new host', value: 'url' },
    'no-browser': { kind: 'switch', summary: 'Only print the URL of the page' },
  },
  examples: [
    'svc login',
    'svc login --token -',
    'svc self-host owner-link | svc login --link -',
    'svc login --host work --api https://svc.example.com',
  ],
  async run(ctx, { flags }) {
    if (flags.link !== undefined) {
      if (flags.token !== undefined || flags.api !== undefined)
        throw new UsageError("--link can't be combined with --token or --api")
      const { loginByLink, readLink } = await import('./by-link.ts')
      const { api, code } = readLink(await valueOrStdin(ctx.io, flags.link, 'the link'))
      const host = await hostToSignInTo(ctx, api)
      return signIn(ctx, host, await loginByLink(ctx, host, code))
    }
    const host = await hostToSignInTo(ctx, flags.api)
    await signIn(ctx, host, flags.token, { open: !flags['no-browser'] })
  },
})

/** Ignores the host of a link file: this sends a token, and the file may come from an untrusted repository. */
async function hostToSignInTo(ctx: Context, api: string | undefined): Promise<ChosenHost> {
  const config = await ctx.config()
  const { env } = ctx.io
  if (api === undefined) return chooseHost({ flag: ctx.globals.host, env, link: null, config })
  const base = parseHostUrl(api, '--api')
  const { origin, host } = new URL(base)
  const name =
    ctx.globals.host ?? knownHosts(config, env).find((known) => known.base === base)?.name ?? host.replace(':', '-')
  const refused = refuseHostName(name)
  if (refused !== null) throw new UsageError(`${refused}: ${name}`, { next: [`svc login --host <name> --api ${base}`] })
  return { name, base, origin, source: 'flag' }
}

export async function signIn(
  ctx: Context,
  host: ChosenHost,
  given: string | undefined,
  browser: { open: boolean } = { open: true },
): Promise<void> {
  const token = given === undefined ? await byBrowser(ctx, host, browser) : await byToken(ctx, given)
  if (isUnencrypted(host.base))
    ctx.out.warn(`${host.base} is not encrypted: anyone on the network path can read the token.`)
  const who = await connect(ctx.io, host, token).get('/v1/token')
  const active = await store(ctx, host, token)
  const { out } = ctx
  if (out.json) return out.document({ host: host.name, url: host.base, active, ...who })
  out.line(green('✓ '), 'Signed in to ', bold(host.name), ` as ${who.user.name} (${who.account.name})`)
  if (who.kind === 'project')
    out.warn('This token belongs to one project; commands for other projects will be refused.')
  if (ctx.io.env.SVC_CLI_TOKEN || ctx.io.env.SVC_EXECUTOR_TOKEN)
    out.warn('SVC_CLI_TOKEN or SVC_EXECUTOR_TOKEN is set and takes precedence over the stored token.')
  out.note(
    active ? 'Next: svc projects ls · svc projects create · svc tour (a demo)' : `Next: svc hosts use ${host.name}`,
  )
}

async function byBrowser(ctx: Context, host: ChosenHost, browser: { open: boolean }): Promise<string> {
  const { sayHost } = await import('../../context.ts')
  sayHost(ctx, host)
  const { loginByBrowser } = await import('../../browser/login.ts')
  return loginByBrowser(ctx, host, browser)
}

async function byToken(ctx: Context, given: string): Promise<string> {
  const token = (given === '-' ? await readStdin(ctx.io, 'the token') : given).trim()
  if (isWellFormedToken(token)) return token
  throw new Refusal('bad_token', 'This is not a complete token', {
    hint: 'A token begins with svc_pat_ and has 50 characters; the last six check the others.',
  })
}

/** A new URL is added under its name and becomes active; a named host is only signed in to. Returns whether it is active. */
async function store(ctx: Context, host: ChosenHost, token: string): Promise<boolean> {
  let active = false
  await changeConfig(ctx.configPath(), (config) => {
    const known = knownHosts(config, ctx.io.env).find((other) => other.name === host.name)
    if (host.source === 'flag' && known?.base !== host.base) {
      config.hosts[host.name] = { url: host.base }
      config.active_host = host.name
    }
    config.tokens[host.origin] = { token }
    active = activeHostName(config) === host.name
  })
  return active
}
