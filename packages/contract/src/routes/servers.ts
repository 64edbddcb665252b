import { z } from 'zod'
import { named, route, uuid } from '../route.ts'

const missingRef = named('MissingRef', {
  ref: z.string().describe('Full name of the branch or hidden ref.'),
  acknowledged: z.string().describe('The commit that was acknowledged last.'),
  copy: z.string().nullable().describe('The commit that the copy has. Null: it has none.'),
})

export const takenProject = named('TakenProject', {
  project_id: uuid,
  slug: z.string(),
  outcome: z
    .enum(['taken', 'would-lose', 'no-copy', 'copy-not-running'])
    .describe(
      '`taken`: it has a new home. `would-lose`: its copy lacks acknowledged changes. `no-copy`: no server has a copy. `copy-not-running`: start the server `server` first.',
    ),
  server: z.string().nullable().describe('The new home, or the server with the copy.'),
  missing: z.array(missingRef).describe('Acknowledged changes that the new home does not have, or would not have.'),
  is_stale: z.boolean().describe('The copy is from before the last move of the project.'),
})

export const takeOverServerRoute = route.post('user', '/v1/servers/:serverName/take-over', {
  name: 'takeOverServer',
  summary: 'Take over the projects of a server that is gone for good',
  description:
    'Each project gets a new home with the copy of its repository. Refused with `conflict` while that server runs. Only owners of the instance may do this. Repeat the request while `remaining` is not 0.',
  body: z.object({
    accept_loss: z.boolean().default(false).describe('Also take projects whose copy lacks acknowledged changes.'),
    after: uuid.optional().describe('Continue behind this project, the last one of the reply before.'),
  }),
  reply: z.object({
    server: z.string(),
    projects: z.array(takenProject),
    remaining: z.number().int().describe('Projects that this request did not get to.'),
  }),
})

export const listUncopiedRoute = route.get('user', '/v1/copies', {
  name: 'listUncopiedProjects',
  summary: 'List the projects without a current copy of their repository',
  description:
    'With several servers, another server keeps a copy of each repository. Only owners of the instance may read this. At most 200 projects are listed; `count` has all.',
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
      }),
    ),
  }),
})
