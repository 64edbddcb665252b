import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import { dim } from '../../output.ts'
import { warnOfErrors } from '../triggers/words.ts'
import { shortCommit, statePiece } from './words.ts'

export const ls = command({
  summary: 'List the apps of svc.toml on the default branch',
  scope: 'project',
  args: {},
  flags: {},
  examples: ['svc apps ls', 'svc apps ls --json'],
  async run(ctx) {
    const { api, projectId } = await ctx.project()
    const found = await reply(api.GET('/v1/projects/{projectId}/apps', { params: { path: { projectId } } }))
    const { out } = ctx
    if (out.json) return out.document(found)
    if (found.apps.length === 0) out.note('No apps. Add an [[apps]] table to svc.toml in a change request.')
    else
      out.table(found.apps, [
        { title: 'SLUG', of: (app) => app.slug },
        { title: 'STATE', of: (app) => statePiece(app.state) },
        { title: 'COMMIT', of: (app) => (app.live === null ? dim('none') : shortCommit(app.live.commit_sha)) },
        { title: 'SINCE', of: (app) => (app.live?.ready_at == null ? '' : out.time(app.live.ready_at)) },
        { title: 'URL', of: (app) => app.url },
        { title: 'WHY', of: (app) => app.reason ?? '', shrink: true },
      ])
    warnOfErrors(out, found.errors)
  },
})
