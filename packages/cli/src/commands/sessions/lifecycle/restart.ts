import { reply } from '../../../api.ts'
import { command } from '../../../arguments/command.ts'
import { UsageError } from '../../../errors.ts'
import { bold, green } from '../../../terminal/output.ts'
import { watchStart } from '../../../conversation/start-phases.ts'
import { resolveSessionId } from '../find.ts'
import { sessionArg, shortId } from '../labels.ts'

export const restart = command({
  summary: 'Restart a session from its branch in a new sandbox',
  scope: 'project',
  args: { id: sessionArg },
  flags: {
    agent: { kind: 'text', summary: 'Agent to use from now on (default: the same)', value: 'name' },
    wait: { kind: 'switch', summary: 'Wait until it runs (default on a terminal)' },
    'no-wait': { kind: 'switch', summary: 'Do not wait' },
  },
  examples: ['svc sessions restart 8f3a1c20', 'svc sessions restart 8f3a1c20 --agent plan --wait'],
  async run(ctx, { args, flags }) {
    if (flags.wait && flags['no-wait']) throw new UsageError("--wait and --no-wait can't be combined")
    const { api, projectId } = await ctx.project()
    const path = { projectId, sessionId: await resolveSessionId(api, projectId, args.id) }
    let session = await reply(
      api.POST('/v1/projects/{projectId}/sessions/{sessionId}/restart', {
        params: { path },
        ...(flags.agent === undefined ? {} : { body: { agent: flags.agent } }),
      }),
    )
    const { out } = ctx
    if (flags.wait || (out.terminal && !flags['no-wait'])) session = await watchStart(ctx, api, session)
    if (out.json) return out.document(session)
    out.line(green('✓ '), 'Restarted ', bold(session.name), `  ${shortId(session.session_id, out.terminal)}`)
  },
})
