import { connect } from '../../api.ts'
import { command } from '../../arguments/command.ts'
import { openPage } from '../../browser/dashboard.ts'
import { changeConfig } from '../../config/config-file.ts'
import { chooseHost, type ChosenHost } from '../../config/hosts.ts'
import type { Context } from '../../context.ts'
import { bold, green } from '../../terminal/output.ts'
import { chosenAccountId } from '../members/account.ts'

export const whoami = command({
  summary: 'Show the user and account of the token in use',
  scope: 'host',
  examples: ['svc whoami', 'svc whoami --host work --json'],
  async run(ctx) {
    const who = await ctx.api.get('/v1/token')
    const chosen = who.kind === 'user' ? await chosenAccountId(ctx) : undefined
    if (chosen !== undefined) {
      const { accounts } = await ctx.api.get('/v1/accounts')
      who.account = accounts.find(({ account_id }) => account_id === chosen) ?? who.account
    }
    const host = await ctx.host()
    const { out } = ctx
    if (out.json) return out.document({ host: host.name, url: host.base, ...who })
    out.line(bold(who.user.name), who.user.email === null ? '' : ` <${who.user.email}>`)
    out.fields([
      ['account', who.account.name],
      ['host', `${host.name} · ${host.base}`],
      [
        'token',
        who.kind === 'user' ? 'user token: every project of your accounts' : `project token: ${who.project_id} only`,
      ],
      ['session', who.session_id],
      ['expires', who.expires_at],
    ])
  },
})

export const password = command({
  summary: 'Show whether you have a dashboard password, and open the page that sets it',
  about: [
    'Set the password on the Profile page: a token does not prove your identity. svc self-host owner-link signs in without a password.',
  ],
  scope: 'host',
  flags: { web: { kind: 'switch', summary: 'Open the page that sets it' } },
  examples: ['svc password', 'svc password --web'],
  async run(ctx, { flags }) {
    if (flags.web) return openPage(ctx, '/account/profile')
    const found = await ctx.api.get('/v1/accounts/password')
    if (ctx.out.json) return ctx.out.document(found)
    ctx.out.fields([
      ['email', found.email ?? 'none'],
      ['password', found.is_set ? 'set' : 'not set'],
    ])
    ctx.out.note('svc password --web opens the page that sets it.')
  },
})

export const logout = command({
  summary: 'Remove the stored token of the active or named host',
  about: [
    'The token stays valid, because it may be in use elsewhere; --revoke revokes it. Never revokes the token in SVC_CLI_TOKEN.',
  ],
  scope: 'host',
  flags: { revoke: { kind: 'switch', summary: 'Also revoke the user token' } },
  examples: ['svc logout', 'svc logout --host work --revoke'],
  async run(ctx, { flags }) {
    const host = chooseHost({ flag: ctx.globals.host, env: ctx.io.env, link: null, config: await ctx.config() })
    let token: string | null = null
    await changeConfig(ctx.configPath(), (config) => {
      token = Object.hasOwn(config.tokens, host.origin) ? config.tokens[host.origin]!.token : null
      delete config.tokens[host.origin]
    })
    const removed = token !== null
    const revoked = flags.revoke && token !== null && (await revoke(ctx, host, token))
    const { out } = ctx
    if (out.json) return out.document({ host: host.name, url: host.base, removed, revoked })
    if (removed) out.line(green('✓ '), 'Signed out of ', bold(host.name), revoked ? '; the token is revoked' : '')
    else out.note(`No token is stored for ${host.name}.`)
    if (ctx.io.env.SVC_CLI_TOKEN || ctx.io.env.SVC_EXECUTOR_TOKEN)
      out.warn('SVC_CLI_TOKEN or SVC_EXECUTOR_TOKEN is set and still in use.')
  },
})

/** Whether the server revoked the token. The local copy is already gone, so a failure is only reported. */
async function revoke({ io, out }: Context, host: ChosenHost, token: string): Promise<boolean> {
  const kept = (why: string) => {
    out.warn(`The stored token was removed but stays valid: ${why}`)
    return false
  }
  if ([io.env.SVC_CLI_TOKEN, io.env.SVC_EXECUTOR_TOKEN].includes(token)) return kept('the environment also has it.')
  try {
    const api = connect(io, host, token)
    const who = await api.get('/v1/token')
    if (who.kind !== 'user' || who.token_id === null) return kept('it is not a user token.')
    const path = { tokenId: who.token_id }
    await api.delete('/v1/accounts/tokens/{tokenId}', { path })
    return true
  } catch (error) {
    return kept((error as Error).message)
  }
}
