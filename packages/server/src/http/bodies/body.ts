import { ServiceError } from '@svc/contract'
import { handledElsewhere, withDeadline } from '../../deadline.ts'
import type { BodyPlace } from './large-bodies.ts'
import { requestTimeout } from './slow-bodies.ts'
import { invalid } from '../validation.ts'

export const bodyBytesMax = 1024 * 1024

/** The default of SVC_JSON_BODY_SECONDS. */
const wholeBodyMs = 60_000

export const ofApi = { bytesMax: bodyBytesMax, refusal: 'The request body is larger than 1 MiB.' }

/** Reads the body, and refuses with 413 as soon as it passes the limit: its declared length is not trusted. A body past 1 MiB waits for `place`. */
export async function readBody(
  request: Request,
  limit = ofApi,
  msMax = wholeBodyMs,
  place?: Pick<BodyPlace, 'take'>,
): Promise<Buffer> {
  const tooLarge = () => new ServiceError('body_too_large', limit.refusal)
  if (Number(request.headers.get('content-length') ?? 0) > limit.bytesMax) throw tooLarge()
  if (request.body === null) return Buffer.alloc(0)
  const reader = request.body.getReader()
  const readAll = async () => {
    const chunks: Uint8Array[] = []
    for (let bytes = 0; ;) {
      const { done, value } = await reader.read()
      if (done) return Buffer.concat(chunks)
      bytes += value.length
      if (bytes > limit.bytesMax) throw tooLarge()
      if (bytes > bodyBytesMax && bytes - value.length <= bodyBytesMax) await place?.take()
      chunks.push(value)
    }
  }
  try {
    return await withDeadline(readAll(), msMax, () => {
      throw requestTimeout()
    })
  } catch (error) {
    // The refusal is the answer, however the rest of the body ends.
    reader.cancel().catch(handledElsewhere)
    throw error
  }
}

/** An empty body is `undefined`: routes with an optional body accept it, the others report what is missing. */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalid('The request body is not UTF-8.', [{ path: '', message: 'is not UTF-8' }])
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw invalid('The request body is not JSON.', [{ path: '', message: 'is not JSON' }])
  }
  const problem = findUnusable(value)
  if (problem !== null) throw invalid(`The request body ${problem}.`, [{ path: '', message: problem }])
  return value
}

const depthMax = 100

/** Rejects JSON that later steps cannot handle: PostgreSQL stores neither NUL nor half of a surrogate pair, and recursive parsers run out of stack. */
export function findUnusable(document: unknown): string | null {
  const left: [unknown, number][] = [[document, 0]]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [value, depth] = next
    if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed()))
      return 'contains a NUL character or half of a surrogate pair'
    if (typeof value !== 'object' || value === null) continue
    if (depth === depthMax) return `is nested more than ${depthMax} levels deep`
    for (const [key, inner] of Object.entries(value)) left.push([key, depth + 1], [inner, depth + 1])
  }
  return null
}
