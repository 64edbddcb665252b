import type { AppDeploy, AppLog } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Outage, streamedEvents } from '../../event-stream.ts'
import { dim } from '../../terminal/output.ts'
import { appArg, shortCommit } from './apps.ts'

type Line = AppLog['lines'][number]

export const logs = command({
  summary: 'Print the build and run logs of an app',
  about: [
    'Shows the newest deploy, or the one of --deploy. --follow continues until Ctrl-C and switches to the next deploy. With --json and --follow each event is a line.',
  ],
  scope: 'project',
  args: { app: appArg },
  flags: {
    follow: { kind: 'switch', summary: 'Keep printing new lines' },
    deploy: { kind: 'text', summary: 'Number or id of a deploy', value: 'deploy' },
    lines: {
      kind: 'number',
      summary: 'Number of last lines (default: 500)',
      value: 'count',
      min: 0,
      max: 5000,
      usual: 500,
    },
  },
  examples: ['svc apps logs site', 'svc apps logs site --follow', 'svc apps logs site --deploy 3 --lines 50'],
  async run(ctx, { args, flags }) {
    const where = {
      path: { slug: args.app },
      query: { lines: flags.lines, deploy: flags.deploy },
    }
    if (flags.follow) return follow(ctx, where)
    const found = await ctx.project.get('/apps/{slug}/logs', where)
    const { out } = ctx
    if (out.json) return out.document(found)
    if (found.deploy === null) return out.note('No deploys yet.')
    sayDeploy(ctx, found.deploy)
    if (found.truncated) out.note('… earlier lines are omitted')
    for (const line of found.lines) printLine(ctx, line)
  },
})

interface Where {
  path: { slug: string }
  query: { lines: number; deploy?: string }
}

/** Resumes after a broken connection. */
async function follow(ctx: Context, where: Where): Promise<void> {
  const { io, project } = ctx
  const next = [ctx.next(`svc apps logs ${where.path.slug} --follow`)]
  const outage = new Outage(ctx, { isReached: false, next })
  let lastId: string | null = null
  for (;;) {
    try {
      const stream: ReadableStream<Uint8Array> = await project.stream('/apps/{slug}/logs', {
        ...where,
        query: { ...where.query, follow: '1' },
        headers: { Accept: 'text/event-stream', ...(lastId === null ? {} : { 'Last-Event-ID': lastId }) },
        signal: io.signal,
      })
      for await (const { event, data, id } of streamedEvents(stream, 'the log')) {
        outage.over()
        lastId = id ?? lastId
        printEvent(ctx, event, data)
      }
      // The stream ends when the app is removed from svc.toml.
      return
    } catch (error) {
      if (io.signal.aborted) throw error
      await outage.wait(error)
    }
  }
}

function printEvent(ctx: Context, event: string, data: string): void {
  const value = JSON.parse(data) as unknown
  if (ctx.out.json) return ctx.out.documentLine({ type: event, [event]: value })
  if (event === 'line') printLine(ctx, value as Line)
  else if (event === 'deploy') sayDeploy(ctx, value as AppDeploy)
}

function sayDeploy({ out }: Context, { number, commit_sha, status, error }: AppDeploy): void {
  out.note(`deploy #${number} of ${shortCommit(commit_sha)}: ${status}${error === null ? '' : `, ${error}`}`)
}

function printLine({ out }: Context, { at, stream, text }: Line): void {
  out.line(dim(`${at.slice(11, 19)} ${stream.padEnd(5)} `), stream === 'svc' ? dim(text) : text)
}
