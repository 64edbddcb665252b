import { z } from 'zod'
import { named, route, timestamp, uuid, wholeList } from '../route.ts'

export const movePhases = ['copying', 'copied', 'frozen', 'done', 'failed'] as const
export const moveCauses = ['request', 'balance', 'drain'] as const

export const projectMove = named('ProjectMove', {
  move_id: uuid,
  project_id: uuid,
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
  keeps_projects: z.boolean().describe('Whether it has the role `worker`. False while it does not run.'),
  draining: z.boolean(),
  projects: z.number().int(),
  last_seen: timestamp.nullable(),
  moves: z.array(projectMove).describe('The active moves of projects away from it.'),
})
export type Server = z.infer<typeof server>

export const listServersRoute = route.get('user', '/v1/servers', {
  name: 'listServers',
  summary: 'List the servers of this database',
  description: 'Only for owners of the first account: servers that run or keep projects.',
  ...wholeList('servers', 'name'),
  reply: z.object({ servers: z.array(server) }),
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
    'Answers at once; the move goes on in the background. The repository is copied while the project is used. Then its sandboxes end with their work saved, writes wait for some seconds, and sessions and apps start again at the other server. The move waits for agents that work, up to 30 minutes; with `force` their turns end.',
  body: z.object({ server: z.string().min(1).max(63), force: z.boolean().default(false) }),
  errors: ['conflict'],
  deleted: 'too',
  status: 202,
  reply: projectHome,
})
