/** Serves an attachment of a prompt so that a browser never renders it as a page of the service. */
import type { Attachment } from '@svc/contract'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { isUuid, notFound } from '../../auth/allow.ts'
import type { Caller } from '../../auth/actor.ts'
import { streamOf } from '../../http/bodies/streams.ts'
import type { ProjectRow } from '../../projects/store.ts'
import type { StreamRedactor } from '../../redaction/stream.ts'
import { redactorOfPrompts, redactorOfSession } from '../../secrets/redactor-for.ts'
import { isShownImage } from './content-type.ts'
import { attachmentWithoutContent, contentOf } from './store.ts'

export async function serveAttachment(
  deps: Pick<Deps, 'db' | 'keyring' | 'redaction'>,
  of: { project: ProjectRow; sessionId: string; attachmentId: string; caller: Pick<Caller, 'actor'> },
): Promise<Response> {
  const found = isUuid(of.attachmentId) ? await attachmentWithoutContent(deps.db, of.sessionId, of.attachmentId) : null
  if (found === null) throw notFound('attachment')
  const redactor = await redactorOfPrompts(deps, of.project, of)
  const isImage = isShownImage(found.content_type)
  const isText = !isImage && (await isTextual(deps.db, found))
  const session = await redactorOfSession(deps, of.project, of.sessionId)
  const content = contentOf(deps.db, found)
  const body = streamOf(isText ? redacted(textsOf(content), session.stream()) : content)
  const name = encodeURIComponent(redactor.text(found.name)).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return new Response(body, {
    headers: {
      'content-type': isImage ? found.content_type : 'application/octet-stream',
      ...(!isText ? { 'content-length': String(found.bytes) } : {}),
      'content-disposition': `${isImage ? 'inline' : 'attachment'}; filename*=UTF-8''${name}`,
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    },
  })
}

/** A file with the type PDF can still be plain text, which needs redaction. */
async function isTextual(db: DbOrTransaction, attachment: Attachment): Promise<boolean> {
  if (attachment.content_type !== 'application/pdf') return attachment.content_type === 'text/plain'
  try {
    for await (const text of textsOf(contentOf(db, attachment))) if (text.includes('\0')) return false
    return true
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

/** Throws a TypeError for invalid UTF-8. */
async function* textsOf(content: AsyncIterable<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  for await (const piece of content) yield decoder.decode(piece, { stream: true })
  yield decoder.decode()
}

const pieceChars = 16 * 1024

/** Redacting megabytes takes seconds, so this yields between pieces. */
async function* redacted(texts: AsyncIterable<string>, stream: StreamRedactor): AsyncGenerator<Uint8Array> {
  let half = ''
  for await (const text of texts)
    for (let at = 0; at < text.length; at += pieceChars) {
      const shown = half + stream.push(text.slice(at, at + pieceChars))
      // A surrogate pair must be encoded as a whole.
      half = /[\ud800-\udbff]$/.test(shown) ? shown.slice(-1) : ''
      yield new TextEncoder().encode(half === '' ? shown : shown.slice(0, -1))
      await new Promise((resolve) => setImmediate(resolve))
    }
  yield new TextEncoder().encode(half + stream.end())
}
