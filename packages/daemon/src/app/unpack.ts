/** The body of POST /svc/app: a line of JSON, then the files as a tar, written as the agent. */
import { spawn } from 'node:child_process'
import type { IncomingMessage } from 'node:http'

import type { AppSpec } from '@svc/contract/daemon'

import { asAgent, lastLines, systemPath } from '../child.ts'
import type { AgentIdentity } from '../config.ts'
import { ControlError } from '../reply.ts'

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
  let said = ''
  tar.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString('utf8')).slice(-8192)))
  // EPIPE: it ended early, and its exit code says so.
  tar.stdin.on('error', () => {})
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
    throw new ControlError(
      422,
      'bad_files',
      `The files could not be written: ${lastLines(said) || `exit code ${code}`}`,
    )
  return spec
}

async function readSpec(body: AsyncIterator<Buffer>): Promise<{ spec: AppSpec; rest: Buffer }> {
  let held = Buffer.alloc(0)
  for (;;) {
    const end = held.indexOf('\n')
    if (end !== -1) return { spec: parseSpec(held.toString('utf8', 0, end)), rest: held.subarray(end + 1) }
    if (held.length > specBytesMax) throw bad('Its first line is larger than 4 MiB.')
    const next = await body.next()
    if (next.done === true) throw bad('It has no first line.')
    held = Buffer.concat([held, next.value])
  }
}

function parseSpec(text: string): AppSpec {
  try {
    const spec = JSON.parse(text) as AppSpec
    if (typeof spec.slug === 'string' && Number.isInteger(spec.port) && typeof spec.env === 'object') return spec
  } catch {
    // Said below, as for a line of something else.
  }
  throw bad('Its first line does not describe an app.')
}

const bad = (message: string) => new ControlError(400, 'invalid', message)
