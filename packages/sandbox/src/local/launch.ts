/** Starts one sandbox: the chain of programs before bubblewrap, the uid maps, and how all of it is taken back. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { promisify } from 'node:util'

import type { SandboxSpec } from '../driver.ts'
import { idsPerSandbox } from '../layout.ts'
import { bubblewrapArguments, entrypointCommand, fds, type Sources } from './arrangement.ts'
import type { HiddenPath } from './hidden-paths.ts'
import { firstUidOf, type Identity } from './ids.ts'

const run = promisify(execFile)

export interface Launch {
  spec: SandboxSpec
  sources: Sources
  hidden?: readonly HiddenPath[]
  /** A folder with an empty place for each source; used when we are root. */
  stage: string
  identity: Identity
  /** Which uid range, when we are root. */
  slot: number
  bubblewrap: string
  filterFile: string
  /** Files to write "0" to: the control groups of this sandbox. */
  cgroupFiles: string[]
  /** Before the first program: what limits it where there are no such files. */
  limitingPrefix: string[]
}

export interface Running {
  child: ChildProcess
  /** PID 1 of the sandbox, as we see it: its death is the death of everything in there. */
  innerPid: number
}

/**
 * Enters the groups before bubblewrap exists, so that there is no moment without limits. A limit of open files that is
 * too high for the machine is no reason not to start. Written for any POSIX sh.
 *
 * The watcher is there for a server that is killed while bubblewrap starts: between its clone and the moment it is
 * bound to its parent's life, bubblewrap's child would wait for ever for a word from the dead. The end of descriptor 7
 * says that the server is gone, or done with this sandbox; the process group is the watcher's own, so as long as it can
 * ask, the number is nobody else's.
 */
const enterScript = `set -e
while [ "$1" != -- ]; do echo 0 > "$1"; shift; done
shift
(read -r end <&7 || true; kill -s KILL -- -$$) </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- &
exec 7<&-
ulimit -c 0
ulimit -n 65536 2>/dev/null || true
`

/**
 * As root, bubblewrap runs under the sandbox's own ids, which cannot walk into our 0700 folders or into /root. So, in
 * a mount namespace that ends with the sandbox, every source is bound into the stage, and the stage over /tmp, where
 * anyone may look. (--bind-fd would do without, but bubblewrap resolves even that to a path and walks it.)
 */
const stageScript = `${enterScript}stage=$1
shift
while [ "$1" != -- ]; do mount --bind "$1" "$stage/$2"; shift 2; done
shift
mount --rbind "$stage" /tmp
exec "$@"`

const plainScript = `${enterScript}exec "$@"`

/** The launcher's own environment; the sandbox's goes in by descriptor and never touches a program of the host. */
const launcherEnvironment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

/** `onStart` gets the child at once, so that whoever gives up meanwhile can kill it. */
export async function launch(options: Launch, onStart: (child: ChildProcess) => void): Promise<Running> {
  const { spec, identity } = options
  const filter = openSync(options.filterFile, 'r')
  try {
    const first = firstUidOf(options.slot)
    const seen = identity.kind === 'ranges' ? stagedFor(options.sources) : options.sources
    const bubblewrap = [options.bubblewrap, '--args', String(fds.args), '--', ...entrypointCommand(spec)]
    const [program, ...args] = [
      ...options.limitingPrefix,
      ...(identity.kind === 'ranges'
        ? [
            ...['unshare', '--mount', '--propagation', 'private', '/bin/sh', '-c', stageScript, 'svc-launch'],
            ...[...options.cgroupFiles, '--', options.stage],
            ...stagedNames.flatMap((name) => (options.sources[name] === null ? [] : [options.sources[name], name])),
            ...['--', 'setpriv', `--reuid=${first}`, `--regid=${first}`, '--clear-groups', ...bubblewrap],
          ]
        : ['/bin/sh', '-c', plainScript, 'svc-launch', ...options.cgroupFiles, '--', ...bubblewrap]),
    ] as [string, ...string[]]
    const child = spawn(program, args, {
      env: launcherEnvironment,
      cwd: '/',
      // 0 is the lifeline: nobody writes to it, and its end tells PID 1 that we are gone.
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', filter, 'pipe', 'pipe'],
      // A process group of its own, for the watcher and for whoever stops a start halfway.
      detached: true,
    })
    onStart(child)
    const failed = new Promise<never>((_, reject) => {
      child.once('error', reject)
      child.once('exit', (code, signal) => reject(new LaunchFailed(code, signal)))
    })
    // Whoever waits below hears of it; after that nobody listens, and that is no unhandled rejection.
    failed.catch(() => {})
    const pipe = (fd: number) => child.stdio[fd] as Writable
    for (const fd of [0, fds.mapsWritten, fds.args, fds.watched]) {
      // EPIPE: bubblewrap ended early. Its exit says so and why.
      pipe(fd).on('error', () => {})
    }
    pipe(fds.args).end(
      `${bubblewrapArguments(spec, seen, { singleUid: identity.kind === 'single', ...(options.hidden ? { hidden: options.hidden } : {}) }).join('\0')}\0`,
    )
    const innerPid = await Promise.race([readInnerPid(child.stdio[fds.info] as Readable), failed])
    // Past this point bubblewrap dies with us. Dying before it leaves a child without maps, which reads the end of
    // this pipe and cannot go on.
    if (identity.kind !== 'single') await Promise.race([writeMaps(innerPid, identity, first), failed])
    pipe(fds.mapsWritten).end('.')
    return { child, innerPid }
  } finally {
    closeSync(filter)
  }
}

/** `etc` lies in the stage itself and needs no mount. */
export const stagedNames = ['run', 'relay', 'egress', 'svc', 'runtime'] as const
const stagedFor = (sources: Sources): Sources => ({
  run: '/tmp/run',
  relay: sources.relay === null ? null : '/tmp/relay',
  egress: sources.egress === null ? null : '/tmp/egress',
  svc: '/tmp/svc',
  runtime: '/tmp/runtime',
  etc: '/tmp/etc',
})

export class LaunchFailed extends Error {
  constructor(code: number | null, signal: string | null) {
    super(`bubblewrap ended with ${signal === null ? `exit code ${code}` : `signal ${signal}`}`)
    this.name = 'LaunchFailed'
  }
}

async function readInnerPid(info: Readable): Promise<number> {
  let text = ''
  for await (const chunk of info) {
    text += String(chunk)
    if (text.includes('}')) break
  }
  const pid = text.includes('}') ? (JSON.parse(text) as { 'child-pid'?: unknown })['child-pid'] : undefined
  // Without a pid the program has ended; its exit is the better report and arrives on its own.
  return typeof pid === 'number' ? pid : new Promise<never>(() => {})
}

async function writeMaps(pid: number, identity: Exclude<Identity, { kind: 'single' }>, first: number): Promise<void> {
  if (identity.kind === 'ranges') {
    for (const file of ['gid_map', 'uid_map']) writeFileSync(`/proc/${pid}/${file}`, `0 ${first} ${idsPerSandbox}`)
    return
  }
  const { uid, gid, subUid, subGid } = identity
  const rest = (range: { start: number; count: number }) => [
    '1',
    String(range.start),
    String(Math.min(range.count, idsPerSandbox - 1)),
  ]
  const options = { env: launcherEnvironment, timeout: 5000 }
  await run('newgidmap', [String(pid), '0', String(gid), '1', ...rest(subGid)], options)
  await run('newuidmap', [String(pid), '0', String(uid), '1', ...rest(subUid)], options)
}
