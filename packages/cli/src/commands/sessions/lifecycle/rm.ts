import { confirm } from '../../../terminal/ask.ts'
import { reply } from '../../../api.ts'
import { command } from '../../../arguments/command.ts'
import { bold, green } from '../../../terminal/output.ts'
import { getSession, resolveSessionId } from '../find.ts'
import { sessionArg, shortId, unfinishedLabel } from '../labels.ts'

export const rm = command({
  summary: 'Stop and delete a session; its branch and its change requests stay',
  scope: 'project',
  args: { id: sessionArg },
  flags: { yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc sessions rm 8f3a1c20', 'svc sessions rm 8f3a1c20 --yes'],
  async run(ctx, { args, flags }) {
    const { api, projectId } = await ctx.project()
    const sessionId = await resolveSessionId(api, projectId, args.id)
    const path = { projectId, sessionId }
    const session = await getSession(api, projectId, sessionId)
    const wip = await reply(api.GET('/v1/projects/{projectId}/sessions/{sessionId}/wip', { params: { path } }))
    const lost =
      wip.saved_at === null ? 'Unpushed work will be lost.' : `${unfinishedLabel(wip)} of unpushed work will be lost.`
    await confirm(ctx, {
      question: `Delete the session ${session.name} (${shortId(sessionId, true)})? ${lost}`,
      yes: flags.yes,
      corrected: `svc sessions rm ${sessionId} --yes`,
    })
    await reply(api.DELETE('/v1/projects/{projectId}/sessions/{sessionId}', { params: { path } }))
    if (ctx.out.json) return ctx.out.document({ session_id: sessionId, removed: true })
    ctx.out.line(green('✓ '), 'Deleted ', bold(session.name))
    ctx.out.note(`The branch ${session.branch_name} stays.`)
  },
})
