import { z } from 'zod'
import { named, route, timestamp } from '../route.ts'

export const healthRoute = route.get('public', '/v1/health', {
  name: 'getHealth',
  summary: 'Check that the server process answers',
  description: 'Answers as long as the process runs, without the database. Use it as a liveness probe.',
  publicInSandbox: true,
  reply: z.object({ status: z.literal('ok'), version: z.string() }),
})

export const readyRoute = route.get('public', '/v1/ready', {
  name: 'getReady',
  summary: 'Check that the server can serve requests',
  description:
    'Answers `unavailable` (503) while the database or another needed part is down. The reply also reports whether sandboxes can start, which models and providers are configured, and whether the disk has room and the database accepts changes.',
  publicInSandbox: true,
  reply: z.object({
    status: z.literal('ready'),
    version: z.string(),
    held: z
      .object({ backup_id: z.string(), backup_created_at: z.string(), held_at: z.string() })
      .nullable()
      .optional()
      .describe(
        'Set after a restore from a backup: the server answers reads only, and nothing acts, until `svc self-host resume`.',
      ),
    sandbox: z
      .object({
        driver: z.string(),
        ready: z.boolean(),
        problem: z.string().nullable(),
        install: z.string().nullable(),
        missing_limits: z
          .array(z.enum(['memory', 'cpu', 'processes']))
          .describe('Resources that a sandbox on this machine can use without limit.'),
      })
      .describe('Whether sandboxes can start on this server, and if not, how to fix it.'),
    model: z.enum(['upstream', 'scripted', 'none']).describe('`scripted` is the demo model of `svc tour`.'),
    disk: z
      .object({ ready: z.boolean(), problem: z.string().nullable() })
      .describe('Whether there is room for new work. Reading and merging need none.'),
    database: z
      .object({ ready: z.boolean(), problem: z.string().nullable() })
      .optional()
      .describe(
        'Whether the database accepts changes. One that is read-only, as during a failover, answers reads. Servers of earlier versions do not send it.',
      ),
    providers: z
      .object({ apps: z.enum(['local', 'none']), connectors: z.enum(['mcp', 'none']) })
      .describe('What deploys apps and what runs connectors, as the operator configured it.'),
  }),
})

const finding = named('Finding', {
  name: z.string(),
  state: z.enum(['good', 'weak', 'missing']).describe('`weak` works, but not as it should; `missing` does not work.'),
  says: z.string(),
  mend: z.string().nullable().describe('What to do about it, often a command.'),
})

export const examinedGroup = named('ExaminedGroup', { name: z.string(), findings: z.array(finding) })
export type ExaminedGroup = z.infer<typeof examinedGroup>

export const examineServerRoute = route.get('user', '/v1/doctor', {
  name: 'examineServer',
  summary: 'Examine the server and what it needs',
  description:
    'Its machine, database, sandboxes, model, hosts, and backups: the findings of `svc self-host doctor`, of the server that answers. Only for owners of the instance.',
  reply: z.object({
    server: z.string().nullable().describe('The name of the server that answers; null where one runs alone.'),
    examined_at: timestamp,
    groups: z.array(examinedGroup),
  }),
})
