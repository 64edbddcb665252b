import { reply } from '../../api.ts'
import { command } from '../../arguments/command.ts'
import { bold, green } from '../../terminal/output.ts'
import { resolveSessionId } from './find.ts'
import { sessionArg, shortId } from './labels.ts'

export const rename = command({
  summary: 'Rename a session',
  scope: 'project',
  args: { id: sessionArg, name: { summary: 'New name' } },
  examples: ['svc sessions rename 8f3a1c20 "Parser tests"', 'svc sessions rename 8f3a1c20 spike --json'],
  async run(ctx, { args }) {
    const { api, projectId } = await ctx.project()
    const path = { projectId, sessionId: await resolveSessionId(api, projectId, args.id) }
    const session = await reply(
      api.PATCH('/v1/projects/{projectId}/sessions/{sessionId}', { params: { path }, body: { name: args.name } }),
    )
    const { out } = ctx
    if (out.json) return out.document(session)
    out.line(green('✓ '), 'Renamed to ', bold(session.name), `  ${shortId(session.session_id, out.terminal)}`)
  },
})
