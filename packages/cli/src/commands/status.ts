import { count } from '@svc/contract/count'
import type { ChangeRequest, MergePreview, Project, Session } from '@svc/sdk'
import { ServiceError } from '@svc/contract/errors'
import { command } from '../arguments/command.ts'
import type { Context } from '../context.ts'
import { bold, dim, green, type Piece, red, yellow } from '../terminal/output.ts'
import { allProjects } from './projects/find.ts'
import { isStarting, shortId } from './sessions/labels.ts'
import type { Client, ProjectClient } from '../requests.ts'

/** The state of one project; reads a limited number of items and counts the rest. */
const previewsMax = 50
const sessionsMax = 100
const projectsMax = 50
/** The number of open questions. */
const atOnce = 6

export const status = command({
  summary: 'Show what needs your attention, and what is running',
  about: [
    'Lists sessions that wait for your answer, change requests that can merge or have conflicts, and failed and running sessions. Covers the chosen or linked project, otherwise every project you can see.',
  ],
  scope: 'project',
  examples: ['svc status', 'svc status --project my-app --json'],
  async run(ctx) {
    const chosen = await ctx.chosenProject()
    const all = chosen ? [await ctx.project.get('')] : await allProjects(ctx.api)
    const projects = all.slice(0, projectsMax)
    const found = await inTurns(projects, atOnce, (project) => look(ctx.api, project))
    const { out } = ctx
    if (out.json)
      return out.document({ projects: found.map(asDocument), projects_left_out: all.length - projects.length })
    if (all.length === 0) return out.note('No projects yet. Create one with svc projects create, or try svc tour.')
    if (!out.terminal) printRows(ctx, found)
    else printPeople(ctx, found, chosen)
    const left = all.length - projects.length
    if (left > 0) out.note(`${left} older projects are not included: choose one with --project.`)
  },
})

interface Previewed {
  cr: ChangeRequest
  preview: MergePreview
}
interface Found {
  project: Project
  clean: Previewed[]
  conflicted: Previewed[]
  waiting: Previewed[]
  asking: Session[]
  failed: Session[]
  running: Session[]
  /** Open change requests that were not read. */
  more: number
}

async function look(api: Client, project: Project): Promise<Found> {
  const its = api.project(project.project_id)
  const sessions = (status: 'failed' | 'running' | 'provisioning') =>
    its.get('/sessions', { query: { status, limit: sessionsMax } })
  const [open, failed, running, starting] = await Promise.all([
    openChangeRequests(its),
    sessions('failed'),
    sessions('running'),
    sessions('provisioning'),
  ])
  const previewed = await inTurns(open.slice(0, previewsMax), atOnce, async (cr) => ({
    cr,
    preview: await its.get('/change-requests/{crId}/merge-preview', { path: { crId: cr.cr_id } }),
  }))
  return {
    project,
    clean: previewed.filter(({ preview }) => preview.can_merge && !preview.is_up_to_date),
    conflicted: previewed.filter(({ preview }) => !preview.can_merge),
    waiting: previewed.filter(({ preview }) => preview.can_merge && preview.is_up_to_date),
    asking: running.filter(isAsking),
    failed,
    running: [...starting, ...running.filter((session) => !isAsking(session))],
    more: open.length - previewed.length,
  }
}

const isAsking = (session: Session) => session.waiting_for === 'person'

/** A viewer may read sessions but not change requests: print less instead of an error. */
async function openChangeRequests(project: ProjectClient): Promise<ChangeRequest[]> {
  try {
    return (await project.get('/change-requests', { query: { status: 'open', limit: 1000 } })).change_requests
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'forbidden') return []
    throw error
  }
}

async function inTurns<T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < items.length; at += limit)
    results.push(...(await Promise.all(items.slice(at, at + limit).map(work))))
  return results
}

function asDocument({ project, clean, conflicted, waiting, asking, failed, running, more }: Found) {
  const both = ({ cr, preview }: Previewed) => ({ change_request: cr, merge_preview: preview })
  return {
    project_id: project.project_id,
    slug: project.slug,
    clean: clean.map(both),
    conflicted: conflicted.map(both),
    nothing_to_merge: waiting.map(both),
    waiting_for_you: asking,
    failed,
    running: [...asking, ...running],
    change_requests_left_out: more,
  }
}

/** For a program: kind, project, number or id, text. */
function printRows({ out }: Context, found: readonly Found[]): void {
  const rows = found.flatMap((one) => {
    const { slug } = one.project
    const crs = (kind: string, some: Previewed[]) =>
      some.map(({ cr, preview }) => [kind, slug, `#${cr.number}`, cr.title, preview.conflicts.join(' ')])
    const sessions = (kind: string, some: Session[]) =>
      some.map((session) => [kind, slug, session.session_id, session.name, session.error ?? ''])
    return [
      ...crs('clean', one.clean),
      ...crs('conflicted', one.conflicted),
      ...crs('nothing-to-merge', one.waiting),
      ...sessions('waiting-for-you', one.asking),
      ...sessions('failed', one.failed),
      ...sessions('running', one.running),
    ]
  })
  out.table(
    rows,
    Array.from({ length: 5 }, (_, i) => ({ title: '', of: (row: string[]) => row[i]! })),
  )
}

function printPeople(ctx: Context, found: readonly Found[], chosen: boolean): void {
  const { out } = ctx
  const busy = found.filter(({ clean, conflicted, waiting, asking, failed, running }) =>
    [clean, conflicted, waiting, asking, failed, running].some((list) => list.length > 0),
  )
  if (busy.length === 0)
    return out.note(
      `Nothing needs your attention and nothing is running. Start a session: ${ctx.next('svc sessions new --prompt "<what to do>"')}`,
    )
  busy.forEach((one, i) => {
    if (i > 0) out.line()
    out.line(bold(one.project.slug))
    section(ctx, yellow('Waiting for you'), one.asking, (session) => [
      next(ctx, `svc sessions answer ${shortId(session.session_id, true)}`, one, chosen),
      session,
    ])
    section(
      ctx,
      green('Clean to merge'),
      one.clean,
      crLine((p) => (p.can_fast_forward ? 'fast-forward' : 'merge commit')),
    )
    section(
      ctx,
      red('In conflict'),
      one.conflicted,
      crLine(({ conflicts }) => conflictWords(conflicts)),
    )
    section(
      ctx,
      dim('Nothing to merge yet'),
      one.waiting,
      crLine(() => ''),
    )
    section(ctx, red('Failed'), one.failed, (session) => [session.error ?? '', session])
    section(ctx, yellow('Running'), one.running, (session) => [
      isStarting(session) ? 'starting' : `active ${out.time(session.last_active_at)}`,
      session,
    ])
    if (one.more > 0) out.note(`  ${one.more} more are open: ${next(ctx, 'svc cr ls', one, chosen)}`)
  })
  const [first] = busy.flatMap((one) => one.clean.map(({ cr }) => ({ cr, one })))
  if (first === undefined) return
  const verbs = ['diff', 'merge'].map((verb) => next(ctx, `svc cr ${verb} ${first.cr.number}`, first.one, chosen))
  out.note(verbs.join(' · '))
}

/** With several projects on the screen, each command names its project. */
function next(ctx: Context, command: string, { project }: Found, chosen: boolean): string {
  return chosen ? ctx.next(command) : `${command} --project ${project.slug}`
}

type Line = readonly [words: string, of: ChangeRequest | Session]

function crLine(words: (preview: MergePreview) => string): (previewed: Previewed) => Line {
  return ({ cr, preview }) => [words(preview), cr]
}

function section<T>({ out }: Context, title: Piece, items: readonly T[], lineOf: (item: T) => Line): void {
  if (items.length === 0) return
  out.line('  ', title)
  const rows = items.map(lineOf)
  out.table(
    rows,
    [
      { title: '', of: () => '   ' },
      { title: '', of: ([, of]) => ('cr_id' in of ? `#${of.number}` : shortId(of.session_id, true)) },
      { title: '', of: ([, of]) => ('cr_id' in of ? of.title : of.name), shrink: true },
      { title: '', of: ([words]) => dim(words), shrink: true },
    ],
    { titles: false },
  )
}

function conflictWords(files: readonly string[]): string {
  return files.length === 1 ? files[0]! : count(files.length, 'file')
}
