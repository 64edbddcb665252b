/** Helpers for the daemon's tests: a daemon in this process and a fake agent runtime. */
import { mkdtempSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { signUserContext, type UserContext, userContextHeader, userContextKey } from '@svc/contract/daemon/control'

import { freePort } from '@svc/git/testing'
import { type DaemonOptions, startDaemon } from './boot.ts'

export { freePort }

export const testToken = 'svc_sbx_unit'

export type DaemonUnderTest = Awaited<ReturnType<typeof startTestDaemon>>

export const bootEnvironment = (extra: Record<string, string> = {}): Record<string, string> => ({
  SVC_PROJECT_ID: 'p',
  SVC_SESSION_ID: 'session-1',
  SVC_BRANCH_NAME: 'session-1',
  SVC_REPO_URL: 'http://127.0.0.1:1/v1/projects/p/git',
  SVC_API_URL: 'http://127.0.0.1:1/v1',
  SVC_TOKEN: testToken,
  SVC_SANDBOX_GENERATION: '2',
  ...extra,
})

/** The fake runtime runs as a child of the daemon, like the real one, and reports its requests under /seen. */
export async function startTestDaemon(
  env: Record<string, string> = {},
  options: Partial<Pick<DaemonOptions, 'runtimeCommand' | 'programs' | 'processes'>> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-daemon-'))
  const [port, runtimePort, relayPort, egressPort] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  const standIn = join(import.meta.dir, 'runtime/testing-runtime.ts')
  const socket = join(folder, 'd.sock')
  const daemon = await startDaemon({
    env: bootEnvironment(env),
    identity: { uid: null, processesMax: null },
    paths: {
      workspace: join(folder, 'workspace'),
      home: join(folder, 'home'),
      runtimeDir: join(folder, 'runtime'),
      sessionEnv: join(folder, 'session.env'),
      attachments: join(folder, 'attachments'),
    },
    credentialHelper: '/bin/false',
    programs: {
      agent: [process.execPath, join(import.meta.dir, 'testing-agent.ts')],
      client: [process.execPath, '--eval', 'process.exit(1)'],
    },
    ...(options.programs === undefined ? {} : { programs: options.programs }),
    ...(options.processes === undefined ? {} : { processes: options.processes }),
    runtimeCommand: options.runtimeCommand ?? [process.execPath, standIn, String(runtimePort)],
    listen: { tcp: { host: '127.0.0.1', port }, socketPath: socket },
    relay: null,
    egress: null,
    ports: { daemon: port, relay: relayPort, egress: egressPort, runtime: runtimePort },
    log: () => {},
  })
  return {
    daemon,
    folder,
    port,
    runtimePort,
    socket,
    /** Requests the fake runtime received. */
    seen: async () =>
      (await (await fetch(`http://127.0.0.1:${runtimePort}/seen`)).json()) as {
        method: string
        url: string
        headers: Record<string, string>
      }[],
    close: () => daemon.stop(),
  }
}

/** A valid context for one request, except for the fields in `wrong`. */
export async function signed(path: string, wrong: Partial<UserContext> & { token?: string } = {}): Promise<string> {
  const { token = testToken, ...fields } = wrong
  const now = Math.floor(Date.now() / 1000)
  return signUserContext(await userContextKey(token), {
    ...{ user_id: 'u', session_id: 'session-1', generation: 2, role: 'owner', method: 'GET', path },
    ...{ iat: now, exp: now + 60, jti: crypto.randomUUID() },
    ...fields,
  })
}

export const contextLine = async (path: string, wrong: Parameters<typeof signed>[1] = {}): Promise<string> =>
  `${userContextHeader}: ${await signed(path, wrong)}`

/** The server's answer to exactly these bytes. */
export function raw(port: number, text: string, waitFor: (answer: string) => boolean = () => false): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'))
    const done = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answer)
    }
    const timer = setTimeout(done, 60_000)
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
      if (waitFor(answer)) done()
    })
    socket.on('close', done)
    socket.on('error', done)
  })
}

export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0)

export function request(method: string, path: string, lines: string[], body = ''): string {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  return [`${method} ${path} HTTP/1.1`, 'Host: sandbox', 'Connection: close', ...lines, ...length, '', body].join(
    '\r\n',
  )
}

export async function until<T>(
  what: string,
  look: () => Promise<T | null | false> | T | null | false,
  ms = 90_000,
): Promise<T> {
  const deadline = Date.now() + ms
  for (;;) {
    const found = await look()
    if (found !== null && found !== false) return found
    if (Date.now() > deadline) throw new Error(`Timed out after ${ms} ms waiting for: ${what}`)
    await Bun.sleep(5)
  }
}

export function headersOf(req: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(req.headers).map(([name, value]) => [name, String(value)]))
}
