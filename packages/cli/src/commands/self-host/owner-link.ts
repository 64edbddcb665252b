import { command } from '../../command.ts'
import { askOwnerLink } from '../../self-host/ask-owner-link.ts'

export const ownerLink = command({
  summary: 'Make a one-time link that signs its opener in to the dashboard, on the machine of the server',
  about: [
    'It asks the running server by a socket in its data folder, which only the user who runs the server can open; no token is used. The link signs in the first owner; --email chooses another user, such as one who forgot their password.',
    'The data folder is that of svc self-host start, or SVC_DATA_DIR as the server has it.',
  ],
  scope: 'nothing',
  args: {},
  flags: { email: { kind: 'text', summary: 'Sign in the user of this address instead', value: 'address' } },
  examples: ['svc self-host owner-link', 'SVC_DATA_DIR=/srv/svc svc self-host owner-link --json'],
  async run(ctx, { flags }) {
    const link = await askOwnerLink(ctx, flags.email ?? null)
    if (ctx.out.json) return ctx.out.document(link)
    ctx.out.line(link.url)
    ctx.out.note(
      `Works once, until ${link.expires_at}. Whoever opens it is signed in as ${flags.email ?? 'the first owner'}.`,
    )
  },
})
