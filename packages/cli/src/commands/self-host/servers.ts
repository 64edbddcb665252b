import { command } from '../../arguments/command.ts'
import { dim, green, red, yellow } from '../../terminal/output.ts'

export const servers = command({
  summary: 'List the servers that share a database, and the projects that move between them',
  about: ['For owners of the first account.'],
  scope: 'host',
  examples: ['svc self-host servers', 'svc self-host servers --json'],
  async run({ out, api }) {
    const found = await api.get('/v1/servers')
    if (out.json) return out.document(found)
    out.table(found.servers, [
      { title: 'SERVER', of: ({ name }) => name, shrink: true },
      { title: 'STATE', of: stateOf },
      { title: 'PROJECTS', of: ({ projects }) => String(projects) },
      { title: 'PEER URL', of: ({ peer_url }) => peer_url ?? dim('runs alone') },
      { title: 'LAST SEEN', of: ({ last_seen }) => (last_seen === null ? '' : out.time(last_seen)) },
    ])
    const moves = found.servers.flatMap((each) => each.moves)
    if (moves.length === 0) return
    out.line()
    out.table(moves, [
      { title: 'MOVING PROJECT', of: ({ project_id }) => project_id },
      { title: 'FROM', of: ({ from }) => from },
      { title: 'TO', of: ({ to }) => to },
      { title: 'PHASE', of: ({ phase }) => phase },
      { title: 'WAITS FOR', of: ({ waits_for, error }) => waits_for ?? error ?? '', shrink: true },
    ])
  },
})

interface State {
  running: boolean
  reachable: boolean | null
  keeps_projects: boolean
  draining: boolean
}

function stateOf({ running, reachable, keeps_projects, draining }: State) {
  if (!running) return red('not running')
  if (reachable === false) return red('not reachable')
  if (draining) return yellow('draining')
  return keeps_projects ? green('running') : green('running, passes on only')
}

export const move = command({
  summary: 'Move a project to another server while it is used',
  about: [
    'For owners and admins of its account. The repository is copied first. Then writes wait for some seconds, and sessions and apps start again at the other server, with their unfinished work.',
    'The move waits for agents that work. --force ends their turns instead.',
  ],
  scope: 'host',
  args: {
    project: { summary: 'Id or slug of the project', names: 'project' },
    server: { summary: 'Name of the server that becomes its home' },
  },
  flags: {
    force: { kind: 'switch', summary: 'End the turns of agents that work, and give up work that cannot be saved' },
  },
  examples: ['svc self-host move website server-2', 'svc self-host move website server-2 --force'],
  async run({ out, api, next }, { args, flags }) {
    const body = { server: args.server, force: flags.force === true }
    const home = await api.post('/v1/projects/{projectId}/home', { path: { projectId: args.project }, body })
    out.done(home, `${args.project} begins to move to ${args.server}`)
    out.note(`Follow it: ${next('svc self-host servers')}`)
  },
})

export const drain = command({
  summary: 'Move all projects away from a server, before you remove it',
  about: ['For owners of the first account. The server takes no new projects until the drain is ended with --off.'],
  scope: 'host',
  args: { server: { summary: 'Name of the server' } },
  flags: { off: { kind: 'switch', summary: 'End the drain; projects that have moved stay where they are' } },
  examples: ['svc self-host drain server-1', 'svc self-host drain server-1 --off'],
  async run({ out, api, next }, { args, flags }) {
    const off = flags.off === true
    const drained = await api.post('/v1/servers/{serverName}/drain', {
      path: { serverName: args.server },
      body: { off },
    })
    out.done(drained, off ? `${args.server} takes projects again` : `${args.server} is being drained`)
    if (!off) out.note(`It is empty when it keeps 0 projects: ${next('svc self-host servers')}`)
  },
})
