/** Requests everything that the API offers about a repository, and judges the responses. */
import { type ChangeRequest, parseJson } from '@svc/contract'
import { nowMs } from './bystander.ts'

export interface Server {
  url: string
  token: string
}

export interface Visit {
  what: string
  status: number
  code: string | null
  ms: number
  /** In milliseconds since 1970. */
  beganAt: number
  /** The reason this is not a proper response. */
  problem: string | null
}

export const answerMsMax = 10_000
const givenUpMs = 60_000

export class Visitor {
  readonly visits: Visit[] = []
  readonly #server: Server
  readonly #base: string

  constructor(server: Server, projectId: string) {
    this.#server = server
    this.#base = `/v1/projects/${projectId}`
  }

  async ask<Body>(
    method: string,
    path: string,
    options: { body?: object; accept?: string } = {},
  ): Promise<{ status: number; body: Body | null }> {
    const began = performance.now()
    const beganAt = nowMs()
    const what = `${method} ${path.replace(/[0-9a-f-]{36}/, ':cr').slice(0, 100)}${options.accept ? ` ${options.accept}` : ''}`
    let status = 0
    let text = ''
    try {
      const response = await fetch(this.#server.url + this.#base + path, {
        method,
        headers: {
          authorization: `Bearer ${this.#server.token}`,
          ...(options.accept === undefined ? {} : { accept: options.accept }),
          ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
        signal: AbortSignal.timeout(givenUpMs),
      })
      status = response.status
      text = await readSome(response)
    } catch (error) {
      // A stream that has started can only be cut; a reply that has not started may not.
      if (status === 0) text = String(error)
    }
    const ms = performance.now() - began
    const body =
      options.accept === undefined || status >= 400
        ? ((parseJson(text) ?? null) as (Body & { code?: string; error?: string }) | null)
        : null
    const problem = judge({ status, body, text, ms, isStream: options.accept !== undefined })
    this.visits.push({ what, status, code: body?.code ?? null, ms, beganAt, problem })
    return { status, body }
  }

  /** Every route, for the branch `work` and the other parts of the repository. */
  async everything(paths: string[]): Promise<void> {
    const query = (values: Record<string, string>) => new URLSearchParams(values).toString()
    const opened = await this.ask<ChangeRequest>('POST', '/change-requests', {
      body: { title: 'Hostile work', head_ref: 'work' },
    })
    await this.ask('GET', '/change-requests')
    for (const ref of ['main', 'work']) {
      await this.ask('GET', `/commits?${query({ ref })}`)
      await this.ask('GET', `/tree?${query({ ref })}`)
      for (const path of paths) {
        await this.ask('GET', `/tree?${query({ ref, path })}`)
        await this.ask('GET', `/commits?${query({ ref, path })}`)
        await this.ask('GET', `/file?${query({ ref, path })}`)
        await this.ask('GET', `/file?${query({ ref, path })}`, { accept: 'application/octet-stream' })
      }
    }
    await this.ask('GET', '/branches')
    await this.ask('GET', '/branches?limit=1000')
    await this.ask('GET', `/compare?${query({ head: 'work' })}`)
    if (opened.status !== 201 || opened.body === null) return
    const cr = `/change-requests/${opened.body.cr_id}`
    await this.ask('GET', cr)
    await this.ask('GET', `${cr}/merge-preview`)
    await this.ask('GET', `${cr}/merge-preview?include=collisions`)
    await this.ask('GET', `${cr}/diff`)
    await this.ask('GET', `${cr}/diff?renames=1`)
    await this.ask('GET', `${cr}/diff`, { accept: 'text/x-diff' })
    await this.ask('POST', `${cr}/close`)
    await this.ask('POST', `${cr}/reopen`)
    await this.ask('POST', `${cr}/merge`, { body: {} })
    await this.ask('GET', cr)
    await this.ask('GET', `${cr}/diff`)
    await this.ask('GET', `${cr}/verify`)
    await this.ask('GET', `${cr}/pull-request`)
  }
}

/** Reads at most the first 64 MiB of a stream. */
async function readSome(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > 64 * 1024 * 1024) break
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function judge(reply: {
  status: number
  body: { code?: string; error?: string } | null
  text: string
  ms: number
  isStream: boolean
}): string | null {
  const { status, body, text, ms } = reply
  if (ms > answerMsMax) return `took ${(ms / 1000).toFixed(1)} s`
  if (status === 0) return `no answer: ${text.slice(0, 200)}`
  if (status === 500) return `500: ${text.slice(0, 300)}`
  if (status >= 400 && (typeof body?.error !== 'string' || typeof body.code !== 'string'))
    return `an error of another shape: ${status} ${text.slice(0, 200)}`
  if (status < 400 && !reply.isStream && body === null) return `no JSON: ${text.slice(0, 200)}`
  return null
}
