/**
 * Compresses large replies of the API for clients that accept it. zstd comes first because it takes a third of gzip's
 * time. Level 1 of both: a diff shrinks to an eighth, and higher levels gain little for several times the time.
 */
import { pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import { constants, createGzip, createZstdCompress, gzip, zstdCompress } from 'node:zlib'

export type Encoding = 'zstd' | 'gzip'

/** Below this a reply fits into a few packets, and compressing it takes longer than sending it. */
const compressedFromChars = 32 * 1024

const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const gzipOptions = { level: 1 }
const zstdOf = promisify(zstdCompress)
const gzipOf = promisify(gzip)

/** The best encoding that an Accept-Encoding header allows; null without one. */
export function acceptedEncoding(header: string | null): Encoding | null {
  const allowed = new Map(
    (header ?? '').split(',').map((part) => {
      const [name = '', ...params] = part.split(';').map((text) => text.trim().toLowerCase())
      return [name, !params.some((param) => /^q=0(?:\.0*)?$/.test(param))] as const
    }),
  )
  return (['zstd', 'gzip'] as const).find((each) => allowed.get(each) ?? allowed.get('*') ?? false) ?? null
}

export interface Compressible {
  headers: Headers
  /** A sandbox shares the machine or a link that compresses nothing for it, so compressing only costs time. */
  fromSandbox: boolean
}

const encodingFor = ({ headers, fromSandbox }: Compressible) =>
  fromSandbox ? null : acceptedEncoding(headers.get('accept-encoding'))

const headersOf = (encoding: Encoding) => ({ 'content-encoding': encoding, vary: 'Accept-Encoding' })

/** The work runs on another thread. */
export async function compressText(
  text: string,
  request: Compressible,
): Promise<{ body: string | Uint8Array<ArrayBuffer>; headers: Record<string, string> }> {
  if (text.length < compressedFromChars) return { body: text, headers: {} }
  const encoding = encodingFor(request)
  if (encoding === null) return { body: text, headers: {} }
  const packed = encoding === 'zstd' ? await zstdOf(text, zstdOptions) : await gzipOf(text, gzipOptions)
  return { body: new Uint8Array(packed), headers: headersOf(encoding) }
}

/** A streamed reply of unknown length. It is read only as fast as the client reads. */
export function compressStream(response: Response, request: Compressible): Response {
  const encoding = encodingFor(request)
  if (encoding === null || response.body === null) return response
  const packer = encoding === 'zstd' ? createZstdCompress(zstdOptions) : createGzip(gzipOptions)
  const plain = Readable.fromWeb(response.body as unknown as Parameters<typeof Readable.fromWeb>[0])
  pipeline(plain, packer, endedByEitherSide)
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(headersOf(encoding))) headers.set(name, value)
  const body = Readable.toWeb(packer) as unknown as ReadableStream<Uint8Array<ArrayBuffer>>
  return new Response(body, { status: response.status, headers })
}

/** An error of one side destroys the other with it, and the reader of the response receives it. */
function endedByEitherSide(): void {}
