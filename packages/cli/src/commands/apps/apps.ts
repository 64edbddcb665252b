import type { App, AppDeploy } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import { openPage, openUrl, projectPage, webFlag } from '../../browser/dashboard.ts'
import { dim, green, type Piece, red, yellow } from '../../terminal/output.ts'
import { warnOfErrors } from '../triggers/labels.ts'

export const appArg = { summary: 'Slug of the app in svc.toml', names: 'app' } as const

const colours: Record<App['state'] | AppDeploy['status'], (text: string) => Piece> = {
  ...{ running: green, restarting: yellow, deploying: yellow, stopped: dim, failed: red, disabled: dim, off: dim },
  ...{ waiting: yellow, queued: yellow, building: yellow, starting: yellow, replaced: dim, cancelled: dim },
}

const statePiece = (state: App['state'] | AppDeploy['status']): Piece => colours[state](state)

export const shortCommit = (sha: string) => sha.slice(0, 12)

function causeOf({ cause, rollback_of }: AppDeploy): string {
  if (cause === 'rollback') return `rollback to #${rollback_of}`
  return cause === 'request' ? 'requested' : 'default branch'
}

const sourceOf = ({ command, static_dir }: App) => command ?? `files of ${static_dir ?? ''}`

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

export const stop = command({
  summary: 'Stop an app until it is deployed again',
  scope: 'project',
  args: { app: appArg },
  examples: ['svc apps stop site', 'svc apps stop site --json'],
  async run({ out, project, next }, { args }) {
    const app = await project.post('/apps/{slug}/stop', { path: { slug: args.app } })
    out.done(app, `Stopped ${app.slug}`)
    out.note(`Start it again: ${next(`svc apps deploy ${app.slug}`)}`)
  },
})

export const open = command({
  summary: 'Open an app in the browser',
  about: [
    'Also prints the URL to stdout. The URL works once: the first browser that opens it stays signed in to this app.',
  ],
  scope: 'project',
  args: { app: appArg },
  examples: ['svc apps open site', 'svc apps open site --json'],
  async run(ctx, { args }) {
    const { url } = await ctx.project.get('/apps/{slug}/open', { path: { slug: args.app } })
    return openUrl(ctx, url)
  },
})
