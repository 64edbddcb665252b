/** One of several servers on one database, and what a client sees of its connections. */
import { type Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freePort } from '@svc/git/testing'
import { program, run, ServerProcess } from './harness.ts'

/** Every server of one database has these settings. */
export function sharedSettings(dir: string, databaseUrl: string) {
  return {
    PATH: process.env.PATH ?? '',
    HOME: dir,
    DATABASE_URL: databaseUrl,
    SVC_MASTER_KEY_FILE: join(dir, 'master.key'),
    SVC_LOG: 'json',
  }
}

export class OneOfSeveral extends ServerProcess {
  readonly name: string
  readonly env: Record<string, string>
  readonly #isEncrypted: boolean
  #port: number | null = null
  #peerUrl: string | null = null

  /** `isEncrypted`: how the other servers reach it. */
  constructor(dir: string, name: string, env: Record<string, string>, { isEncrypted = false } = {}) {
    super(dir)
    this.name = name
    this.#isEncrypted = isEncrypted
    this.env = { ...env, SVC_SERVER_NAME: name, SVC_DATA_DIR: join(dir, name) }
    this.token = env.SVC_BOOTSTRAP_TOKEN!
  }

  async boot(more: Record<string, string> = {}, { isAlone = false } = {}): Promise<void> {
    this.#port ??= await freePort()
    const peerUrl = await this.#peerAddress(isAlone)
    const own = { SVC_PORT: String(this.#port), ...(peerUrl === null ? {} : { SVC_PEER_URL: peerUrl }) }
    if (!(await this.launch([program, 'server'], { ...this.env, ...own, ...more }))) throw new Error(this.output)
    this.url = `http://127.0.0.1:${this.#port}`
  }

  async #peerAddress(isAlone: boolean): Promise<string | null> {
    if (isAlone) return null
    this.#peerUrl ??= this.#isEncrypted ? `https://127.0.0.1:${await freePort()}` : `http://127.0.0.1:${this.#port}`
    return this.#peerUrl
  }

  /** Its sandboxes would outlive it. */
  async end(): Promise<void> {
    await this.kill('SIGTERM')
    await run([program, 'server', '--end-sandboxes'], { env: this.env, cwd: this.dir })
  }

  selfHost(args: string[], more: Record<string, string> = {}) {
    return run([program, 'self-host', ...args], { env: { ...this.env, ...more }, cwd: this.dir })
  }

  async runsOf(job: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text()
    return Number(new RegExp(`^svc_job_runs_total\\{task="${job}",outcome="success"\\} (\\d+)`, 'm').exec(text)?.[1])
  }
}

/**
 * Resolves with the head of the answer. False: refused for this moment, as where a busy machine has no time for so many at
 * once. Each comes from another address: one address has a limit of its own.
 */
export function openStream(
  url: string,
  n: number,
  { agent, token }: { agent: Agent; token: string },
): Promise<boolean> {
  const headers = {
    authorization: `Bearer ${token}`,
    accept: 'text/event-stream',
    'x-forwarded-for': `10.9.${Math.floor(n / 100)}.${(n % 100) + 1}`,
  }
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { agent, headers }, (response) => {
      if (response.statusCode === 200) return resolve(true)
      response.resume()
      if (response.statusCode === 503 && response.headers['retry-after'] !== undefined) return resolve(false)
      reject(new Error(`status ${response.statusCode}`))
    })
    // The connections are ended by their agent.
    request.on('error', reject)
    request.end()
  })
}

/** All that a server sends for `/` until the connection ends. */
export async function bytesOf(url: string, host: string, cookie: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`)
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text
}
