import { type ChangeRequestDiff, type ChangeRequestDiffPiece, diffHead, diffPartsType } from '@svc/contract'
import { writeReply } from '../../http/write-reply.ts'

/** The characters of one piece: the first screen of most changes, and little enough to write at once. */
const pieceChars = 64 * 1024

/**
 * The diff in lines: all but its patch, then the patch in pieces. A reader shows the first files while the last ones
 * are on their way, and the server holds one piece for it beside the shared diff.
 */
export function asParts({ patch, ...head }: ChangeRequestDiff): Response {
  const encoder = new TextEncoder()
  let at: number | null = null
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        if (at === null) {
          at = 0
          controller.enqueue(encoder.encode(`${await writeReply(diffHead, head)}\n`))
        } else if (at < patch.length) {
          // A surrogate pair that is cut is written as two escapes, which joining the pieces repairs.
          const piece: ChangeRequestDiffPiece = { patch: patch.slice(at, at + pieceChars) }
          at += pieceChars
          controller.enqueue(encoder.encode(`${JSON.stringify(piece)}\n`))
        } else controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, {
    headers: {
      'content-type': `${diffPartsType}; charset=utf-8`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  })
}
