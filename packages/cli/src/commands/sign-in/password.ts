import { command } from '../../arguments/command.ts'
import { openPage } from '../../browser/dashboard.ts'

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
      ['e-mail', found.email ?? 'none'],
      ['password', found.is_set ? 'set' : 'not set'],
    ])
    ctx.out.note('svc password --web opens the page that sets it.')
  },
})
