import { reply } from '../../api.ts'
import { confirm } from '../../ask.ts'
import { command } from '../../command.ts'
import { bold, green } from '../../output.ts'
import { quote } from '../../shell.ts'
import { findToken, projectFlag, projectOf, whoAmI } from './find.ts'

export const revoke = command({
  summary: 'End a token; the next request with it fails',
  about: ['Tokens that were created with it end, too. It asks before it ends the token you are using.'],
  scope: 'host',
  args: { token: { summary: 'Its id, the first characters of it, or its name', names: 'token' } },
  flags: { project: projectFlag, yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc tokens revoke 8f3a1c20', 'svc tokens revoke ci --project my-app --json'],
  async run(ctx, { args, flags }) {
    const api = await ctx.api()
    const projectId = await projectOf(api, flags.project)
    const { token_id: tokenId, name } = await findToken(api, projectId, args.token)
    if ((await whoAmI(api)).token_id === tokenId)
      await confirm(ctx, {
        question: `${name} is the token you are using: this client is signed out by it. Revoke it?`,
        yes: flags.yes,
        corrected: `svc tokens revoke ${quote(args.token)} --yes`,
      })
    await reply(
      projectId === null
        ? api.DELETE('/v1/accounts/tokens/{tokenId}', { params: { path: { tokenId } } })
        : api.DELETE('/v1/projects/{projectId}/cli-token/{tokenId}', { params: { path: { projectId, tokenId } } }),
    )
    if (ctx.out.json) return ctx.out.document({ token_id: tokenId, revoked: true })
    ctx.out.line(green('✓ '), 'Revoked ', bold(name), ' and every token that was created with it')
  },
})
