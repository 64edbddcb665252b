/** Slack's v0 scheme: an HMAC over the timestamp and the exact bytes. https://docs.slack.dev/authentication/verifying-requests-from-slack */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { chatSignatureSeconds } from '@svc/contract'
import type { SignedRequest } from '../platform.ts'

export function isSignedBySlack({ headers, body }: SignedRequest, signingSecret: string, now: Date): boolean {
  const given = /^v0=([0-9a-f]{64})$/.exec(headers.get('x-slack-signature') ?? '')?.[1]
  const at = /^\d{1,12}$/.exec(headers.get('x-slack-request-timestamp') ?? '')?.[0]
  const expected = createHmac('sha256', signingSecret)
    .update(`v0:${at ?? '0'}:`)
    .update(body)
    .digest()
  // Always compare, so that timing does not reveal why a request is refused.
  const isEqual = timingSafeEqual(expected, given === undefined ? Buffer.alloc(32) : Buffer.from(given, 'hex'))
  const isRecent = at !== undefined && Math.abs(now.getTime() / 1000 - Number(at)) <= chatSignatureSeconds
  return given !== undefined && isEqual && isRecent
}
