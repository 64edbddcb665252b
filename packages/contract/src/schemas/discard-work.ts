import { z } from 'zod'

/** The query of what ends the sandbox of a session. */
export const discardWork = z.object({
  discard: z
    .enum(['true', 'false'])
    .optional()
    .describe(
      '`true` ends the sandbox also when its newest work cannot be saved, and loses that work. Older servers always do.',
    ),
})
