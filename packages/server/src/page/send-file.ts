/** Answers with a file of a pack, under the policy of the page that the file belongs to. */
import type { PageFile } from './pack.ts'

export function sendFile(
  request: Request,
  file: PageFile,
  { cache, policy, status = 200 }: { cache: string; policy: string; status?: number },
): Response {
  const zipped = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
  return new Response(new Uint8Array(zipped ? file.gzip : file.plain()), {
    status,
    headers: {
      'content-type': file.type,
      ...(zipped ? { 'content-encoding': 'gzip' } : {}),
      vary: 'accept-encoding',
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': cache,
    },
  })
}
