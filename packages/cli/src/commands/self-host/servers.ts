import { aheadText } from '@svc/contract/clocks'
import { count } from '@svc/contract/count'
import { ServiceError } from '@svc/contract/errors'
import { command } from '../../arguments/command.ts'
import { quote } from '../../arguments/shell-word.ts'
import type { Context } from '../../context.ts'
import { Refusal, UsageError } from '../../errors.ts'
import { Outage } from '../../event-stream.ts'
import { dim, green, red, yellow } from '../../terminal/output.ts'
import { duration } from '../../terminal/time.ts'

export const servers = command({
  summary: 'List the servers that share a database, and the projects that move between them',
  about: ['For owners of the first account.'],
  scope: 'host',
  flags: { projects: { kind: 'switch', summary: 'Also list where each project is, and its copy' } },
  examples: ['svc self-host servers', 'svc self-host servers --projects', 'svc self-host servers --json'],
  async run(ctx, { flags }) {
    const { out } = ctx
    const found = await readServers(ctx, flags.projects ? { include: 'projects' } : {})
    if (out.json) return out.document(found)
    out.table(found.servers, [
      { title: 'SERVER', of: ({ name }) => name },
      { title: 'STATE', of: stateOf },
      // Projects of a server that runs alone name no home.
      { title: 'PROJECTS', of: ({ projects, peer_url }) => (peer_url === null ? dim('all') : String(projects)) },
      { title: 'COPIES', of: ({ copies }) => String(copies ?? '') },
      { title: 'LAST SEEN', of: ({ last_seen }) => lastSeen(ctx, last_seen) },
      // Whole on a narrow terminal too, where it wraps: it is what to copy.
      { title: 'PEER URL', of: ({ peer_url }) => peer_url ?? dim('runs alone') },
    ])
    warnNotRunning(
      ctx,
      found.servers.filter(({ running }) => !running).map(({ name }) => name),
    )
    showProblems(ctx, found.servers)
    showPlaces(ctx, found.projects)
    const moves = found.servers.flatMap((each) => each.moves)
    if (moves.length === 0) return
    out.line()
    out.table(moves, [
      { title: 'MOVING PROJECT', of: ({ project_slug, project_id }) => project_slug ?? project_id },
      { title: 'FROM', of: ({ from }) => from },
      { title: 'TO', of: ({ to }) => to },
      { title: 'PHASE', of: ({ phase }) => phase },
      { title: 'WAITS FOR', of: ({ waits_for, error }) => waits_for ?? error ?? '', shrink: true },
    ])
  },
})

const readServers = ({ api }: Context, query: { include?: 'projects' } = {}) => api.get('/v1/servers', { query })

type Listed = Awaited<ReturnType<typeof readServers>>['servers'][number]

/** A server counts as gone 20 seconds after its last heartbeat, so minutes say too little. */
function lastSeen({ io, out }: Context, iso: string | null): string {
  if (iso === null) return ''
  const seconds = Math.floor((io.now() - Date.parse(iso)) / 1000)
  return out.terminal && seconds >= 0 && seconds < 120 ? `${seconds} s ago` : out.time(iso)
}

export function warnNotRunning({ out, next }: Context, names: string[]): void {
  for (const name of names)
    out.warn(
      `${name} does not run. Start it again, or if it is gone for good: ${next(`svc self-host take-over ${name}`)}`,
    )
}

function clockText(name: string, seconds: number): string {
  return `The clock of ${name} is ${aheadText(seconds)} that of the database`
}

function showProblems({ out }: Context, servers: Listed[]): void {
  for (const { name, sandbox_problem, clock_ahead_seconds: seconds, disk_low, different_settings } of servers) {
    // Servers of earlier versions say none of these.
    if (seconds != null)
      out.warn(
        `${clockText(name, seconds)}. The other servers refuse its requests, and it gets no projects while another server can take them. Synchronize it on that machine: timedatectl set-ntp true`,
      )
    if (disk_low)
      out.warn(
        `The disk of ${name} is almost full, so it gets no projects while another server can take them. Free space in its data folder.`,
      )
    if (sandbox_problem != null)
      out.warn(`${name} cannot start sandboxes, so it gets no projects while another server can: ${sandbox_problem}`)
    for (const { name: setting, value, here } of different_settings ?? [])
      out.warn(
        `${setting} is ${value || 'not set'} on ${name}, and ${here || 'not set'} on the server that answered. Set the same on every server.`,
      )
  }
}

function showPlaces({ out }: Context, projects: Awaited<ReturnType<typeof readServers>>['projects']): void {
  if (projects === undefined) return
  out.line()
  out.table(projects, [
    { title: 'PROJECT', of: ({ slug, deleted }) => (deleted ? `${slug} (deleted)` : slug), shrink: true },
    { title: 'HOME', of: ({ home }) => home ?? dim('none yet') },
    { title: 'COPY', of: ({ copy }) => copy ?? dim('none') },
    { title: 'ID', of: ({ project_id }) => project_id },
  ])
}

interface State {
  running: boolean
  reachable: boolean | null
  keeps_projects: boolean
  draining: boolean
  sandboxes?: 'ready' | 'missing' | null
  clock_ahead_seconds?: number | null
  disk_low?: boolean
}

function stateOf({ running, reachable, keeps_projects, draining, sandboxes, clock_ahead_seconds, disk_low }: State) {
  if (!running) return red('not running')
  if (reachable === false) return red('not reachable')
  if (draining) return yellow('draining')
  if (clock_ahead_seconds != null) return yellow('running, wrong clock')
  if (disk_low) return yellow('running, full disk')
  if (sandboxes === 'missing') return yellow('running, no sandboxes')
  return keeps_projects ? green('running') : green('running, keeps no projects')
}

export const move = command({
  summary: 'Move a project to another server while it is used',
  about: [
    'For owners and admins of its account. The repository is copied first. Then writes wait for some seconds, and sessions and apps start again at the other server, with their unfinished work.',
    'The move waits for agents that work. --force ends their turns instead, also of a move that waits already. --cancel ends a move that has not switched yet; the project stays where it is.',
  ],
  scope: 'host',
  args: {
    project: { summary: 'Id or slug of the project', names: 'project' },
    server: { summary: 'Name of the server that becomes its home', optional: true },
  },
  flags: {
    cancel: { kind: 'switch', summary: 'Cancel the move of the project instead' },
    force: { kind: 'switch', summary: 'End the turns of agents that work, and give up work that cannot be saved' },
    wait: { kind: 'switch', summary: 'Wait until the move has ended; fail with the reason if the project stays' },
  },
  examples: [
    'svc self-host move website server-2',
    'svc self-host move website server-2 --force --wait',
    'svc self-host move website --cancel',
  ],
  async run(ctx, { args: { project, server }, flags }) {
    const { out, api, next } = ctx
    const path = { projectId: project }
    if (flags.cancel === true) {
      if (server !== undefined || flags.force === true || flags.wait === true)
        throw new UsageError('--cancel takes the project alone.', {
          next: [next(`svc self-host move ${quote(project)} --cancel`)],
        })
      const home = await api.delete('/v1/projects/{projectId}/home/move', { path })
      return out.done(home, `${project} stays at ${home.server}`)
    }
    if (server === undefined)
      throw new UsageError('Missing <server>', { next: [next(`svc self-host move ${quote(project)} <server>`)] })
    const body = { server, force: flags.force === true }
    const asked = api.post('/v1/projects/{projectId}/home', { path, body })
    const home = flags.wait
      ? await asked.catch((error: unknown) => runningMove(ctx, { project, server }, error))
      : await asked
    if (flags.wait) return out.done(await untilMoved(ctx, { project, server }, home), `${project} is at ${server}`)
    out.done(home, `${project} begins to move to ${server}`)
    out.note(`Follow it: ${next('svc self-host servers')}`)
  },
})

type Home = Awaited<ReturnType<typeof readHome>>

const readHome = (ctx: Context, projectId: string) =>
  ctx.api.get('/v1/projects/{projectId}/home', { path: { projectId } })

/** `--wait` follows a move to the same server that runs already. */
async function runningMove(ctx: Context, to: { project: string; server: string }, error: unknown): Promise<Home> {
  if (!(error instanceof ServiceError) || error.code !== 'conflict') throw error
  const home = await readHome(ctx, to.project)
  if (home.move === null || home.move.ended_at !== null || home.move.to !== to.server) throw error
  return home
}

const lookEveryMs = 1_000

/** The service ends a move that does not get on, so this waits for as long as it goes on. */
async function untilMoved(ctx: Context, args: { project: string; server: string }, asked: Home): Promise<Home> {
  const { io, out } = ctx
  const began = io.now()
  // The server that answers may be one that restarts, and during the switch the project answers 503.
  const outage = new Outage(ctx, {
    isReached: true,
    hint: () => 'The move goes on without this command.',
    next: [
      ctx.next(`svc self-host move ${quote(args.project)} ${args.server} --wait`),
      ctx.next('svc self-host servers'),
    ],
  })
  let shown = ''
  for (let home = asked; ; home = await outage.until(() => readHome(ctx, args.project))) {
    const { move } = home
    if (move === null || move.move_id !== asked.move?.move_id || move.ended_at !== null) {
      if (home.server === args.server) return home
      throw new Refusal('not_available', `${args.project} stays at ${home.server}.`, {
        hint: move?.error ?? 'Another move followed.',
      })
    }
    const at = move.waits_for === null ? move.phase : `${move.phase}: ${move.waits_for}`
    if (at !== shown) out.progress(at)
    shown = at
    out.passing(duration(io.now() - began))
    await io.sleep(lookEveryMs)
  }
}

export const drain = command({
  summary: 'Move all projects and copies away from a server, before you remove it',
  about: [
    'For owners of the first account. The server takes no new projects, and copies only while no other one can keep them, until the drain is ended with --off.',
  ],
  scope: 'host',
  args: { server: { summary: 'Name of the server' } },
  flags: {
    off: {
      kind: 'switch',
      summary: 'End the drain; projects that have moved stay there, and moves that have begun go on',
    },
    wait: {
      kind: 'switch',
      summary:
        'Wait until the server keeps no project and no copy that another could keep; fail if its drain was ended before',
    },
  },
  examples: ['svc self-host drain server-1 --wait', 'svc self-host drain server-1 --off'],
  async run(ctx, { args, flags }) {
    const { out, api, next } = ctx
    const off = flags.off === true
    const drained = await api.post('/v1/servers/{serverName}/drain', {
      path: { serverName: args.server },
      body: { off },
    })
    if (flags.wait && !off) {
      const isRunning = await untilEmpty(ctx, args.server)
      out.done(drained, `${args.server} keeps no project`)
      if (isRunning)
        out.note(
          `Stop it now, on its machine, with what started it: ${next('svc self-host stop')}, systemctl, or the engine of its container`,
        )
      return
    }
    out.done(drained, off ? `The drain of ${args.server} has ended` : `${args.server} is being drained`)
    await warnIfSilent(ctx, args.server, off)
    if (!off) out.note(`Wait until it is empty: ${next(`svc self-host drain ${args.server} --wait`)}`)
  },
})

/** The drain is a mark in the database, which another server sets for one that is paused or away. */
async function warnIfSilent(ctx: Context, name: string, off: boolean): Promise<void> {
  const { servers } = await readServers(ctx)
  const server = servers.find((each) => each.name === name)
  if (off) for (const each of server?.moves ?? []) noteMove(ctx, each)
  else if (server !== undefined) warnOfClock(ctx, clockToWaitFor(server, takersOf(servers, name)))
  if (server !== undefined && server.running && server.reachable !== false) return
  const what = server?.running === true ? 'does not answer' : 'does not run'
  const then = off ? 'it takes no projects until it does' : 'it hands over no projects until it does'
  const { out, next } = ctx
  out.warn(`${name} ${what}, so ${then}. It may be paused or overloaded, or cut off from the others.`)
  out.note(`Look at its process on its machine: ${next('svc self-host status')}`)
  out.note(`If it is gone for good: ${next(`svc self-host take-over ${name}`)}`)
}

interface Clock {
  name: string
  seconds: number
}

/** Servers with another clock neither hand over projects nor take them. Null: the drain waits for no clock. */
function clockToWaitFor(server: Listed, takers: Listed[]): Clock | null {
  // Servers of earlier versions do not say it.
  const clockOf = ({ name, clock_ahead_seconds: seconds }: Listed) => (seconds == null ? null : { name, seconds })
  const ofTakers = takers.map(clockOf)
  return clockOf(server) ?? (ofTakers.includes(null) ? null : (ofTakers[0] ?? null))
}

function warnOfClock({ out }: Context, clock: Clock | null): void {
  if (clock === null) return
  out.warn(
    `${clockText(clock.name, clock.seconds)}, so the drain waits until it is right. Synchronize it on that machine: timedatectl set-ntp true`,
  )
}

function takersOf(servers: Listed[], name: string): Listed[] {
  return servers.filter((each) => each.name !== name && each.running && each.keeps_projects && !each.draining)
}

/** The end of a drain ends no move: a person may have asked for it, and each is cancelled by itself. */
function noteMove({ out, next }: Context, { project_slug, project_id, to }: Listed['moves'][number]): void {
  const project = project_slug ?? project_id
  out.warn(`${project} still moves to ${to}. To keep it: ${next(`svc self-host move ${quote(project)} --cancel`)}`)
}

/** Longer than a restart takes. */
const absentMsMax = 60_000

/** Returns whether the server runs. */
async function untilEmpty(ctx: Context, name: string): Promise<boolean> {
  const { io, out, next } = ctx
  const outage = new Outage(ctx, {
    isReached: true,
    hint: () => `${name} is still being drained.`,
    next: [next(`svc self-host drain ${name} --wait`), next('svc self-host servers')],
  })
  // A server that did not run at first is not restarting.
  let ableAt = Number.NEGATIVE_INFINITY
  let warned: string | undefined
  for (;;) {
    const { servers } = await outage.until(() => readServers(ctx))
    const server = servers.find((each) => each.name === name)
    // One that neither runs nor keeps a project is not listed.
    if (server === undefined) return false
    // Servers of earlier versions say nothing of copies, nor of projects that cannot move.
    const { projects, copies_to_move: copies = 0, unmovable = [] } = server
    // Without the server, its copies are made at others from their homes.
    if (projects === 0 && (copies === 0 || !server.running)) return server.running
    const left = projects > 0 ? count(projects, 'project') : count(copies, 'copy')
    if (!server.draining) throw new Refusal('not_available', `The drain of ${name} was ended. It keeps ${left}.`)
    if (server.running && projects > 0 && unmovable.length >= projects) throw stuck(ctx, server)
    const takers = takersOf(servers, name)
    const clock = server.running && projects > 0 ? clockToWaitFor(server, takers) : null
    if (clock?.name !== warned) warnOfClock(ctx, clock)
    warned = clock?.name
    // The home of a project cannot keep its copy, too.
    if (server.running && takers.length >= (projects > 0 ? 1 : 2)) ableAt = io.now()
    else if (io.now() - ableAt > absentMsMax) throw unable(ctx, { name, left, isRunning: server.running })
    const waits = server.moves.find(({ waits_for }) => waits_for !== null)?.waits_for
    out.passing(`${left} left. ${waits ?? ''}`.trim())
    await io.sleep(lookEveryMs)
  }
}

const namedMax = 10

function stuck({ next }: Context, { name, unmovable }: Pick<Listed, 'name' | 'unmovable'>): Refusal {
  const names = unmovable.slice(0, namedMax).map(({ project_slug }) => project_slug)
  const more = unmovable.length > namedMax ? `, and ${unmovable.length - namedMax} more` : ''
  const reasons = [...new Set(unmovable.map(({ reason }) => reason))].slice(0, namedMax)
  return new Refusal('not_available', `${name} cannot hand over ${names.join(', ')}${more}: ${reasons.join(' ')}`, {
    hint: `Where a repository is missing on its disk, restore it from a backup; or stop ${name} and take it over, which goes on with the copies. ${name} stays drained, and tries again every ten minutes.`,
    next: [next(`svc self-host take-over ${name}`)],
  })
}

function unable(
  { next }: Context,
  { name, left, isRunning }: { name: string; left: string; isRunning: boolean },
): Refusal {
  if (isRunning)
    return new Refusal('not_available', `No other server is running that could take the ${left} of ${name}.`, {
      hint: `Start another server. ${name} stays drained until then.`,
      next: [next('svc self-host servers')],
    })
  return new Refusal('not_available', `${name} does not run, so it cannot hand over its ${left}.`, {
    hint: 'Start it, or take it over if it is gone for good. It stays drained until then.',
    next: [next(`svc self-host take-over ${name}`)],
  })
}
