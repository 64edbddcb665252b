/** Follows a deploy to its end, and says on stderr where it is. */
import type { ApiClient } from '@svc/contract/api'
import { reply } from '../../api.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { bold, green } from '../../output.ts'
import { duration } from '../../time.ts'
import type { App, AppDeploy } from '../../wire.ts'
import { shortCommit } from './words.ts'

const lookEveryMs = 500
/** A build may take a quarter of an hour, and may have to wait for others. */
const waitMaxMs = 30 * 60_000

interface Asked {
  app: App
  deploy: AppDeploy
}

/** Says what was asked for; with `wait`, ends when it serves and throws when it will not. */
export async function tellDeploy(ctx: Context, api: ApiClient, projectId: string, asked: Asked, wait: boolean) {
  const { out } = ctx
  const { slug } = asked.app
  if (!wait) {
    if (out.json) return out.document(asked)
    const { number, commit_sha } = asked.deploy
    out.line(green('✓ '), 'Deploy ', bold(`#${number}`), ` of ${slug} at ${shortCommit(commit_sha)} is on its way`)
    return out.note(`Follow it: ${ctx.next(`svc apps logs ${slug} --follow`)}`)
  }
  const app = await untilOver(ctx, api, projectId, asked)
  const deploy = app.deploys.find(({ deploy_id }) => deploy_id === asked.deploy.deploy_id) ?? asked.deploy
  if (out.json) return out.document({ app, deploy })
  out.line(green('✓ '), 'Deploy ', bold(`#${deploy.number}`), ` of ${slug} serves at ${app.url}`)
}

async function untilOver(ctx: Context, api: ApiClient, projectId: string, { app, deploy }: Asked): Promise<App> {
  const { io, out } = ctx
  const began = io.now()
  const path = { projectId, slug: app.slug }
  while (io.now() - began < waitMaxMs) {
    const found = await reply(api.GET('/v1/projects/{projectId}/apps/{slug}', { params: { path } }))
    const now = found.deploys.find(({ deploy_id }) => deploy_id === deploy.deploy_id)
    if (now?.status === 'running' || now?.status === 'restarting') return found
    if (now === undefined || now.ended_at !== null)
      throw new Refusal(
        'deploy_failed',
        `Deploy #${deploy.number} ${now?.status ?? 'is gone'}: ${now?.error ?? ''}`.trim(),
        {
          hint: found.live === null ? 'Nothing serves now.' : `Deploy #${found.live.number} goes on serving.`,
          next: [`svc apps logs ${app.slug} --deploy ${deploy.number}`],
        },
      )
    out.passing(`${now.status} ${duration(io.now() - began)}`)
    await io.sleep(lookEveryMs)
  }
  throw new Refusal('timed_out', 'The deploy does not end', { next: [`svc apps show ${app.slug}`] })
}
