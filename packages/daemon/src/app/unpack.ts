/** Reads the body of POST /svc/app: one line of JSON, then the files as a tar, which is unpacked as the agent. */
import { spawn } from 'node:child_process'
import type { IncomingMessage } from 'node:http'

import { parseJson } from '@svc/contract/json'
import type { AppSpec } from '@svc/contract/daemon/control'

import { asAgent, handledLater, lastLines, systemPath } from '../child.ts'
import type { AgentIdentity } from '../config.ts'
import { ControlError } from '../http/reply.ts'

const specBytesMax = 4 * 1024 * 1024

export async function receiveApp(
  req: IncomingMessage,
  options: { workspace: string; identity: AgentIdentity; onSpec: (spec: AppSpec) => void },
): Promise<AppSpec> {
  const body = req[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const { spec, rest } = await readSpec(body)
  options.onSpec(spec)
  const [program, ...args] = asAgent(options.identity, ['tar', '-x', '--no-same-owner', '-f', '-']) as [
    string,
    ...string[],
  ]
  const tar = spawn(program, args, {
    cwd: options.workspace,
    env: { PATH: systemPath, LANG: 'C.UTF-8' },
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  let stderr = ''
  tar.stderr.on('data', (chunk: Buffer) => (stderr = (stderr + chunk.toString('utf8')).slice(-8192)))
  // EPIPE: tar ended early, and its exit code reports the error.
  tar.stdin.on('error', handledLater)
  const ended = new Promise<number | null>((resolve, reject) => {
    tar.once('error', reject)
    tar.once('close', (code) => resolve(code))
  })
  const write = (chunk: Buffer) =>
    tar.stdin.write(chunk) || tar.stdin.destroyed
      ? undefined
      : Promise.race([new Promise<void>((resolve) => tar.stdin.once('drain', resolve)), ended])
  if (rest.length > 0) await write(rest)
  for (let next = await body.next(); next.done !== true; next = await body.next()) await write(next.value)
  tar.stdin.end()
  const code = await ended
  if (code !== 0)
    throw new ControlError(422, 'bad_files', `Couldn't unpack the files: ${lastLines(stderr) || `exit code ${code}`}`)
  return spec
}

async function readSpec(body: AsyncIterator<Buffer>): Promise<{ spec: AppSpec; rest: Buffer }> {
  let held = Buffer.alloc(0)
  for (;;) {
    const end = held.indexOf('\n')
    if (end !== -1) return { spec: parseSpec(held.toString('utf8', 0, end)), rest: held.subarray(end + 1) }
    if (held.length > specBytesMax) throw bad('The first line of the body is larger than 4 MiB.')
    const next = await body.next()
    if (next.done === true) throw bad('The body ends before its first line does.')
    held = Buffer.concat([held, next.value])
  }
}

function parseSpec(text: string): AppSpec {
  const spec = parseJson(text) as AppSpec | null | undefined
  if (typeof spec?.slug === 'string' && Number.isInteger(spec.port) && typeof spec.env === 'object') return spec
  throw bad('The first line of the body does not describe an app.')
}

const bad = (message: string) => new ControlError(400, 'invalid', message)
