/** Attachments in a request. */
import { z } from 'zod'
import { type AttachmentRefusal, refuseAttachmentCount } from './attachments.ts'
import { ServiceError } from '../errors.ts'

/** A body can hold a million attachments, so the count is checked first. The server checks the sizes. */
export const newAttachments = z.preprocess(
  (given) => {
    const refusal = Array.isArray(given) ? refuseAttachmentCount(given.length) : null
    if (refusal !== null) throw attachmentsRefused(refusal)
    return given
  },
  z.array(
    z.strictObject({
      name: z.string().max(1000).describe('The server keeps what follows the last slash, without control characters.'),
      content_base64: z.string(),
    }),
  ),
)
export type NewAttachment = z.infer<typeof newAttachments>[number]

export function attachmentsRefused({ reason, message, limit }: AttachmentRefusal): ServiceError {
  return new ServiceError(reason === 'count' ? 'unprocessable' : 'body_too_large', message, {
    hint: 'Nothing was sent. Attach less, or push large files to a branch that the agent can read.',
    detail: { [reason === 'count' ? 'limit' : 'limit_bytes']: limit },
  })
}
