/** Follows a deploy to its end and reports its progress on stderr. */
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { bold, green } from '../../terminal/output.ts'
import { duration } from '../../terminal/time.ts'
import type { App, AppDeploy } from '../../api-types.ts'
import { shortCommit } from './labels.ts'
import type { ProjectClient } from '../../requests.ts'

const lookEveryMs = 500
/** A build may take a quarter of an hour, and may wait for others. */
const waitMaxMs = 30 * 60_000

interface Asked {
  app: App
  deploy: AppDeploy
}

/** Reports the requested deploy. With `wait`, resolves when it serves and throws when it fails. */
export async function recordDeployEvent(ctx: Context, project: ProjectClient, asked: Asked, wait: boolean) {
  const { out } = ctx
  const { slug } = asked.app
  if (!wait) {
    if (out.json) return out.document(asked)
    const { number, commit_sha } = asked.deploy
    out.line(green('✓ '), 'Deploy ', bold(`#${number}`), ` of ${slug} at ${shortCommit(commit_sha)} is queued`)
    return out.note(`Follow it: ${ctx.next(`svc apps logs ${slug} --follow`)}`)
  }
  const app = await untilOver(ctx, project, asked)
  const deploy = app.deploys.find(({ deploy_id }) => deploy_id === asked.deploy.deploy_id) ?? asked.deploy
  out.done({ app, deploy }, 'Deploy ', bold(`#${deploy.number}`), ` of ${slug} serves at ${app.url}`)
}

async function untilOver(ctx: Context, project: ProjectClient, { app, deploy }: Asked): Promise<App> {
  const { io, out } = ctx
  const began = io.now()
  const path = { slug: app.slug }
  while (io.now() - began < waitMaxMs) {
    const found = await project.get('/apps/{slug}', { path })
    const now = found.deploys.find(({ deploy_id }) => deploy_id === deploy.deploy_id)
    if (now?.status === 'running' || now?.status === 'restarting') return found
    if (now === undefined || now.ended_at !== null)
      throw new Refusal(
        'deploy_failed',
        `Deploy #${deploy.number} ${now?.status ?? 'is gone'}: ${now?.error ?? ''}`.trim(),
        {
          hint: found.live === null ? 'The app is not serving.' : `Deploy #${found.live.number} keeps serving.`,
          next: [`svc apps logs ${app.slug} --deploy ${deploy.number}`],
        },
      )
    out.passing(`${now.status} ${duration(io.now() - began)}`)
    await io.sleep(lookEveryMs)
  }
  throw new Refusal('timed_out', 'Timed out: the deploy is still running', { next: [`svc apps show ${app.slug}`] })
}
