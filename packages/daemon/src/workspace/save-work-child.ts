/** Both ends of `svc-agent save-work`: the program run as the agent, and the daemon that relays its output. */
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'

import { isRecord, parseJson } from '@svc/contract/json'
import type { SaveWorkRequest } from '@svc/contract/daemon/control'

import { asAgent, finish, killGroup, lastLines, oneAtATime, systemPath } from '../child.ts'
import type { AgentIdentity, DaemonPaths } from '../config.ts'
import { ControlError } from '../http/reply.ts'
import { saveWork } from './save-work.ts'

const saveMs = 120_000

/** Reads a request from standard input and writes one line of JSON, then the pack. */
export async function runSaveWork(): Promise<void> {
  const { request, workspace, home, gitConfig } = (await Bun.stdin.json()) as WorkOrder
  const env = workEnvironment(home, gitConfig)
  const store = join(home, '.cache', 'svc-unfinished-work')
  const prepared = await saveWork({ ...request, workspace, store }, env)
  const out = Bun.stdout.writer()
  out.write(`${JSON.stringify({ ...prepared.header, pack: prepared.pack !== null })}\n`)
  await out.flush()
  if (prepared.pack === null) return
  const packing = Bun.spawn(['git', `--git-dir=${store}`, '-c', 'pack.threads=1', ...prepared.pack.args], {
    cwd: '/',
    env,
    stdin: Buffer.from(prepared.pack.input),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const stderr = new Response(packing.stderr).text()
  for await (const chunk of packing.stdout) {
    out.write(chunk)
    await out.flush()
  }
  await out.end()
  if ((await packing.exited) !== 0) throw new Error(`git could not create the pack: ${lastLines(await stderr)}`)
}

interface WorkOrder {
  request: SaveWorkRequest
  workspace: string
  home: string
  gitConfig: string
}

export function workEnvironment(home: string, gitConfig: string): Record<string, string> {
  return {
    PATH: systemPath,
    HOME: home,
    LANG: 'C.UTF-8',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: gitConfig,
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    // The agent's git may be running, so take no lock in its repository.
    GIT_OPTIONAL_LOCKS: '0',
    GIT_AUTHOR_NAME: 'svc',
    GIT_AUTHOR_EMAIL: 'noreply@svc.invalid',
    GIT_COMMITTER_NAME: 'svc',
    GIT_COMMITTER_EMAIL: 'noreply@svc.invalid',
  }
}

/** Writes the reply to POST /svc/wip. Saves run one at a time, since they share an index. */
export type WorkSaver = (body: Record<string, unknown>, res: ServerResponse) => Promise<void>

export function createWorkSaver(options: {
  paths: DaemonPaths
  identity: AgentIdentity
  command: string[]
}): WorkSaver {
  const { paths, identity } = options
  const serially = oneAtATime()

  async function save(request: SaveWorkRequest, res: ServerResponse, caller: Caller): Promise<void> {
    if (caller.hasLeft) return
    const order: WorkOrder = {
      request,
      workspace: paths.workspace,
      home: paths.home,
      gitConfig: join(paths.runtimeDir, 'git', 'config'),
    }
    const child = Bun.spawn(asAgent(identity, [...options.command, 'save-work']), {
      cwd: '/',
      env: { PATH: systemPath, LANG: 'C.UTF-8' },
      stdin: new Blob([JSON.stringify(order)]),
      stdout: 'pipe',
      stderr: 'pipe',
      detached: true,
    })
    // With the git that it runs.
    const kill = () => killGroup(child.pid)
    caller.onLeave(kill)
    const stderr = new Response(child.stderr).text()
    let begun = false
    const timer = setTimeout(() => {
      kill()
      // A caller that has stopped reading would otherwise keep every later save waiting.
      if (begun) res.destroy()
    }, saveMs)
    try {
      for await (const chunk of child.stdout) {
        if (!begun) res.writeHead(200, { 'content-type': 'application/octet-stream', 'cache-control': 'no-store' })
        begun = true
        await caller.write(chunk)
      }
      await child.exited
    } finally {
      clearTimeout(timer)
      kill()
    }
    const code = await child.exited
    const reason = lastLines(await stderr)
    if (code === 0) res.end()
    // Part of the pack is already sent; only a cut connection shows that it is incomplete.
    else if (begun) res.destroy()
    else throw new ControlError(500, 'wip_failed', `The work could not be saved: ${reason || `exit code ${code}`}`)
  }

  return async (body, res) => {
    const request = readRequest(body)
    const caller = callerOf(res)
    await serially(() => save(request, res, caller))
  }
}

type Caller = ReturnType<typeof callerOf>

/** The caller may leave before its turn. A closed response emits neither `drain` nor `close` again, so this remembers it. */
function callerOf(res: ServerResponse) {
  let hasLeft = res.destroyed
  let resume = () => {}
  let leave = () => {}
  res.on('drain', () => resume())
  res.once('close', () => {
    hasLeft = true
    leave()
    resume()
  })
  return {
    get hasLeft(): boolean {
      return hasLeft
    },
    onLeave(act: () => void): void {
      leave = act
    },
    /** Resolves when the caller takes more, or has left. */
    async write(chunk: Uint8Array): Promise<void> {
      if (hasLeft || res.write(chunk) || hasLeft) return
      await new Promise<void>((resolve) => (resume = resolve))
    },
  }
}

/** Applies the saved work to the work tree, as the agent, with the client that every sandbox has. */
export type WorkRecoverer = () => Promise<{ ok: true; files: number }>

export function createWorkRecoverer(options: {
  paths: DaemonPaths
  identity: AgentIdentity
  client: string[]
  sessionId: string
  env: () => Record<string, string>
}): WorkRecoverer {
  return async () => {
    const done = await finish(
      asAgent(options.identity, [...options.client, 'sessions', 'recover', options.sessionId, '--json']),
      { cwd: options.paths.workspace, env: options.env(), timeoutMs: saveMs },
    )
    if (done.code !== 0) {
      const { error, hint } = readProblem(done.stderr)
      throw new ControlError(409, 'recover_refused', error, hint === null ? {} : { hint })
    }
    const { files } = JSON.parse(done.stdout) as { files?: unknown }
    return { ok: true, files: typeof files === 'number' ? files : 0 }
  }
}

/** The client prints its error as JSON on the last line of stderr. */
function readProblem(stderr: string): { error: string; hint: string | null } {
  const problem = parseJson(stderr.trim().split('\n').at(-1) ?? '')
  if (isRecord(problem) && typeof problem['error'] === 'string') {
    const { error, hint } = problem
    return { error: error.slice(0, 4000), hint: typeof hint === 'string' ? hint.slice(0, 2000) : null }
  }
  return { error: `The saved work could not be applied: ${lastLines(stderr)}`, hint: null }
}

function readRequest(body: Record<string, unknown>): SaveWorkRequest {
  const id = /^[0-9a-f]{40}([0-9a-f]{24})?$/
  const ids = (name: 'pushed' | 'have') => {
    const list = body[name]
    if (!Array.isArray(list) || list.length > 100 || list.some((sha) => typeof sha !== 'string' || !id.test(sha)))
      throw new ControlError(400, 'invalid', `"${name}" must be a list of commit ids.`)
    return list as string[]
  }
  const size = (name: 'file_bytes_max' | 'bytes_max') => {
    const value = body[name]
    if (typeof value !== 'number' || !(value > 0)) throw new ControlError(400, 'invalid', `"${name}" must be a number.`)
    return value
  }
  const { message } = body
  if (typeof message !== 'string' || message.length > 1000)
    throw new ControlError(400, 'invalid', '"message" must be a string of at most 1000 characters.')
  return {
    pushed: ids('pushed'),
    have: ids('have'),
    message,
    file_bytes_max: size('file_bytes_max'),
    bytes_max: size('bytes_max'),
  }
}
