import type { App, AppDeploy } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import { appArg, shortCommit } from './apps.ts'
import { Refusal, UsageError } from '../../errors.ts'
import type { Context } from '../../context.ts'
import { bold, green } from '../../terminal/output.ts'
import { duration } from '../../terminal/time.ts'

export const deploy = command({
  summary: 'Deploy an app from the default branch now, even if it is stopped',
  about: [
    'Changes on the default branch deploy automatically. The running version keeps serving until the new one responds.',
  ],
  scope: 'project',
  args: { app: appArg },
  flags: { wait: { kind: 'switch', summary: 'Wait until it serves; fail with the reason if it does not' } },
  examples: ['svc apps deploy site', 'svc apps deploy site --wait'],
  async run(ctx, { args, flags }) {
    const asked = await ctx.project.post('/apps/{slug}/deploy', { path: { slug: args.app }, once: true })
    await recordDeployEvent(ctx, asked, flags.wait === true)
  },
})

export const rollback = command({
  summary: 'Deploy the commit of an earlier deploy',
  about: [
    'Without --to, goes back to the previous deploy that served; repeat to go further back. The next change on the default branch deploys as usual.',
  ],
  scope: 'project',
  args: { app: appArg },
  flags: {
    to: { kind: 'text', summary: 'Number or id of an earlier deploy', value: 'deploy' },
    wait: { kind: 'switch', summary: 'Wait until it serves; fail with the reason if it does not' },
  },
  examples: ['svc apps rollback site', 'svc apps rollback site --to 3 --wait'],
  async run(ctx, { args, flags }) {
    const to = deployOf(flags.to)
    const asked = await ctx.project.post('/apps/{slug}/rollback', {
      path: { slug: args.app },
      once: true,
      body: to === undefined ? {} : { deploy: to },
    })
    await recordDeployEvent(ctx, asked, flags.wait === true)
  },
})

function deployOf(text: string | undefined): number | string | undefined {
  if (text === undefined) return undefined
  const [, number] = /^#?([1-9]\d{0,8})$/.exec(text) ?? []
  if (number !== undefined) return Number(number)
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) return text
  throw new UsageError(`${JSON.stringify(text)} is not the number or id of a deploy`, {
    hint: '`svc apps show <app>` lists the deploys.',
  })
}

const lookEveryMs = 500
/** A build may take a quarter of an hour, and may wait for others. */
const waitMaxMs = 30 * 60_000

interface Asked {
  app: App
  deploy: AppDeploy
}

/** Reports the requested deploy. With `wait`, resolves when it serves and throws when it fails. */
export async function recordDeployEvent(ctx: Context, asked: Asked, wait: boolean) {
  const { out } = ctx
  const { slug } = asked.app
  if (!wait) {
    if (out.json) return out.document(asked)
    const { number, commit_sha } = asked.deploy
    out.line(green('✓ '), 'Deploy ', bold(`#${number}`), ` of ${slug} at ${shortCommit(commit_sha)} is queued`)
    return out.note(`Follow it: ${ctx.next(`svc apps logs ${slug} --follow`)}`)
  }
  const app = await untilOver(ctx, asked)
  const deploy = app.deploys.find(({ deploy_id }) => deploy_id === asked.deploy.deploy_id) ?? asked.deploy
  out.done({ app, deploy }, 'Deploy ', bold(`#${deploy.number}`), ` of ${slug} serves at ${app.url}`)
}

async function untilOver(ctx: Context, { app, deploy }: Asked): Promise<App> {
  const { io, out, project } = ctx
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
