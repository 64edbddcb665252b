/** Ports of a sandbox, each on an origin of its own. */
import { z } from 'zod'
import { reservedPorts } from '../daemon/control.ts'
import { route } from '../route.ts'

export const previewPortDefault = 3000

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
