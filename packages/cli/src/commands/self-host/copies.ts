/** The copies of repositories on other servers, and the end of a server for good. */
import { count } from '@svc/contract/count'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { confirm } from '../../terminal/ask.ts'
import { bold, dim, green, red, yellow } from '../../terminal/output.ts'
import { openAgain } from '../cr/cr.ts'
import { warnNotRunning } from './servers.ts'

type Reply = Awaited<ReturnType<typeof request>>
type Taken = Reply['projects'][number]

export const takeOver = command({
  summary: 'Give the projects of a server that is gone for good a new home',
  about: [
    'For several servers on one database. Each project goes to the server that keeps the copy of its repository. Sessions of the server that is gone become stopped and can be started again with their saved work. Refused while that server runs.',
    'A project whose copy lacks acknowledged changes stays where it is, and the command lists them; --accept-loss takes it without them. A change request whose merge is lost stays merged, and the command names it. Run the command again after you started a server that was needed. Exit code 1 if a project was not taken.',
    "Needs an owner of the server's first account.",
  ],
  scope: 'host',
  args: { server: { summary: 'Name of the server that is gone' } },
  flags: {
    'accept-loss': { kind: 'switch', summary: 'Also take projects whose copy lacks acknowledged changes' },
    yes: { kind: 'switch', summary: "Don't ask" },
  },
  examples: ['svc self-host take-over server-1', 'svc self-host take-over server-1 --yes --json'],
  async run(ctx, { args, flags }) {
    if (!ctx.interactive || flags.yes || (await keepsSomething(ctx, args.server)))
      await confirm(ctx, {
        question: `Take over the projects of ${args.server}? Its own data is not used any more.`,
        yes: flags.yes,
        corrected: `svc self-host take-over ${args.server} --yes`,
      })
    const projects: Taken[] = []
    for (let remaining = 1; remaining > 0;) {
      const reply = await request(ctx, args.server, {
        accept_loss: flags['accept-loss'],
        after: projects.at(-1)?.project_id,
      })
      projects.push(...reply.projects)
      remaining = reply.projects.length === 0 ? 0 : reply.remaining
    }
    const left = projects.filter(({ outcome }) => outcome !== 'taken')
    if (ctx.out.json) ctx.out.document({ server: args.server, projects })
    else show(ctx, args.server, projects)
    if (left.length === 0) return
    throw new Refusal(
      'not_available',
      `${left.length} of ${count(projects.length, 'project')} ${left.length === 1 ? 'has' : 'have'} no new home yet.`,
      {
        hint: 'The list above says what each of them needs.',
      },
    )
  },
})

/** One that is not listed has nothing to take, or is none, which the service says. */
async function keepsSomething({ api }: Context, name: string): Promise<boolean> {
  const { servers } = await api.get('/v1/servers', { query: {} })
  return servers.some((each) => each.name === name)
}

function request(ctx: Context, server: string, body: { accept_loss: boolean; after: string | undefined }) {
  return ctx.api.post('/v1/servers/{serverName}/take-over', { path: { serverName: server }, body })
}

function show({ out, next }: Context, server: string, projects: Taken[]): void {
  if (projects.length === 0) return out.line(green('✓ '), `${server} is the home of no project`)
  for (const project of projects) {
    out.line(...lineOf(project, server))
    for (const { ref, acknowledged, copy } of project.missing)
      out.line(
        '    ',
        dim(`${ref}: ${acknowledged.slice(0, 12)} was acknowledged; the copy has ${copy?.slice(0, 12) ?? 'nothing'}`),
      )
    const isTaken = project.outcome === 'taken'
    for (const lost of lostOf(project)) {
      const { number, title, base_ref } = lost
      const loss = isTaken ? `is not in ${base_ref}` : `would not be in ${base_ref}`
      out.line('    ', yellow('! '), bold(`#${number} ${title}`), ` was merged, and ${loss}.`)
      if (isTaken) out.line('      To merge it again: ', next(`${openAgain(lost)} --project ${project.slug}`))
    }
  }
}

/** Servers of earlier versions name none. */
const lostOf = ({ lost_merges = [] }: Partial<Taken>) => lost_merges

function lineOf({ slug, outcome, server, error, is_stale }: Taken, gone: string) {
  const stale = is_stale ? ' Its copy is older than the recorded changes, so more may be lost than is listed.' : ''
  switch (outcome) {
    case 'taken': {
      const where = server === null ? '' : ` at ${server}`
      return [green('✓ '), bold(slug), `${where}.${stale}`]
    }
    case 'would-lose':
      return [
        yellow('! '),
        bold(slug),
        `: acknowledged changes would be lost.${stale} --accept-loss takes it without them.`,
      ]
    case 'no-copy':
      return [
        red('✗ '),
        bold(slug),
        `: no server has a copy. If the disk of ${gone} is intact, start ${gone} again. Otherwise restore its data folder from a backup and start it.`,
      ]
    case 'copy-not-running':
      return [
        red('✗ '),
        bold(slug),
        `: its copy is on ${server}, which does not run or does not answer. Start it first.`,
      ]
    case 'failed':
      return [red('✗ '), bold(slug), `: ${server} could not take it: ${error ?? ''}`]
    default:
      return outcome satisfies never
  }
}

const readCopies = (ctx: Context) => ctx.api.get('/v1/copies')

export const copies = command({
  summary:
    'List the projects without a current copy of their repository on another server, or with one that takes no changes',
  about: [
    'For several servers on one database: with SVC_REPLICA=sync or async another server keeps a copy of each repository. Exit code 1 if a project has none, except where its home makes it at this moment, as after a move, or if a change could not be written to it.',
    "Needs an owner of the server's first account.",
  ],
  scope: 'host',
  examples: ['svc self-host copies', 'svc self-host copies --json'],
  async run(ctx) {
    const { out } = ctx
    const found = await readCopies(ctx)
    if (out.json) out.document(found)
    else if (found.mode === 'none') out.line('Servers here keep no copies (SVC_REPLICA).')
    else if (found.count === 0) out.line(green('✓ '), 'Every project has a current copy')
    else {
      out.table(found.projects, [
        { title: 'PROJECT', of: ({ slug }) => slug, shrink: true },
        { title: 'HOME', of: ({ home }) => home ?? '' },
        { title: 'COPY', of: copyText },
      ])
      for (const { slug, error } of found.projects)
        if (error) out.line(yellow('! '), bold(slug), `: the last attempt to copy it failed: ${error}`)
    }
    const lacking = found.projects.filter((each) => !isBeingMade(each))
    if (lacking.length === 0) return
    const gone = await stoppedHomes(ctx, lacking)
    const stopped = lacking.map(stoppedKeeper).filter((name) => name !== null)
    if (!out.json) warnNotRunning(ctx, [...new Set([...gone, ...stopped])])
    const others = lacking.filter(({ home }) => home === null || !gone.includes(home))
    const hasFailed = others.some(({ error }) => error)
    throw new Refusal('not_available', lackText(lacking), {
      hint: hasFailed
        ? 'The home tries again and again. Mend the reason on the server that it names; its log has more.'
        : others.length === 0
          ? 'Their home does not run: start it, or take it over.'
          : 'A running home makes one as soon as another server that keeps copies runs.',
    })
  },
})

/** A home that does not run makes no copy, whichever other servers run. */
async function stoppedHomes({ api }: Context, lacking: { home: string | null }[]): Promise<string[]> {
  const { servers } = await api.get('/v1/servers', { query: {} })
  const names = servers.filter(({ running }) => !running).map(({ name }) => name)
  return names.filter((name) => lacking.some(({ home }) => home === name))
}

type Uncopied = Pick<
  Awaited<ReturnType<typeof readCopies>>['projects'][number],
  'replica' | 'behind' | 'being_made' | 'changes_refused'
>

// Servers of earlier versions say neither.
const isBeingMade = ({ being_made = false }: Partial<Uncopied>) => being_made
const isRefused = ({ changes_refused = false }: Partial<Uncopied>) => changes_refused

function lackText(lacking: Uncopied[]): string {
  const projects = count(lacking.length, 'project')
  if (lacking.every(isRefused)) return `Changes of ${projects} are refused, because the copy cannot be written.`
  return `${projects} without a current copy${lacking.some(isRefused) ? ', or with one that cannot be written' : ''}.`
}

/**
 * A complete copy that takes changes is listed only when its server does not run. Null: the copy lacks something, takes
 * no changes, or there is none.
 */
const stoppedKeeper = (copy: Uncopied) => (copy.behind === 0 && !isRefused(copy) ? copy.replica : null)

function copyText(copy: Uncopied): string {
  const { replica, behind } = copy
  if (isBeingMade(copy)) return 'being made'
  if (replica === null) return 'none'
  if (isRefused(copy)) return `${replica}, which takes no changes`
  if (behind === null) return `${replica}, of an earlier home`
  return stoppedKeeper(copy) === null
    ? `${replica}, ${count(behind, 'change')} behind`
    : `${replica}, which does not run`
}
