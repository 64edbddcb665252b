/** Both ends of `svc-agent read-files`: the program run as the agent, and the daemon that bounds its answer. */
import { join } from 'node:path'

import { isRecord, parseJson } from '@svc/contract/json'
import {
  type ReadFilesReply,
  workTreeEntriesMax,
  workTreeFileBytesMax,
  workTreePathBytesMax,
} from '@svc/contract/daemon/work-tree'

import { asAgent, handledLater, killGroup, lastLines, oneAtATime, systemPath } from '../child.ts'
import type { AgentIdentity, DaemonPaths } from '../config.ts'
import { ControlError } from '../http/reply.ts'
import { gitStates } from './git-states.ts'
import { readFiles } from './read-files.ts'
import { workEnvironment } from './save-work-child.ts'
import { childGit } from './save-work-git.ts'

/** Git may take half of it. */
const readMs = 15_000
/** A file in base64, or a folder: a byte of a name can take six characters of JSON. */
const replyBytesMax = Math.max(workTreeFileBytesMax * 2, workTreeEntriesMax * (255 * 6 + 100))
/** Callers that wait; a page asks for a few folders at once. */
const waitingMax = 32

interface Order {
  path: string
  workspace: string
  home: string
  gitConfig: string
}

/** Reads an order from standard input and writes one line of JSON. */
export async function runReadFiles(): Promise<void> {
  const { path, workspace, home, gitConfig } = (await Bun.stdin.json()) as Order
  const git = gitStates(childGit(['-C', workspace], workEnvironment(home, gitConfig)))
  await Bun.write(Bun.stdout, `${JSON.stringify(await readFiles({ workspace, path, git }))}\n`)
  // A git that did not answer may still run.
  process.exit(0)
}

export type FileReader = (body: Record<string, unknown>) => Promise<ReadFilesReply>

export function createFileReader(options: {
  paths: DaemonPaths
  identity: AgentIdentity
  command: string[]
}): FileReader {
  const { paths, identity } = options
  const serially = oneAtATime()
  let waiting = 0

  async function read(path: string): Promise<ReadFilesReply> {
    const order: Order = {
      path,
      workspace: paths.workspace,
      home: paths.home,
      gitConfig: join(paths.runtimeDir, 'git', 'config'),
    }
    const child = Bun.spawn(asAgent(identity, [...options.command, 'read-files']), {
      cwd: '/',
      env: { PATH: systemPath, LANG: 'C.UTF-8' },
      stdin: new Blob([JSON.stringify(order)]),
      stdout: 'pipe',
      stderr: 'pipe',
      detached: true,
    })
    const outputs = [child.stdout.getReader(), child.stderr.getReader()]
    // The agent owns this process too: it may never end, write without an end, or leave its pipes open.
    const timer = setTimeout(() => endReading(child.pid, outputs), readMs)
    try {
      const [stdout, stderr] = await Promise.all(outputs.map((output) => firstBytes(output)))
      if (stdout === undefined || stderr === undefined) throw failed('the answer is too large')
      const reply = parseJson(stdout)
      if (isRecord(reply)) return reply as unknown as ReadFilesReply
      throw failed(lastLines(stderr) || `no answer came within ${readMs / 1000} seconds`)
    } finally {
      clearTimeout(timer)
      endReading(child.pid, outputs)
    }
  }

  return async ({ path }) => {
    if (typeof path !== 'string' || path.length > workTreePathBytesMax)
      throw new ControlError(400, 'invalid', '"path" must be a path of at most 4096 bytes.')
    if (waiting >= waitingMax)
      throw new ControlError(429, 'limit_reached', 'Too many files of this sandbox are being read. Try again.')
    waiting++
    try {
      return await serially(() => read(path))
    } finally {
      waiting--
    }
  }
}

type Output = ReadableStreamDefaultReader<Uint8Array>

const failed = (why: string) => new ControlError(500, 'files_failed', `The files could not be read: ${why}.`)

function endReading(pid: number, outputs: Output[]): void {
  killGroup(pid)
  for (const output of outputs) output.cancel().catch(handledLater)
}

/** Undefined when there is more. */
async function firstBytes(output: Output): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await output.read()
    if (done) return Buffer.concat(chunks).toString('utf8')
    length += value.length
    if (length > replyBytesMax) return undefined
    chunks.push(value)
  }
}
