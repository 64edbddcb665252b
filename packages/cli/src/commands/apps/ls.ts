import { command } from '../../arguments/command.ts'
import { dim } from '../../terminal/output.ts'
import { warnOfErrors } from '../triggers/labels.ts'
import { shortCommit, statePiece } from './labels.ts'

export const ls = command({
  summary: 'List the apps of svc.toml on the default branch',
  scope: 'project',
  examples: ['svc apps ls', 'svc apps ls --json'],
  async run({ out, project }) {
    const found = await project.get('/apps')
    out.list(found, found.apps, 'No apps yet. Define them as [[apps]] in svc.toml.', [
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
