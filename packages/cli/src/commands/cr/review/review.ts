import type { Review } from '@svc/sdk'
import { command } from '../../../arguments/command.ts'
import type { Context } from '../../../context.ts'
import { Refusal, UsageError } from '../../../errors.ts'
import { bold, dim } from '../../../terminal/output.ts'
import { valueOrStdin } from '../../../terminal/read-stdin.ts'
import { crArg, changeRequestAt } from '../find.ts'
import { printThread, stateOf } from './answer.ts'

const bodyFlag = {
  kind: 'text',
  summary: 'The text; - reads stdin (default on a terminal: your editor)',
  value: 'text',
  short: 'b',
} as const
const atFlag = { kind: 'text', summary: 'The commented line, as file:line', value: 'file:line' } as const

export const review = command({
  summary: 'Review a change request: its session restarts and receives the review as a prompt',
  scope: 'project',
  args: { cr: crArg },
  flags: { body: bodyFlag, at: atFlag },
  examples: ['svc cr review 3 --body "Please add a test"', 'svc cr review 3 --at src/login.ts:12 --body "Why 30?"'],
  run: (ctx, { args, flags }) => write(ctx, args.cr, flags, { send: true }),
})

export const comment = command({
  summary: 'Comment on a change request, without sending the text to its session',
  scope: 'project',
  args: { cr: crArg },
  flags: { body: bodyFlag, at: atFlag },
  examples: ['svc cr comment 3 --body "Deploy on Monday"', 'svc cr comment @ --body -'],
  run: (ctx, { args, flags }) => write(ctx, args.cr, flags, { send: false }),
})

async function write(
  ctx: Context,
  named: string,
  flags: { body: string | undefined; at: string | undefined },
  { send }: { send: boolean },
): Promise<void> {
  const at = flags.at === undefined ? null : placeOf(flags.at)
  if (flags.body === undefined && !ctx.interactive) throw new UsageError('Missing --body <text>')
  const given = flags.body === undefined ? null : await valueOrStdin(ctx.io, flags.body, 'the text')
  const { at: client, cr } = await changeRequestAt(ctx, named)
  if (cr.head_commit_sha === null)
    throw new Refusal('not_available', `The head commit of #${cr.number} is not available yet`, {
      next: [`svc cr show ${cr.number}`],
    })
  const text =
    given ?? (await (await import('../../../terminal/editor.ts')).edit(ctx, '', `On #${cr.number} ${cr.title}`))
  if (text.trim() === '') throw new Refusal('cancelled', 'The text is empty, so nothing was sent')
  const made = await client.post('/reviews', {
    once: true,
    body: {
      head_sha: cr.head_commit_sha,
      send,
      ...(at === null ? { body: text } : { comments: [{ ...at, side: 'new' as const, text }] }),
    },
  })
  ctx.out.done(made, send ? 'Reviewed ' : 'Commented on ', bold(`#${cr.number} ${cr.title}`))
  if (made.session_id !== null)
    ctx.out.note(`Its session is working on it: ${ctx.next(`svc sessions chat ${made.session_id.slice(0, 8)}`)}`)
}

function placeOf(given: string): { path: string; line: number } {
  const found = /^(.+):(\d{1,8})$/.exec(given)
  if (found !== null && Number(found[2]) > 0) return { path: found[1]!, line: Number(found[2]) }
  throw new UsageError(`--at must be a file and a line such as src/login.ts:12, not ${JSON.stringify(given)}`)
}

export function printReviews({ out }: Pick<Context, 'out'>, reviews: readonly Review[]): void {
  for (const one of reviews) {
    out.line()
    out.line(bold(one.created_by_name ?? 'A former member'), dim(`  ${out.time(one.created_at)}`))
    if (one.body !== '') out.block(one.body)
    if (one.thread) printThread({ out }, one.thread)
    for (const comment of one.comments) {
      out.line(dim(`${comment.path}:${comment.line}  ${comment.comment_id.slice(0, 8)} ${stateOf(comment)}`))
      out.block(comment.text)
      printThread({ out }, comment)
    }
  }
}
