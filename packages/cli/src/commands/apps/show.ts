import { command } from '../../arguments/command.ts'
import { openPage, projectPage, webFlag } from '../../browser/dashboard.ts'
import { dim } from '../../terminal/output.ts'
import { appArg, causeOf, shortCommit, sourceOf, statePiece } from './labels.ts'

export const show = command({
  summary: 'Show one app with its deploys',
  scope: 'project',
  args: { app: appArg },
  flags: { web: webFlag },
  examples: ['svc apps show site', 'svc apps show site --json'],
  async run(ctx, { args, flags }) {
    if (flags.web) return openPage(ctx, projectPage(await ctx.project.id(), 'apps'))
    const path = { slug: args.app }
    const app = await ctx.project.get('/apps/{slug}', { path })
    const { out } = ctx
    if (out.json) return out.document(app)
    out.fields([
      ['slug', app.slug],
      ['state', statePiece(app.state)],
      ['why', app.reason],
      ['url', app.url],
      ['runs', sourceOf(app)],
      ['build', app.build],
      ['port', String(app.port)],
      ['secrets', app.secrets.length === 0 ? null : app.secrets.join(', ')],
    ])
    out.section(app.deploys, [
      { title: 'DEPLOY', of: (deploy) => `#${deploy.number}` },
      { title: 'STATE', of: (deploy) => statePiece(deploy.status) },
      { title: 'COMMIT', of: (deploy) => shortCommit(deploy.commit_sha) },
      { title: 'HASH', of: (deploy) => dim(deploy.hash.slice(0, 12)) },
      { title: 'BY', of: causeOf },
      { title: 'WHEN', of: (deploy) => out.time(deploy.created_at) },
      { title: 'WHY', of: (deploy) => deploy.error ?? '', shrink: true },
    ])
  },
})
