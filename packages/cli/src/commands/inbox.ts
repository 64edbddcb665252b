import type { InboxItem } from '@svc/sdk'
import { command } from '../arguments/command.ts'
import { findOne } from '../arguments/find-one.ts'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import { bold, dim, green, type Piece, red, yellow } from '../terminal/output.ts'
import { resolveProjectId } from './projects/find.ts'
import { shortId } from './sessions/labels.ts'

/** In the order of the service. */
const groups = [
  ['answer', 'Answer', yellow],
  ['review', 'Review', green],
  ['unblock', 'Unblock', red],
  ['running', 'Running', dim],
] as const satisfies [InboxItem['group'], string, (text: string) => Piece][]

type Read = Awaited<ReturnType<typeof read>>

export const inbox = command({
  summary: 'List what needs you in all your projects, and put it away',
  about: [
    'Questions to answer, change requests to review, what is blocked, and what runs. An item that is done or snoozed comes back when it changes, such as by new commits or another failure.',
  ],
  scope: 'host',
  args: { item: { summary: 'An item, by its id or the number of its change request', optional: true } },
  flags: {
    done: { kind: 'switch', summary: 'Mark the item as done', short: 'd' },
    snooze: { kind: 'text', summary: 'Hide the item for a while: 3h, 2d, 1w or a date', value: 'when' },
    undo: { kind: 'switch', summary: 'Return the item to the inbox' },
    view: { kind: 'choice', summary: 'Which items (default: open)', choices: ['open', 'snoozed', 'done'] },
    project: { kind: 'text', summary: 'Only of this project', value: 'id|slug', names: 'project' },
    limit: { kind: 'number', summary: 'The most of each group (default: 20)', value: 'n', min: 1, max: 200, usual: 20 },
  },
  examples: ['svc inbox', 'svc inbox 55555555 --done', "svc inbox '#3' --snooze 1d --project my-app"],
  async run(ctx, { args, flags }) {
    const acts = [flags.done, flags.snooze !== undefined, flags.undo].filter(Boolean).length
    if (acts > 1) throw new UsageError('Give one of --done, --snooze and --undo', { next: ['svc inbox <item> --done'] })
    if (acts === 1 && args.item === undefined)
      throw new UsageError('Missing the item', { hint: 'svc inbox lists them.', next: ['svc inbox <item> --done'] })
    const project = flags.project === undefined ? undefined : await resolveProjectId(ctx.api, flags.project)
    if (args.item !== undefined && acts === 1) return putAway(ctx, { item: args.item, flags, project })
    const found = await read(ctx, { view: flags.view ?? 'open', project, limit: flags.limit })
    const items = args.item === undefined ? found.items : [itemNamed(found.items, args.item)]
    if (ctx.out.json) return ctx.out.document({ ...found, items })
    if (!ctx.out.terminal) return printRows(ctx, items)
    printGroups(ctx, { ...found, items }, flags.view ?? 'open')
  },
})

const read = (
  { api }: Pick<Context, 'api'>,
  { view, project, limit }: { view: 'open' | 'snoozed' | 'done'; project: string | undefined; limit: number },
) =>
  api.get('/v1/inbox', { query: { view, per_group: limit, ...(project === undefined ? {} : { project_id: project }) } })

const perGroupMax = 200

async function putAway(
  ctx: Context,
  of: { item: string; flags: { undo: boolean; snooze: string | undefined }; project: string | undefined },
): Promise<void> {
  const { undo, snooze } = of.flags
  const until = snooze === undefined ? null : endOf(snooze, ctx.io.now())
  const views = undo ? (['done', 'snoozed'] as const) : (['open'] as const)
  const found = await Promise.all(views.map((view) => read(ctx, { view, project: of.project, limit: perGroupMax })))
  const item = itemNamed(
    found.flatMap(({ items }) => items),
    of.item,
  )
  const path = { key: item.key }
  if (undo) await ctx.api.delete('/v1/inbox/{key}', { path })
  else await ctx.api.put('/v1/inbox/{key}', { path, body: { version: item.version, until } })
  const shown = bold(titleOf(item))
  if (undo) return ctx.out.done(item, 'Returned ', shown)
  ctx.out.done(item, until === null ? 'Done: ' : 'Snoozed ', shown, until === null ? '' : ` until ${until}`)
  ctx.out.note(`It comes back when it changes. Undo: svc inbox ${idOf(item).slice(0, 8)} --undo`)
}

function itemNamed(items: readonly InboxItem[], given: string): InboxItem {
  return findOne(items, given, {
    what: ['item', 'items'],
    id: idOf,
    isNamed: (item) => item.key === given || (item.number !== null && String(item.number) === given.replace(/^#/, '')),
    hint: 'It may be answered or put away by now.',
    next: ['svc inbox'],
  })
}

const idOf = ({ key }: InboxItem) => key.slice(key.indexOf('.') + 1)
const titleOf = ({ number, title }: InboxItem) => (number === null ? title : `#${number} ${title}`)

function printGroups(ctx: Context, { items, counts, snoozed, done }: Read, view: 'open' | 'snoozed' | 'done'): void {
  const { out } = ctx
  for (const [group, title, paint] of groups) {
    const own = items.filter((item) => item.group === group)
    if (own.length === 0) continue
    out.line(paint(title), ' ', dim(String(counts[group])))
    out.table(
      own,
      [
        { title: '', of: () => ' ' },
        { title: '', of: (item) => shortId(idOf(item), true) },
        { title: '', of: (item) => titleOf(item), shrink: true },
        { title: '', of: (item) => item.project.slug },
        { title: '', of: (item) => dim(item.why), shrink: true },
        { title: '', of: (item) => dim(out.time(item.updated_at)) },
      ],
      { titles: false },
    )
    const more = counts[group] - own.length
    if (more > 0) out.note(`  ${more} more: --limit ${Math.min(perGroupMax, counts[group])}`)
  }
  if (items.length === 0) out.note(view === 'open' ? 'Nothing needs you.' : `Nothing is ${view}.`)
  const away = [snoozed > 0 && `${snoozed} snoozed`, done > 0 && `${done} done`].filter(Boolean)
  if (view === 'open' && away.length > 0)
    out.note(`Put away: ${away.join(', ')}. Show them: svc inbox --view snoozed|done`)
  const [first] = items
  if (first !== undefined && view === 'open') out.note(nextOf(first))
}

/** The command for what the item needs. */
function nextOf({ kind, number, session, project }: InboxItem): string {
  const id = session?.session_id.slice(0, 8) ?? ''
  switch (kind) {
    case 'change_request':
      return `svc cr show ${number} --project ${project.slug}`
    case 'approval':
      return `svc connectors approvals --project ${project.slug}`
    case 'question':
      return `svc sessions answer ${id} --project ${project.slug}`
    case 'session':
      return `svc sessions info ${id} --project ${project.slug}`
  }
}

/** For a program: group, key, project, number, title, why, time. */
function printRows({ out }: Context, items: readonly InboxItem[]): void {
  const cells: ((item: InboxItem) => string)[] = [
    ({ group }) => group,
    ({ key }) => key,
    ({ project }) => project.slug,
    ({ number }) => (number === null ? '' : `#${number}`),
    ({ title }) => title,
    ({ why }) => why,
    ({ updated_at }) => updated_at,
  ]
  out.table(
    items,
    cells.map((of) => ({ title: '', of })),
  )
}

const units: Record<string, number> = { h: 3_600_000, d: 86_400_000, w: 604_800_000 }

function endOf(text: string, now: number): string {
  const [, count, unit] = /^(\d{1,4})([hdw])$/.exec(text) ?? []
  const end = count === undefined ? Date.parse(text) : now + Number(count) * units[unit!]!
  if (Number.isNaN(end) || end <= now)
    throw new UsageError(`--snooze must be a span (3h, 2d, 1w) or a date to come, not ${JSON.stringify(text)}`, {
      next: ['svc inbox <item> --snooze 1d'],
    })
  return new Date(end).toISOString()
}
