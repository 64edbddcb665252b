import { command } from '../../arguments/command.ts'
import { askOwnerLink } from '../../self-host/ask-owner-link.ts'

export const ownerLink = command({
  summary: "Create a one-time sign-in link to the dashboard, on the server's machine",
  about: [
    "Uses a socket in the server's data folder that only the user who runs the server can open; needs no token. The link signs in the first owner; --email chooses another user, such as one who forgot their password.",
    "The data folder is the one of svc self-host start, or the server's SVC_DATA_DIR.",
  ],
  scope: 'nothing',
  flags: { email: { kind: 'text', summary: 'Sign in the user with this address instead', value: 'address' } },
  examples: ['svc self-host owner-link', 'SVC_DATA_DIR=/srv/svc svc self-host owner-link --json'],
  async run(ctx, { flags }) {
    const link = await askOwnerLink(ctx, flags.email ?? null)
    if (ctx.out.json) return ctx.out.document(link)
    ctx.out.line(link.url)
    ctx.out.note(`Works once, until ${link.expires_at}. It signs in as ${flags.email ?? 'the first owner'}.`)
  },
})
