import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import { bold, green } from '../../output.ts'
import { resolveSessionId } from './find.ts'
import { sessionArg, shortId } from './words.ts'

export const stop = command({
  summary: 'Stop a session; its branch stays',
  scope: 'project',
  args: { id: sessionArg },
  flags: {},
  examples: ['svc sessions stop 8f3a1c20', 'svc sessions stop 8f3a1c20 --json'],
  async run(ctx, { args }) {
    const { api, projectId } = await ctx.project()
    const path = { projectId, sessionId: await resolveSessionId(api, projectId, args.id) }
    const session = await reply(api.POST('/v1/projects/{projectId}/sessions/{sessionId}/stop', { params: { path } }))
    const { out } = ctx
    if (out.json) return out.document(session)
    const id = shortId(session.session_id, out.terminal)
    out.line(green('✓ '), 'Stopped ', bold(session.name), `  ${id}`)
    out.note(`${ctx.next(`svc sessions restart ${id}`)} starts it again from its branch.`)
  },
})
