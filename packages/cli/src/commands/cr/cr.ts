import { isDraft } from '@svc/contract/schemas/change-request-moves'
import type { ChangeRequest } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import { uuid } from '../../arguments/find-one.ts'
import { quote } from '../../arguments/shell-word.ts'
import { limitFlag } from '../../arguments/limit.ts'
import { openPage, projectPage, webFlag } from '../../browser/dashboard.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { bold, type Column, green } from '../../terminal/output.ts'
import { valueOrStdin } from '../../terminal/read-stdin.ts'
import { findMember, resolveAccountId } from '../members/account.ts'
import { changeRequestAt, crArg } from './find.ts'
import { printEffects } from './effects.ts'
import { branch, collisionLines, previewLines, recoverySteps, shortSha, statusPiece } from './labels.ts'
import { getChecksIfKnown, printChecks, verdictOf } from './review/checks-labels.ts'
import { printReviews } from './review/review.ts'

export const ls = command({
  summary: 'List change requests, newest first',
  scope: 'project',
  flags: {
    status: {
      kind: 'choice',
      summary: 'Status (default: open)',
      choices: ['open', 'merged', 'closed', 'all'],
      aliases: ['state'],
      short: 's',
    },
    search: {
      kind: 'text',
      summary: 'Only with this text in title or branch, or with this number',
      value: 'text',
      short: 'S',
    },
    author: {
      kind: 'text',
      summary: 'Only by this member; @me for yours',
      value: 'member',
      names: 'member',
      short: 'A',
    },
    head: { kind: 'text', summary: 'Only with this head branch', value: 'ref', short: 'H' },
    base: { kind: 'text', summary: 'Only with this base branch', value: 'ref', short: 'B' },
    limit: limitFlag,
  },
  examples: ['svc cr ls', 'svc cr ls --author @me --base main', "svc cr ls --status all --search 'login'"],
  async run(ctx, { flags }) {
    const status = flags.status ?? 'open'
    const { limit } = flags
    const { data, cursor } = await ctx.project.page('/change-requests', {
      query: {
        status,
        limit,
        search: flags.search,
        ...(flags.author === undefined ? {} : { created_by: await userId(ctx, flags.author) }),
        head_ref: flags.head,
        base_ref: flags.base,
      },
    })
    const { out } = ctx
    if (out.json) return out.document(data)
    const isFiltered = [flags.search, flags.author, flags.head, flags.base].some((given) => given !== undefined)
    if (data.change_requests.length === 0 && isFiltered) return out.note('None.')
    if (data.change_requests.length === 0)
      return out.note(
        status === 'open' ? `No open change requests. Show all: ${ctx.next('svc cr ls --status all')}` : 'None.',
      )
    out.table(data.change_requests, changeRequestColumns(ctx))
    if (cursor !== null) out.note(`There are more: --limit ${Math.min(1000, limit * 10)}`)
  },
})

async function userId(ctx: Context, author: string): Promise<string> {
  if (uuid.test(author)) return author
  if (author === '@me') return (await ctx.api.get('/v1/token')).user.user_id
  return (await findMember(ctx.api, await resolveAccountId(ctx, undefined), author)).user_id
}

export function changeRequestColumns({ out }: Pick<Context, 'out'>): Column<ChangeRequest>[] {
  return [
    { title: '#', of: (cr) => `#${cr.number}` },
    { title: 'STATUS', of: (cr) => statusPiece(cr) },
    { title: 'TITLE', of: (cr) => cr.title, shrink: true },
    { title: 'HEAD → BASE', of: (cr) => `${branch(cr.head_ref, out.terminal)} → ${cr.base_ref}`, shrink: true },
    { title: 'UPDATED', of: (cr) => out.time(cr.updated_at) },
  ]
}

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
    const lost = cr.status === 'merged' ? await lostMerge(ctx, cr) : null
    const reviews = flags.comments ? (await at.get('/reviews')).reviews : null
    const { out } = ctx
    if (out.json)
      return out.document({
        change_request: cr,
        merge_preview: preview,
        checks,
        ...(reviews === null ? {} : { reviews }),
        ...(lost === null ? {} : { merge_lost: lost }),
      })
    printChangeRequest(ctx, cr)
    if (lost !== null) printLostMerge(ctx, cr, lost)
    if (reviews !== null) printReviews(ctx, reviews)
    if (preview === null) return
    if (checks !== null && checks.state !== 'none') {
      out.line()
      out.line(bold('Checks         '), verdictOf(checks))
      if (checks.state === 'failed' || checks.state === 'running') printChecks(ctx, checks)
    }
    const { verdict, files } = previewLines(preview, cr)
    out.line()
    out.line(bold('Merge preview  '), verdict)
    for (const file of files) out.line(`  conflict: ${file}`)
    for (const line of collisionLines(preview)) out.line(`  ${line}`)
    printEffects(ctx, preview)
    if (checks?.state === 'failed') out.note(`Output: ${ctx.next(`svc cr checks ${cr.number} --log`)}`)
    if (files.length > 0) {
      out.note('On the head branch, merge the base, resolve and push; then check again:')
      for (const step of recoverySteps(cr)) out.note('  $ ', ctx.next(step))
    } else if (isDraft(cr))
      out.note(`A draft can't be merged: ${ctx.next(`svc cr ready ${cr.number}`)} marks it as ready.`)
    else if (!preview.is_up_to_date && cr.missing_ref == null)
      out.note(`${ctx.next(`svc cr diff ${cr.number}`)} · ${ctx.next(`svc cr merge ${cr.number}`)}`)
  },
})

/** Null: it is where it was merged, as far as the service knows. */
async function lostMerge({ project }: Context, { cr_id, number }: ChangeRequest) {
  const { summaries } = await project.get('/change-requests', { query: { number, include: 'summary' } })
  return summaries?.[cr_id]?.merge_lost ?? null
}

/** The command that opens a new change request of the same branches. */
export function openAgain({ head_ref, base_ref }: Pick<ChangeRequest, 'head_ref' | 'base_ref'>): string {
  return `svc cr open --head ${quote(head_ref)} --base ${quote(base_ref)} --fill`
}

function printLostMerge({ out, next }: Context, cr: ChangeRequest, { server, at }: { server: string; at: string }) {
  out.line()
  out.warn(`Its merge was lost when ${server} was taken over (${out.time(at)}): ${cr.base_ref} does not have it.`)
  out.note(`To merge it again: ${next(openAgain(cr))}`)
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

export const edit = command({
  summary: 'Change title and description of a change request',
  about: ['Without a flag, opens your editor (VISUAL, EDITOR) on a terminal.'],
  scope: 'project',
  args: { cr: crArg },
  flags: {
    title: { kind: 'text', summary: 'The new title', value: 'text', short: 't' },
    description: {
      kind: 'text',
      summary: 'The new description; - reads stdin',
      value: 'text',
      aliases: ['body'],
      short: 'b',
    },
  },
  examples: ['svc cr edit 3 --title "Greet visitors"', 'svc cr edit @ --body -'],
  async run(ctx, { args, flags }) {
    const given = {
      ...(flags.title === undefined ? {} : { title: flags.title }),
      ...(flags.description === undefined
        ? {}
        : { description: await valueOrStdin(ctx.io, flags.description, 'the description') }),
    }
    const isGiven = Object.keys(given).length > 0
    if (!isGiven && !ctx.interactive)
      throw new UsageError('Missing --title or --description', {
        next: ["svc cr edit <cr> --title '<text>'", 'svc cr edit <cr> --body -'],
      })
    const { at, cr } = await changeRequestAt(ctx, args.cr)
    const body = isGiven ? given : await written(ctx, cr)
    const edited = await at.patch('', { body })
    ctx.out.done(edited, 'Edited ', bold(`#${edited.number} ${edited.title}`))
  },
})

async function written(
  ctx: Parameters<typeof changeRequestAt>[0],
  cr: { title: string; description: string },
): Promise<{ title: string; description: string }> {
  const editor = await import('../../terminal/editor.ts')
  const text = await editor.edit(ctx, `${cr.title}\n\n${cr.description}`, 'First line: title. Below: description.')
  return editor.titleAndDescription(text)
}

export const ready = command({
  summary: 'Mark a draft as ready, so that it can be merged',
  scope: 'project',
  args: { cr: crArg },
  flags: { undo: { kind: 'switch', summary: 'Make it a draft again' } },
  examples: ['svc cr ready 3', 'svc cr ready @ --undo'],
  async run(ctx, { args, flags }) {
    const { at, cr } = await changeRequestAt(ctx, args.cr)
    const { draft: _, ...rest } = cr.metadata
    const edited = await at.patch('', { body: { metadata: flags.undo ? { ...rest, draft: true } : rest } })
    ctx.out.done(edited, bold(`#${edited.number} ${edited.title}`), flags.undo ? ' is a draft' : ' is ready to merge')
  },
})

const moving = (
  verb: 'close' | 'reopen',
  summary: string,
  did: string,
  note: (ctx: Context, cr: ChangeRequest) => string,
) =>
  command({
    summary,
    scope: 'project',
    args: { cr: crArg },
    examples: [`svc cr ${verb} 3`, `svc cr ${verb} '#3' --json`],
    async run(ctx, { args }) {
      const { at } = await changeRequestAt(ctx, args.cr)
      const cr = await at.post(`/${verb}`)
      ctx.out.done(cr, did, bold(`#${cr.number} ${cr.title}`))
      ctx.out.note(note(ctx, cr))
    },
  })

export const close = moving('close', 'Close a change request without merging it', 'Closed ', ({ next }, cr) => {
  return `The branch ${cr.head_ref} stays. ${next(`svc cr reopen ${cr.number}`)} reopens it.`
})
export const reopen = moving('reopen', 'Reopen a closed change request', 'Reopened ', ({ next }, cr) => {
  return `${next(`svc cr show ${cr.number}`)} shows whether it can merge.`
})

export const pullRequest = command({
  summary: 'Open a pull request for a change request on the git host',
  about: [
    'For a base branch that the git host protects: when the pull request is merged, the change request becomes merged.',
    'Shows the pull request if one is already open.',
  ],
  scope: 'project',
  args: { cr: crArg },
  examples: ['svc cr pull-request 3', 'svc cr pull-request @ --json'],
  async run(ctx, { args }) {
    const { at, cr } = await changeRequestAt(ctx, args.cr)
    const opened = await at.post('/pull-request', { once: true })
    if (ctx.out.json) return ctx.out.document(opened)
    const { number, url } = opened.pull_request!
    ctx.out.line(green('✓ '), 'Pull request ', bold(`#${number}`), ` for #${cr.number} ${cr.title}`)
    ctx.out.line(`  ${url}`)
    ctx.out.note(`Merge it on the git host. ${ctx.next(`svc cr show ${cr.number}`)} then shows it as merged.`)
  },
})
