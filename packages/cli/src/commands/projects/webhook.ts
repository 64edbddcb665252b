import { onlyOnce, reply } from '../../api.ts'
import { command } from '../../command.ts'
import { dim, green } from '../../output.ts'

export const webhook = command({
  summary: 'Show what to enter at the git host, so that pushes are seen at once',
  about: [
    'For owners and admins: an address, and a secret that proves the calls. --rotate makes the secret, the first one or another; the one before is taken no more. Where svc keeps the repository itself nothing has to be entered.',
  ],
  scope: 'project',
  args: {},
  flags: { rotate: { kind: 'switch', summary: 'Make a secret' } },
  examples: ['svc projects webhook', 'svc projects webhook --rotate', 'svc projects webhook --json'],
  async run(ctx, { flags }) {
    const { api, projectId } = await ctx.project()
    const path = { projectId }
    const found = await reply(
      flags.rotate
        ? api.POST('/v1/projects/{projectId}/host-webhook/rotate', { params: { path }, headers: onlyOnce(ctx.io) })
        : api.GET('/v1/projects/{projectId}/host-webhook', { params: { path } }),
    )
    const { out } = ctx
    if (out.json) return out.document(found)
    if (flags.rotate) out.progress(green('✓ '), 'Made a secret. Enter it at the git host: no other is taken now.')
    out.fields([
      ['url', found.url],
      ['secret', found.secret ?? dim('none: nothing is taken')],
      ['last call', found.last_call_at === null ? dim('never') : out.time(found.last_call_at)],
      ['looked like', found.last_sender],
    ])
    if (found.secret === null) out.note(`To make one: ${ctx.next('svc projects webhook --rotate')}`)
  },
})
