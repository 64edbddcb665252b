import type { ChangeRequest, MergePreview } from '@svc/sdk'
import { isDraft } from '@svc/contract/schemas/change-request-moves'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { projectPage, openPage, webFlag } from '../../browser/dashboard.ts'
import { bold } from '../../terminal/output.ts'
import { getChecksIfKnown, printChecks, verdictOf } from './review/checks-labels.ts'
import { crArg, changeRequestAt } from './find.ts'
import { printReviews } from './review/review.ts'
import { branch, collisionLines, previewLines, recoverySteps, shortSha, statusPiece } from './labels.ts'

export const show = command({
  summary: 'Show a change request, and whether it can merge',
  scope: 'project',
  args: { cr: crArg },
  flags: { web: webFlag, comments: { kind: 'switch', summary: 'Include reviews and comments', short: 'c' } },
  examples: ['svc cr show 3', 'svc cr show @ --json'],
  async run(ctx, { args, flags }) {
    const { cr, at } = await changeRequestAt(ctx, args.cr)
    if (flags.web) return openPage(ctx, projectPage(await ctx.projectId(), 'change-requests', String(cr.number)))
    const preview =
      cr.status === 'open' ? await at.get('/merge-preview', { query: { include: 'collisions,effects' } }) : null
    const checks = await getChecksIfKnown(at)
    const reviews = flags.comments ? (await at.get('/reviews')).reviews : null
    const { out } = ctx
    if (out.json)
      return out.document({
        change_request: cr,
        merge_preview: preview,
        checks,
        ...(reviews === null ? {} : { reviews }),
      })
    printChangeRequest(ctx, cr)
    if (reviews !== null) printReviews(ctx, reviews)
    if (preview === null) return
    if (checks !== null && checks.state !== 'none') {
      out.line()
      out.line(bold('Checks         '), verdictOf(checks))
      if (checks.state === 'failed' || checks.state === 'running') printChecks(ctx, checks)
    }
    const { verdict, files } = previewLines(preview)
    out.line()
    out.line(bold('Merge preview  '), verdict)
    for (const file of files) out.line(`  conflict: ${file}`)
    for (const line of collisionLines(preview)) out.line(`  ${line}`)
    printEffects(out, preview)
    if (checks?.state === 'failed') out.note(`Output: ${ctx.next(`svc cr checks ${cr.number} --log`)}`)
    if (files.length > 0) {
      out.note('On the head branch, merge the base, resolve and push; then check again:')
      for (const step of recoverySteps(cr)) out.note('  $ ', ctx.next(step))
    } else if (isDraft(cr))
      out.note(`A draft can't be merged: ${ctx.next(`svc cr ready ${cr.number}`)} marks it as ready.`)
    else if (!preview.is_up_to_date)
      out.note(`${ctx.next(`svc cr diff ${cr.number}`)} · ${ctx.next(`svc cr merge ${cr.number}`)}`)
  },
})

const effectsShown = 20

/** What a merge changes beyond code. Prints nothing if that is nothing. */
function printEffects({ line }: Context['out'], { effects }: MergePreview): void {
  if (effects === undefined || !effects.applies || effects.words.length === 0) return
  line()
  line(bold('Merging also'))
  for (const words of effects.words.slice(0, effectsShown)) line(`  ${words}`)
  const more = effects.words.length - effectsShown
  if (more > 0) line(`  and ${more} more: --json lists them`)
}

function printChangeRequest({ out }: Pick<Context, 'out'>, cr: ChangeRequest): void {
  out.line(bold(`#${cr.number} ${cr.title}`))
  out.fields([
    ['status', statusPiece(cr)],
    ['branches', `${branch(cr.head_ref, out.terminal)} → ${cr.base_ref}`],
    ['head', shortSha(cr.head_commit_sha)],
    ['base', shortSha(cr.base_commit_sha)],
    ['session', cr.origin_session_id],
    ['opened', out.time(cr.created_at)],
    ['merged', cr.merged_at === null ? null : `${out.time(cr.merged_at)} as ${shortSha(cr.merge_commit_sha)}`],
    ['closed', cr.closed_at === null ? null : out.time(cr.closed_at)],
    ['id', cr.cr_id],
  ])
  if (cr.description !== '') {
    out.line()
    out.block(cr.description)
  }
}
