import { confirm } from '../../terminal/ask.ts'
import { command } from '../../arguments/command.ts'
import { bold } from '../../terminal/output.ts'
import { quote } from '../../arguments/shell-word.ts'
import { findToken, projectFlag, projectOf } from './find.ts'

export const revoke = command({
  summary: 'Revoke a token; the next request with it fails',
  about: ['Also revokes tokens that were created with it. Asks before revoking the token in use.'],
  scope: 'host',
  args: { token: { summary: 'Id of the token, its first characters, or its name', names: 'token' } },
  flags: { project: projectFlag, yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc tokens revoke 8f3a1c20', 'svc tokens revoke ci --project my-app --json'],
  async run(ctx, { args, flags }) {
    const projectId = await projectOf(ctx.api, flags.project)
    const { token_id: tokenId, name } = await findToken(ctx.api, projectId, args.token)
    if ((await ctx.api.get('/v1/token')).token_id === tokenId)
      await confirm(ctx, {
        question: `${name} is the token in use: revoking it signs out this client. Revoke it?`,
        yes: flags.yes,
        corrected: `svc tokens revoke ${quote(args.token)} --yes`,
      })
    if (projectId === null) await ctx.api.delete('/v1/accounts/tokens/{tokenId}', { path: { tokenId } })
    else await ctx.api.project(projectId).delete('/cli-token/{tokenId}', { path: { tokenId } })
    ctx.out.done(
      { token_id: tokenId, revoked: true },
      'Revoked ',
      bold(name),
      ' and every token that was created with it',
    )
  },
})
