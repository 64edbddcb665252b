import { z } from 'zod'
import { named, pageOfWhole, route, timestamp, uuid, wholeList } from '../route.ts'

export const movePhases = ['copying', 'copied', 'frozen', 'done', 'failed'] as const
export const moveCauses = ['request', 'balance', 'drain'] as const

export const projectMove = named('ProjectMove', {
  move_id: uuid,
  project_id: uuid,
  project_slug: z.string(),
  from: z.string(),
  to: z.string(),
  phase: z
    .enum(movePhases)
    .describe(
      '`copying` while the project is used; `copied`: its home hands it over once no agent works; `frozen`: writes wait for the switch.',
    ),
  cause: z.enum(moveCauses),
  force: z.boolean(),
  waits_for: z.string().nullable().describe('Why the move does not go on at the moment.'),
  error: z.string().nullable(),
  requested_at: timestamp,
  ended_at: timestamp.nullable(),
})
export type ProjectMove = z.infer<typeof projectMove>

export const projectHome = named('ProjectHome', {
  server: z.string().nullable().describe('The server that keeps the project; null where a server runs alone.'),
  move: projectMove.nullable().describe('The last move of the project, which may still be active.'),
})

export type ProjectHome = z.infer<typeof projectHome>

export const server = named('Server', {
  name: z.string(),
  peer_url: z.string().nullable().describe('How the other servers reach it; null for a server that runs alone.'),
  running: z.boolean(),
  reachable: z
    .boolean()
    .nullable()
    .describe('Whether it answers the server that took this request; null for that server itself.'),
  keeps_projects: z.boolean().describe('Whether it has the role `worker`, or runs alone. False while it does not run.'),
  draining: z.boolean(),
  sandboxes: z
    .enum(['ready', 'missing'])
    .nullable()
    .describe(
      'Whether sandboxes can start there. With `missing` it gets no projects while another server can take them. Null: not known, or it keeps no projects.',
    ),
  sandbox_problem: z.string().nullable().describe('Why sandboxes cannot start there.'),
  clock_ahead_seconds: z
    .number()
    .int()
    .nullable()
    .describe(
      "By how many seconds its clock is ahead of the database's, or behind when it is negative. The other servers refuse its requests then, and it gets no projects while another server can take them. Null: by no more than a minute, or it does not run.",
    ),
  disk_low: z
    .boolean()
    .describe(
      'Whether its disk is almost full, so that it accepts no new work. It gets no projects while another server can take them.',
    ),
  different_settings: z
    .array(
      z.object({
        name: z.string(),
        value: z.string().describe('On that server. Empty: not set.'),
        here: z.string().describe('On the server that took this request.'),
      }),
    )
    .describe('Settings that have to be the same on every server, and differ. Of running servers.'),
  projects: z.number().int(),
  copies: z.number().int().describe('Copies of projects of other servers.'),
  copies_to_move: z
    .number()
    .int()
    .describe('Of a draining server: the copies that another server could keep. 0 for others.'),
  unmovable: z
    .array(z.object({ project_id: uuid, project_slug: z.string(), reason: z.string() }))
    .describe(
      'Of a draining server: the projects whose last move failed before anything was copied, such as those without a repository on its disk. They are tried again every ten minutes.',
    ),
  last_seen: timestamp.nullable(),
  moves: z.array(projectMove).describe('The active moves of projects away from it.'),
})
export type Server = z.infer<typeof server>

export const placedProject = named('PlacedProject', {
  project_id: uuid,
  slug: z.string(),
  deleted: z.boolean().describe('It can still be restored.'),
  home: z.string().nullable().describe('The server that keeps it. Null: it has none yet.'),
  copy: z
    .string()
    .nullable()
    .describe('The server with the copy of its repository. `GET /v1/copies` says whether it is current.'),
})

export const listServersRoute = route.get('user', '/v1/servers', {
  name: 'listServers',
  summary: 'List the servers of this database',
  description:
    'Only for owners of the first account: servers that run or keep projects. `include=projects` adds where each project is, up to 5,000 of them.',
  ...wholeList('servers', 'name'),
  query: pageOfWhole.extend({ include: z.enum(['projects']).optional() }),
  example: { query: { include: 'projects' } },
  reply: z.object({ servers: z.array(server), projects: z.array(placedProject).optional() }),
})

export const drainServerRoute = route.post('user', '/v1/servers/:serverName/drain', {
  name: 'drainServer',
  summary: 'Move all projects away from a server, or end that',
  description:
    'Only for owners of the first account. A server that is drained takes no projects, and a job moves its projects to other servers one after another, each when no agent works in it. `off` ends that; projects that have moved stay where they are.',
  body: z.object({ off: z.boolean().default(false) }).optional(),
  errors: ['conflict'],
  reply: z.object({ name: z.string(), draining: z.boolean() }),
})

export const getProjectHomeRoute = route.get('project-admin', '/v1/projects/:projectId/home', {
  name: 'getProjectHome',
  summary: 'Get the server that keeps a project',
  description: 'The home of the project, and its last move.',
  deleted: 'too',
  reply: projectHome,
})

export const moveProjectRoute = route.post('project-admin', '/v1/projects/:projectId/home', {
  name: 'moveProject',
  summary: 'Move a project to another server',
  description:
    'Answers at once; the move goes on in the background. The repository is copied while the project is used. Then its sandboxes end with their work saved, writes wait for some seconds, and sessions and apps start again at the other server. The move waits for agents that work, up to 30 minutes; with `force` their turns end. A second request with `force`, to the same server, forces a move that waits.',
  body: z.object({ server: z.string().min(1).max(63), force: z.boolean().default(false) }),
  errors: ['conflict'],
  deleted: 'too',
  status: 202,
  reply: projectHome,
})

export const cancelMoveRoute = route.delete('project-admin', '/v1/projects/:projectId/home/move', {
  name: 'cancelMove',
  summary: 'Cancel the move of a project',
  description:
    'The project stays at its home. Refused with `conflict` when no move is active, and in the seconds of the switch, which cannot be stopped.',
  errors: ['conflict'],
  deleted: 'too',
  reply: projectHome,
})

const missingRef = named('MissingRef', {
  ref: z.string().describe('Full name of the branch or hidden ref.'),
  acknowledged: z.string().describe('The commit that was acknowledged last.'),
  copy: z.string().nullable().describe('The commit that the copy has. Null: it has none.'),
})

export const lostMerge = named('LostMerge', {
  cr_id: uuid,
  number: z.number().int(),
  title: z.string(),
  base_ref: z.string(),
  head_ref: z.string(),
})
export type LostMerge = z.infer<typeof lostMerge>

export const takenProject = named('TakenProject', {
  project_id: uuid,
  slug: z.string(),
  outcome: z
    .enum(['taken', 'would-lose', 'no-copy', 'copy-not-running', 'failed'])
    .describe(
      '`taken`: it has a new home. `would-lose`: its copy lacks acknowledged changes. `no-copy`: no server has a copy. `copy-not-running`: start the server `server` first. `failed`: the server `server` could not take it, for the reason in `error`.',
    ),
  server: z.string().nullable().describe('The new home, or the server with the copy.'),
  error: z.string().nullable().describe('Why it was not taken; null for other outcomes than `failed`.'),
  missing: z.array(missingRef).describe('Acknowledged changes that the new home does not have, or would not have.'),
  is_stale: z
    .boolean()
    .describe('The copy is older than the changes that the database still lists, so more than `missing` may be lost.'),
  lost_merges: z
    .array(lostMerge)
    .describe(
      'Merged change requests whose merge the new home does not have, or would not have. They stay merged; open a new change request of the head branch to merge it again.',
    ),
})

export const takeOverServerRoute = route.post('user', '/v1/servers/:serverName/take-over', {
  name: 'takeOverServer',
  summary: 'Take over the projects of a server that is gone for good',
  description:
    'Each project gets a new home with the copy of its repository. Refused with `conflict` while that server runs: until five seconds after the end of its process, or, where its machine is gone without closing its connections, 20 seconds after its last heartbeat. Only owners of the instance may do this. Repeat the request while `remaining` is not 0.',
  body: z
    .object({
      accept_loss: z.boolean().default(false).describe('Also take projects whose copy lacks acknowledged changes.'),
      after: uuid.optional().describe('Continue behind this project, the last one of the reply before.'),
    })
    .optional(),
  errors: ['conflict'],
  reply: z.object({
    server: z.string(),
    projects: z.array(takenProject),
    remaining: z.number().int().describe('Projects that this request did not get to.'),
  }),
})

export const listUncopiedRoute = route.get('user', '/v1/copies', {
  name: 'listUncopiedProjects',
  summary: 'List the projects whose repository has no usable copy elsewhere',
  description:
    'With several servers, another server keeps a copy of each repository. Only owners of the instance may read this.',
  ...wholeList('projects', 'project_id'),
  reply: z.object({
    mode: z.enum(['sync', 'async', 'none']).describe('`SVC_REPLICA` of the server that answers.'),
    count: z.number().int(),
    projects: z.array(
      z.object({
        project_id: uuid,
        slug: z.string(),
        home: z.string().nullable(),
        replica: z.string().nullable().describe('The server with an earlier copy.'),
        behind: z
          .number()
          .int()
          .nullable()
          .describe('Acknowledged changes that the copy lacks. Null: there is no current copy.'),
        being_made: z
          .boolean()
          .describe(
            'The project is new, or has moved within the last 30 minutes, and its home and another server run and no attempt has failed: the home makes its copy at this moment.',
          ),
        changes_refused: z
          .boolean()
          .describe(
            'The copy is current and its server runs, but the last change could not be written there, so changes are refused.',
          ),
        error: z.string().nullable().describe('Why its home failed to make or update the copy the last time.'),
      }),
    ),
  }),
})
