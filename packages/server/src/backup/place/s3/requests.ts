/** The requests of S3 that backups need. They are signed, and repeated while the store or the network is at fault. */
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { AwsClient } from 'aws4fetch'
import type { ListedFile } from '../place.ts'
import type { Bucket } from './open-bucket.ts'
import { explained, isAbsent, isUnsupported, StoreRefusal, textOf } from './failures.ts'

export interface RequestsOptions {
  now(): number
  /** How often a request is sent at most. */
  tries: number
  /** Until a reply begins. */
  replyMs: number
}

interface Ask {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** Below the prefix. Empty: the bucket itself. */
  name?: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Uint8Array<ArrayBuffer>
}

const firstPauseMs = 200
const pauseMsMax = 5_000
/** For the body of a request, on top of `replyMs`. */
const bytesPerMsMin = 50
/** The store is at fault. 200: it failed after it had begun its reply. */
const busyStatuses = new Set([200, 408, 429, 500, 502, 503, 504])

export class Requests {
  readonly bucket: Bucket
  readonly #options: RequestsOptions
  readonly #signer: AwsClient

  constructor(bucket: Bucket, options: RequestsOptions) {
    this.bucket = bucket
    this.#options = options
    const { accessKeyId, secretAccessKey, sessionToken } = bucket.credentials
    const { region } = bucket
    this.#signer = new AwsClient({
      ...{ accessKeyId, secretAccessKey, region, service: 's3' },
      ...(sessionToken === null ? {} : { sessionToken }),
    })
  }

  now(): number {
    return this.#options.now()
  }

  get(name: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.#send({ method: 'GET', name, headers })
  }

  /** Returns its ETag. */
  async put(name: string, body: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): Promise<string> {
    const response = await this.#send({ method: 'PUT', name, body, headers })
    return response.headers.get('etag') ?? ''
  }

  /** Also succeeds when the file is absent. */
  async remove(name: string): Promise<void> {
    await this.#send({ method: 'DELETE', name })
  }

  async list(folder: string, max: number): Promise<ListedFile[]> {
    const files: ListedFile[] = []
    let token: string | null = null
    do {
      const query: Record<string, string> = {
        ...{ 'list-type': '2', prefix: `${this.bucket.prefix}${folder}`, 'max-keys': `${Math.min(max, 1000)}` },
        ...(token === null ? {} : { 'continuation-token': token }),
      }
      const xml = await (await this.#send({ method: 'GET', query })).text()
      for (const [, one = ''] of xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        const name = this.#nameOf(textOf(one, 'Key'))
        if (name !== null) files.push({ name, bytes: Number(textOf(one, 'Size')) })
      }
      token = textOf(xml, 'IsTruncated') === 'true' ? textOf(xml, 'NextContinuationToken') : null
    } while (token !== null && files.length < max)
    return files
  }

  async beginUpload(name: string): Promise<string> {
    const xml = await (await this.#send({ method: 'POST', name, query: { uploads: '' } })).text()
    const id = textOf(xml, 'UploadId')
    if (id === null) throw new Error('The store began an upload without an id.')
    return id
  }

  /** Returns its ETag. */
  async putPart(upload: Upload, part: number, body: Uint8Array<ArrayBuffer>): Promise<string> {
    const query = { partNumber: `${part}`, uploadId: upload.id }
    const response = await this.#send({ method: 'PUT', name: upload.name, query, body })
    return response.headers.get('etag') ?? ''
  }

  async completeUpload({ name, id }: Upload, etags: string[]): Promise<void> {
    const parts = etags.map((etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${etag}</ETag></Part>`)
    const body = encoded(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
    await this.#send({ method: 'POST', name, query: { uploadId: id }, body })
  }

  async abortUpload({ name, id }: Upload): Promise<void> {
    await this.#send({ method: 'DELETE', name, query: { uploadId: id } })
  }

  /** Null: the store lists none. */
  async uploads(folder: string): Promise<Upload[] | null> {
    const query = { uploads: '', prefix: `${this.bucket.prefix}${folder}` }
    try {
      const xml = await (await this.#send({ method: 'GET', query })).text()
      return [...xml.matchAll(/<Upload>(.*?)<\/Upload>/gs)].flatMap(([, one = '']) => {
        const [name, id] = [this.#nameOf(textOf(one, 'Key')), textOf(one, 'UploadId')]
        return name === null || id === null ? [] : [{ name, id }]
      })
    } catch (error) {
      if (isUnsupported(error)) return null
      throw error
    }
  }

  #nameOf(key: string | null): string | null {
    return key?.startsWith(this.bucket.prefix) === true ? key.slice(this.bucket.prefix.length) : null
  }

  /** Throws a `StoreRefusal` for a reply that says something of the file, and a `PlaceError` for every other failure. */
  async #send(ask: Ask): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#sendOnce(ask)
      } catch (error) {
        const isRefusal = error instanceof StoreRefusal
        if (isRefusal && saysOfTheFile(error)) throw error
        const isFinal = isRefusal && !busyStatuses.has(error.status)
        if (isFinal || attempt >= this.#options.tries) throw explained(error, this.bucket, this.now())
        await delay(Math.min(firstPauseMs * 2 ** attempt, pauseMsMax) * (0.5 + Math.random() / 2))
      }
    }
  }

  async #sendOnce({ method, name = '', query = {}, headers = {}, body }: Ask): Promise<Response> {
    const { url, prefix } = this.bucket
    const target = new URL(name === '' ? url : `${url}${prefix}${name}`)
    for (const [key, value] of Object.entries(query)) target.searchParams.set(key, value)
    const request = await this.#signer.sign(target.toString(), {
      ...{ method, headers: { ...headers, 'x-amz-content-sha256': hashOf(body) } },
      ...(body === undefined ? {} : { body }),
      aws: { datetime: new Date(this.now()).toISOString().replace(/[:-]|\.\d{3}/g, '') },
    })
    const ends = new AbortController()
    const ms = this.#options.replyMs + (body?.length ?? 0) / bytesPerMsMin
    const timer = setTimeout(
      () => ends.abort(new DOMException('The store did not answer in time.', 'TimeoutError')),
      ms,
    )
    try {
      const response = await fetch(request, { redirect: 'manual', signal: ends.signal })
      // The end of a long upload is a success at once, with an error in its body later.
      const isWhole = response.ok && method !== 'POST'
      if (isWhole) return response
      const text = await response.text()
      if (response.ok && !text.includes('<Error>')) return new Response(text, response)
      throw new StoreRefusal(response, text)
    } finally {
      clearTimeout(timer)
    }
  }
}

export interface Upload {
  name: string
  id: string
}

function saysOfTheFile(error: StoreRefusal): boolean {
  return isAbsent(error) || isUnsupported(error) || [409, 412, 416].includes(error.status)
}

/** The store verifies it, so what arrives is what was sent. */
function hashOf(body: Uint8Array | undefined): string {
  return createHash('sha256')
    .update(body ?? '')
    .digest('hex')
}

export function encoded(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}
