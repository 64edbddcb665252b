/** The comments of reviews as a checklist, and the answers of the change's author. */
import { count } from '@svc/contract/count'
import { suggestionOf } from '@svc/contract/schemas/suggestion'
import type { Review } from '@svc/sdk'
import { findOne } from '../../../arguments/find-one.ts'
import { command } from '../../../arguments/command.ts'
import type { Context } from '../../../context.ts'
import { UsageError } from '../../../errors.ts'
import { git } from '../../../git/git.ts'
import { bold, type Column, dim } from '../../../terminal/output.ts'
import { valueOrStdin } from '../../../terminal/read-stdin.ts'
import { changeRequestAt, crArg } from '../find.ts'

type Thread = NonNullable<Review['thread']>

/** Absent in the answers of an older server. */
type Suggestion = NonNullable<Review['comments'][number]['suggestion']> | null

/** A comment, or a review that has only a text. */
interface Item {
  thread: Thread
  place: string | null
  text: string
  isOutdated: boolean
  suggestion: Suggestion
}

const shortId = (id: string) => id.slice(0, 8)

export function itemsOf(reviews: readonly Review[]): Item[] {
  return reviews.flatMap(({ comments, thread, body }): Item[] => {
    if (thread) return [{ thread, place: null, text: body, isOutdated: false, suggestion: null }]
    return comments.map((each) => {
      const { path, line } = each.current ?? each
      const place = `${path}:${line}`
      return { thread: each, place, text: each.text, isOutdated: each.outdated, suggestion: each.suggestion ?? null }
    })
  })
}

export const stateOf = ({ state, answer }: Thread): string =>
  state === 'answered' ? (answer?.outcome ?? state) : state

export const reviews = command({
  summary: 'List the comments of the reviews with their ids and states',
  scope: 'project',
  args: { cr: { ...crArg, summary: `${crArg.summary} (default)`, optional: true } },
  flags: { open: { kind: 'switch', summary: 'Only comments without an answer' } },
  examples: ['svc cr reviews', 'svc cr reviews 3 --open --json'],
  async run(ctx, { args, flags }) {
    const { at, cr } = await changeRequestAt(ctx, args.cr ?? '@')
    const found = await at.get('/reviews')
    const { out } = ctx
    if (out.json) return out.document(found)
    const all = itemsOf(found.reviews)
    const shown = flags.open ? all.filter(({ thread }) => thread.state === 'open') : all
    if (shown.length === 0) return out.note(all.length === 0 ? 'No comments.' : 'Every comment is answered.')
    out.table(shown, columns(ctx))
    const open = all.filter(({ thread }) => thread.state === 'open')
    const applicable = all.filter(({ suggestion }) => suggestion?.refusal === null)
    if (applicable[0] !== undefined && ctx.io.env.SVC_SESSION_ID === undefined)
      out.note(
        `Apply ${applicable.length === 1 ? 'the suggestion' : 'a suggestion'}: ${ctx.next(`svc cr apply ${shortId(applicable[0].thread.comment_id)} --cr ${cr.number}`)}`,
      )
    if (all.length > 1) out.note(`${all.length - open.length} of ${all.length} answered.`)
    if (open[0] !== undefined)
      out.note(
        `Answer one: ${ctx.next(`svc cr answer ${shortId(open[0].thread.comment_id)} --cr ${cr.number} --done`)}`,
      )
  },
})

function columns({ out }: Context): Column<Item>[] {
  return [
    { title: 'COMMENT', of: ({ thread }) => shortId(thread.comment_id) },
    { title: 'STATE', of: ({ thread }) => stateOf(thread) },
    { title: 'PLACE', of: ({ place, isOutdated }) => `${place ?? ''}${isOutdated ? ' (outdated)' : ''}`, shrink: true },
    { title: 'TEXT', of: (item) => (out.terminal ? firstLine(item) : item.text), shrink: true },
  ]
}

function firstLine({ text, suggestion }: Item): string {
  const found = suggestion === null ? null : suggestionOf(text)
  if (suggestion === null || found === null) return text.split('\n')[0]!
  const { length } = suggestion.lines
  const what = suggestion.refusal === null ? `suggests ${count(length, 'line')}` : 'suggestion'
  return `[${what}] ${found.before.split('\n')[0]}`.trim()
}

export const answer = command({
  summary: 'Answer a comment of a review: done, with the commit, or declined, with the reason',
  about: [
    'Without --commit, the head of the branch counts, once something was pushed since the review.',
    'svc cr reviews lists the comments with their ids.',
  ],
  scope: 'project',
  args: { comment: { summary: 'Id of the comment, or its first characters' } },
  flags: {
    done: { kind: 'switch', summary: 'The change does what the comment asks for' },
    commit: { kind: 'text', summary: 'The commit that did it', value: 'commit' },
    decline: { kind: 'text', summary: 'Leave it as it is, for this reason; - reads stdin', value: 'reason' },
    body: { kind: 'text', summary: 'A text with --done; - reads stdin', value: 'text', short: 'b' },
    cr: { kind: 'text', summary: 'The change request (default: of the current branch)', value: 'cr', names: 'cr' },
  },
  examples: ['svc cr answer 1f3a2b9c --done', 'svc cr answer 1f3a2b9c --cr 3 --decline "The API needs it"'],
  async run(ctx, { args, flags }) {
    const { done, decline } = flags
    if (done === (decline !== undefined))
      throw new UsageError('Give --done or --decline', {
        next: [`svc cr answer ${args.comment} --done`, `svc cr answer ${args.comment} --decline '<reason>'`],
      })
    if (!done && (flags.commit !== undefined || flags.body !== undefined))
      throw new UsageError('--commit and --body go with --done')
    const text = await valueOrStdin(
      ctx.io,
      decline ?? flags.body ?? '',
      decline === undefined ? 'the text' : 'the reason',
    )
    const { at, cr } = await changeRequestAt(ctx, flags.cr ?? '@')
    const items = itemsOf((await at.get('/reviews')).reviews)
    const { thread } = findOne(items, args.comment, {
      what: ['comment', 'comments'],
      id: ({ thread: { comment_id } }) => comment_id,
      next: [`svc cr reviews ${cr.number}`],
    })
    const commit = flags.commit === undefined ? undefined : await wholeId(ctx, flags.commit)
    const answered = await at.post('/reviews/comments/{commentId}/answer', {
      once: true,
      path: { commentId: thread.comment_id },
      body: { outcome: done ? 'done' : 'declined', text, ...(commit === undefined ? {} : { commit }) },
    })
    const now = itemsOf([answered])
    const open = now.filter(({ thread }) => thread.state === 'open').length
    ctx.out.done(answered, done ? 'Done: ' : 'Declined: ', bold(shortId(thread.comment_id)))
    ctx.out.note(open === 0 ? 'The review is answered.' : `${open} of ${now.length} comments of this review are open.`)
  },
})

/** The service takes whole ids. A folder without the commit cannot complete it. */
async function wholeId({ io }: Context, commit: string): Promise<string> {
  if (/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(commit)) return commit
  if (!/^[\w./~^@{}-]+$/.test(commit) || commit.startsWith('-'))
    throw new UsageError(`${JSON.stringify(commit)} is not a commit`)
  const found = await git(io.cwd, ['rev-parse', '--verify', '--quiet', `${commit}^{commit}`], io.env).catch(() => '')
  if (found.trim() !== '') return found.trim()
  throw new UsageError(`This folder has no commit ${JSON.stringify(commit)}`, {
    hint: 'Run it in the repository, or give the whole id of the commit.',
  })
}

/** Answer and replies below a comment. */
export function printThread({ out }: Pick<Context, 'out'>, thread: Thread): void {
  for (const { text, outcome, commit, created_by_name, session_id, created_at } of thread.replies) {
    const who = session_id === null ? (created_by_name ?? 'A former member') : 'Agent'
    const what = outcome === null ? '' : ` ${outcome}${commit === null ? '' : ` in ${commit.slice(0, 10)}`}`
    out.line(dim(`  ${who}${what}, ${out.time(created_at)}`))
    if (text !== '') out.block(text)
  }
  if (thread.state === 'resolved') out.line(dim(`  Resolved by ${thread.resolved_by_name ?? 'a former member'}`))
}
