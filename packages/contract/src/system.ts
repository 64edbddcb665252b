import { z } from 'zod'
import { route } from './route.ts'

export const healthRoute = route({
  name: 'getHealth',
  summary: 'The process answers',
  method: 'GET',
  path: '/v1/health',
  access: 'public',
  publicInSandbox: true,
  reply: z.object({ status: z.literal('ok'), version: z.string() }),
})

export const readyRoute = route({
  name: 'getReady',
  summary: 'Requests are served; 503 while a part is away',
  method: 'GET',
  path: '/v1/ready',
  access: 'public',
  publicInSandbox: true,
  reply: z.object({
    status: z.literal('ready'),
    version: z.string(),
    /** Whether sandboxes can be started here, and if not, what mends it. */
    sandbox: z.object({
      driver: z.string(),
      ready: z.boolean(),
      problem: z.string().nullable(),
      install: z.string().nullable(),
      /** What a sandbox may use without end on this machine. */
      missing_limits: z.array(z.enum(['memory', 'cpu', 'processes'])),
    }),
    /** `scripted` is the labelled stand-in of the tour. */
    model: z.enum(['upstream', 'scripted', 'none']),
    /** Whether there is room for new work. Without it, reading and merging go on. */
    disk: z.object({ ready: z.boolean(), problem: z.string().nullable() }),
    /** What deploys apps and what connects tools of others; the operator chose. */
    providers: z.object({ apps: z.enum(['local', 'none']), connectors: z.enum(['mcp', 'none']) }),
  }),
})
