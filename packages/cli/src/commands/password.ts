import { reply } from '../api.ts'
import { command } from '../command.ts'
import { openPage } from '../dashboard.ts'

export const password = command({
  summary: 'Show whether you have a password for the pages, and open the page that sets it',
  about: [
    'A password is set on the page Profile only: a token is no proof that you are the one who asks. svc self-host owner-link signs a browser in that has no password.',
  ],
  scope: 'host',
  args: {},
  flags: { web: { kind: 'switch', summary: 'Open the page that sets it' } },
  examples: ['svc password', 'svc password --web'],
  async run(ctx, { flags }) {
    if (flags.web) return openPage(ctx, '/account/profile')
    const found = await reply((await ctx.api()).GET('/v1/accounts/password'))
    if (ctx.out.json) return ctx.out.document(found)
    ctx.out.fields([
      ['e-mail', found.email ?? 'none'],
      ['password', found.is_set ? 'set' : 'not set'],
    ])
    ctx.out.note('svc password --web opens the page that sets it.')
  },
})
