/** Ports of a sandbox, each on an origin of its own. */
import { z } from 'zod'
import { reservedPorts } from '../daemon/control.ts'
import { route } from '../route.ts'
import { previewPortDefault } from '../schemas/preview-port.ts'

export const getPreviewRoute = route.get('project-read', '/v1/projects/:projectId/sessions/:sessionId/preview', {
  name: 'getPreview',
  summary: 'Get the address of a port of a session',
  description: 'The address works once, for the browser that opens it first.',
  errors: ['runtime_booting'],
  query: z.object({
    port: z.coerce
      .number()
      .int()
      .min(1)
      .max(65_535)
      .refine((port) => !reservedPorts.includes(port), 'is one that the sandbox uses itself; choose another')
      .default(previewPortDefault),
  }),
  example: { query: { port: '3000' } },
  reply: z.object({ url: z.string() }),
})

export const listPortsRoute = route.get('project-read', '/v1/projects/:projectId/sessions/:sessionId/ports', {
  name: 'listPorts',
  summary: 'List the ports of a session that programs listen on',
  description: 'Those on 127.0.0.1, in ascending order; the first 1,000. Ports of the sandbox itself are left out.',
  reply: z.object({
    ports: z
      .array(z.object({ port: z.number().int() }))
      .nullable()
      .describe('Empty without a running sandbox. Null when the sandbox does not say.'),
    can_frame: z
      .boolean()
      .describe(
        'Whether the dashboard can show a preview in a frame: over https, or in a browser on the machine of the server, at a URL without an IPv6 address.',
      ),
  }),
})
