import { connect } from '../../api.ts'
import { changeConfig } from '../../config/config-file.ts'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { type ChosenHost, chooseHost } from '../../config/hosts.ts'
import { bold, green } from '../../terminal/output.ts'

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
