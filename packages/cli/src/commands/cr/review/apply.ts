/** Commits the suggestions of reviews to the head branch. */
import { count } from '@svc/contract/count'
import { command } from '../../../arguments/command.ts'
import { findOne } from '../../../arguments/find-one.ts'
import { Refusal, UsageError } from '../../../errors.ts'
import { bold, dim } from '../../../terminal/output.ts'
import { changeRequestAt } from '../find.ts'
import { itemsOf } from './answer.ts'

const shortId = (id: string) => id.slice(0, 8)

export const apply = command({
  summary: 'Apply suggestions of a review: commit them to the head branch and resolve their comments',
  about: [
    'A suggestion is a comment with a suggestion block, which replaces the commented lines. Several become one commit, all or none, with you as its author. A suggestion whose lines changed since is refused.',
    'svc cr reviews lists the comments with their ids. Only people apply suggestions.',
  ],
  scope: 'project',
  args: { comments: { summary: 'Ids of comments, or their first characters', many: true, optional: true } },
  flags: {
    all: { kind: 'switch', summary: 'All suggestions that can be applied' },
    message: { kind: 'text', summary: 'The message of the commit', value: 'text', short: 'm' },
    cr: { kind: 'text', summary: 'The change request (default: of the current branch)', value: 'cr', names: 'cr' },
  },
  examples: ['svc cr apply 1f3a2b9c', 'svc cr apply --all --cr 3 -m "Apply the review"'],
  async run(ctx, { args, flags }) {
    if (flags.all === args.comments.length > 0)
      throw new UsageError('Give the ids of comments, or --all', { next: ['svc cr reviews', 'svc cr apply --all'] })
    const { at, cr } = await changeRequestAt(ctx, flags.cr ?? '@')
    const items = itemsOf((await at.get('/reviews')).reviews)
    const chosen = flags.all
      ? items.filter(({ suggestion }) => suggestion?.refusal === null)
      : args.comments.map((given) =>
          findOne(items, given, {
            what: ['comment', 'comments'],
            id: ({ thread: { comment_id } }) => comment_id,
            next: [`svc cr reviews ${cr.number}`],
          }),
        )
    if (chosen.length === 0)
      throw new Refusal('not_found', `#${cr.number} has no suggestion that can be applied`, {
        next: [`svc cr reviews ${cr.number}`],
      })
    if (cr.head_commit_sha === null)
      throw new Refusal('not_available', `The head commit of #${cr.number} is not available yet`, {
        next: [`svc cr show ${cr.number}`],
      })
    const applied = await at.post('/suggestions/apply', {
      once: true,
      body: {
        comment_ids: chosen.map(({ thread }) => thread.comment_id),
        expected_head_sha: cr.head_commit_sha,
        ...(flags.message === undefined ? {} : { message: flags.message }),
      },
    })
    const { out } = ctx
    if (out.json) return out.document(applied)
    out.done(applied, `Applied ${count(chosen.length, 'suggestion')} in `, bold(applied.commit.slice(0, 10)))
    for (const { thread, place } of chosen) out.line(dim(`  ${shortId(thread.comment_id)}  ${place ?? ''}`))
  },
})
