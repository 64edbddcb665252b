/** Programs that a session serves on a port of its sandbox, on an origin of their own. */
import { z } from 'zod'
import { reservedPorts } from './daemon.ts'
import { route } from './route.ts'

export const previewPortDefault = 3000

export const getPreviewRoute = route({
  name: 'getPreview',
  summary: 'The address of a port of a session: it works once, for the browser that opens it first',
  method: 'GET',
  path: '/v1/projects/:projectId/sessions/:sessionId/preview',
  access: 'project-read',
  query: z.object({
    port: z.coerce
      .number()
      .int()
      .min(1)
      .max(65_535)
      .refine((port) => !reservedPorts.includes(port), 'is one that the sandbox uses itself; choose another')
      .default(previewPortDefault),
  }),
  reply: z.object({ url: z.string() }),
})
