import http from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import { LRUCache } from 'lru-cache'
import { basicAuth } from '../process/environment.ts'
import type { Remote } from '../repository.ts'

interface HttpQuestion {
  method: 'GET' | 'POST'
  /** Appended to the remote's URL. */
  path: string
  headers: Record<string, string>
  body?: Uint8Array
  timeoutMs: number
  bytesMax: number
}

export interface HttpAnswer {
  status: number
  contentType: string
  location: string | null
  body: Buffer
}

/**
 * One agent per origin and pin, so that a connection is never reused for a host that was checked at other addresses.
 */
const agents = new LRUCache<string, http.Agent>({ max: 128, dispose: (agent) => agent.destroy() })

/** Asks a git host over a kept-alive connection. Follows no redirect and dials only pinned addresses. */
export async function askHttp(remote: Remote, question: HttpQuestion): Promise<HttpAnswer> {
  try {
    return await askOnce(remote, question)
  } catch (error) {
    // The host may have closed the kept-alive connection just before its reuse, so retry on a fresh one.
    if (!isReset(error as NodeJS.ErrnoException)) throw error
    return askOnce(remote, question)
  }
}

function askOnce(remote: Remote, question: HttpQuestion): Promise<HttpAnswer> {
  const url = new URL(`${remote.url.replace(/\/+$/, '')}/${question.path}`)
  const options: https.RequestOptions = {
    method: question.method,
    agent: agentFor(remote, url),
    headers: { 'Accept-Encoding': 'identity', 'User-Agent': 'git/svc', ...question.headers },
  }
  const headers = options.headers as Record<string, string>
  if (remote.credential) headers.Authorization = basicAuth(remote.credential)
  if (question.body) headers['Content-Length'] = String(question.body.length)
  if (remote.pin?.length) options.lookup = pinnedLookup(remote.pin)

  return new Promise((resolve, reject) => {
    // A cut connection also breaks the answer; report the cause, whichever event comes first.
    let late: Error | null = null
    const fail = (error: Error) => reject(late ?? error)
    const request = (url.protocol === 'https:' ? https : http).request(url, options, (response) => {
      collect(response, question.bytesMax).then((body) => {
        const { statusCode = 0, headers: got } = response
        resolve({ status: statusCode, contentType: got['content-type'] ?? '', location: got.location ?? null, body })
      }, fail)
    })
    const timer = setTimeout(() => {
      late = new Error(`The git host gave no full answer within ${question.timeoutMs} ms.`)
      request.destroy(late)
    }, question.timeoutMs)
    request.on('close', () => clearTimeout(timer))
    request.on('error', fail)
    request.end(question.body)
  })
}

function agentFor(remote: Remote, url: URL): http.Agent {
  const key = `${url.origin} ${(remote.pin ?? []).join(',')}`
  let agent = agents.get(key)
  if (!agent) {
    const settings = { keepAlive: true, maxSockets: 16, maxFreeSockets: 8 }
    agent = url.protocol === 'https:' ? new https.Agent(settings) : new http.Agent(settings)
    agents.set(key, agent)
  }
  return agent
}

export function pinnedLookup(pin: string[]): LookupFunction {
  const answers = pin.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  return (_host, options, callback) => {
    if (options.all) return callback(null, answers)
    const [first] = answers
    callback(null, first?.address ?? '', first?.family)
  }
}

/** With events: for short answers an async iterator takes as long as the rest of the question. */
function collect(response: http.IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      chunks.push(chunk)
      if (bytes > bytesMax) response.destroy(new Error(`The git host answered more than ${bytesMax} bytes.`))
    })
    response.on('end', () => resolve(Buffer.concat(chunks)))
    response.on('error', reject)
    response.on('close', () => reject(cutShort()))
  })
}

/** The connection broke during an answer. */
function cutShort(): Error {
  return Object.assign(new Error('The git host closed the connection in the middle of its answer.'), {
    code: 'ECONNRESET',
  })
}

function isReset(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE' || error.code === 'ConnectionClosed'
}
