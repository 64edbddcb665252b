import type { ChangeRequest, Project } from '@svc/sdk'
import { ServiceError } from '@svc/contract/errors'
import { ask } from '../../terminal/ask.ts'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Guided, Refusal } from '../../errors.ts'
import { bold, dim, green } from '../../terminal/output.ts'
import { valueOrStdin } from '../../terminal/read-stdin.ts'
import { getChecksIfKnown, verdictOf } from './review/checks-labels.ts'
import { crArg, changeRequestAt } from './find.ts'
import { recoverySteps, shortSha } from './labels.ts'
import type { ChangeRequestClient } from '../../requests.ts'

export const merge = command({
  summary: 'Merge an open change request',
  about: [
    'Fast-forwards if the base has no commits of its own, otherwise creates a merge commit. Keeps the head branch.',
    'If checks failed or are still running, or an effect needs confirmation (such as a secret that goes to a new host), it asks first on a terminal and warns elsewhere.',
  ],
  scope: 'project',
  args: { cr: crArg },
  flags: {
    message: { kind: 'text', summary: 'Message of the merge commit; - reads stdin', value: 'text' },
    yes: { kind: 'switch', summary: 'Merge without asking' },
  },
  examples: ['svc cr merge 3', 'svc cr merge @ --message "Greet visitors"'],
  async run(ctx, { args, flags }) {
    const message = flags.message === undefined ? undefined : await valueOrStdin(ctx.io, flags.message, 'the message')
    const { cr, at } = await changeRequestAt(ctx, args.cr)
    await heedWarnings(ctx, at, cr, flags.yes)
    const merged = await mergeChangeRequest(at, cr, message)
    if (ctx.out.json) ctx.out.document(merged)
    else printMerge(ctx, merged)
    if (message !== undefined && (merged.merge.fast_forward || merged.merge.up_to_date))
      ctx.out.warn('The merge was a fast-forward, so the message is not used')
  },
})

/** Neither checks nor effects block a merge, so it reports what a person should know first. */
async function heedWarnings(ctx: Context, at: ChangeRequestClient, cr: ChangeRequest, yes: boolean): Promise<void> {
  if (cr.status !== 'open') return
  const [checks, { effects }] = await Promise.all([
    getChecksIfKnown(at),
    at.get('/merge-preview', { query: { include: 'effects' } }),
  ])
  const isUnchecked = checks?.state === 'failed' || checks?.state === 'running'
  const confirms = new Set(effects?.details.flatMap(({ confirm }) => confirm))
  if (isUnchecked) ctx.out.warn(`Checks ${verdictOf(checks).text}`)
  for (const words of confirms) ctx.out.warn(words)
  if (yes || (!isUnchecked && confirms.size === 0)) return
  if ((await ask(ctx, `Merge #${cr.number} anyway?`)) !== false) return
  const next = isUnchecked ? `svc cr checks ${cr.number} --log` : `svc cr show ${cr.number}`
  throw new Refusal('cancelled', 'Cancelled: nothing was merged', { next: [next] })
}

type Merged = Awaited<ReturnType<typeof mergeChangeRequest>>

/** Merges exactly the head of `cr`: the server refuses later commits. */
export async function mergeChangeRequest(at: ChangeRequestClient, cr: ChangeRequest, message: string | undefined) {
  try {
    return await at.post('/merge', {
      once: true,
      body: { message, expected_head_sha: cr.head_commit_sha ?? undefined },
    })
  } catch (error) {
    throw error instanceof ServiceError ? guided(error, cr) : error
  }
}

/** `project`: for a command whose caller may not have named it. */
export function printMerge(
  { out }: Pick<Context, 'out'>,
  { change_request: cr, merge: made }: Merged,
  project?: Project,
): void {
  const sha = shortSha(made.merge_commit_sha)
  const how = made.up_to_date
    ? 'already had every commit'
    : made.fast_forward
      ? `fast-forwarded to ${sha}`
      : `has it as merge commit ${sha}`
  const where = project === undefined ? '' : ` in ${project.slug}`
  out.line(green('✓ '), 'Merged ', bold(`#${cr.number} ${cr.title}`), `${where}: ${cr.base_ref} ${how}`)
  out.line(dim(`  ${cr.base_ref} ${shortSha(made.base_sha_before)} → ${shortSha(made.base_sha_after)}`))
}

function guided(error: ServiceError, cr: ChangeRequest): Error {
  if (error.code === 'merge_conflict')
    return new Guided(error, {
      hint: `#${cr.number} stays open. On its branch: merge ${cr.base_ref}, resolve and commit, push, then check again.`,
      next: recoverySteps(cr),
    })
  if (error.detail.draft === true)
    return new Guided(error, {
      hint: "A draft can't be merged. Mark it as ready first.",
      next: [`svc cr ready ${cr.number}`, `svc cr merge ${cr.number}`],
    })
  if (error.code === 'head_moved')
    return new Guided(error, {
      hint: 'New commits arrived, so nothing was merged. Review them, then merge.',
      next: [`svc cr diff ${cr.number}`, `svc cr merge ${cr.number}`],
    })
  if (error.code === 'branch_protected') return protectedBase(error, cr)
  if (error.code === 'agent_merge_forbidden')
    return new Guided(error, {
      hint: `Only a user can merge: give them the number. They run svc cr merge ${cr.number}.`,
      next: [`svc cr show ${cr.number}`],
    })
  if (error.code === 'not_open' && cr.status === 'closed')
    return new Guided(error, {
      hint: 'The change request is closed. Reopen it first.',
      next: [`svc cr reopen ${cr.number}`],
    })
  return error
}

/** The error quotes the git host. */
function protectedBase(error: ServiceError, cr: ChangeRequest): Guided {
  if (error.detail.can_open_pull_request === true)
    return new Guided(error, {
      hint: `#${cr.number} stays open. Merge it with a pull request on the git host; its status here follows.`,
      next: [`svc cr pull-request ${cr.number}`],
    })
  return new Guided(error, {
    hint: `#${cr.number} stays open. Merge ${cr.head_ref} into ${cr.base_ref} on the git host (the status here follows), or allow this project to push there.`,
    next: [`svc cr show ${cr.number}`],
  })
}
