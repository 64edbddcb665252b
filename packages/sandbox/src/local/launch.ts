/** Starts one sandbox: the chain of programs before bubblewrap, the uid maps, and the cleanup after a failed start. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { promisify } from 'node:util'

import type { SandboxSpec } from '../driver.ts'
import { idsPerSandbox } from '../layout.ts'
import { bubblewrapArguments, entrypointCommand, fds, type Sources } from './arrangement.ts'
import { reportedToCaller } from './cgroups.ts'
import type { HiddenPath } from './hidden-paths.ts'
import { firstUidOf, type Identity } from './ids.ts'

const run = promisify(execFile)

interface Launch {
  spec: SandboxSpec
  sources: Sources
  hidden?: readonly HiddenPath[]
  /** A folder with an empty mount point per source; used when the server is root. */
  stage: string
  identity: Identity
  /** The uid range, when the server is root. */
  slot: number
  bubblewrap: string
  filterFile: string
  /** The sandbox's control groups: files that a process enters by writing "0". */
  cgroupFiles: string[]
  /** Command prefix that limits the sandbox where no such files exist. */
  limitingPrefix: string[]
  /** Receives the output of the sandbox's PID 1. */
  outputFile: string
  /** How long the sandbox goes on without a server; 0 when it ends with the server. */
  leaseSeconds: number
}

export interface Running {
  child: ChildProcess
  /** The host's pid of the sandbox's PID 1, whose death ends the whole sandbox. */
  innerPid: number
  /** Lets the sandbox go on when this server ends. Until then it ends with the server. */
  release(): void
}

/**
 * Enters the groups before bubblewrap starts, so that the limits always apply. A limit of open files that is too high
 * for the machine does not prevent the start. Works in any POSIX sh. The watcher covers a server that is killed while
 * bubblewrap starts: between its clone and the moment it is bound to its parent's life, bubblewrap's child would wait
 * forever. Descriptor 7 closes when the server ends or is done with this sandbox; a line on it means that the sandbox
 * has started and outlives the server. The watcher is in the process group that it kills, so the group's number cannot
 * have been reused.
 */
const enterScript = `set -e
while [ "$1" != -- ]; do echo 0 > "$1"; shift; done
shift
(if read -r released <&7; then exit 0; fi; kill -s KILL -- -$$) </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- &
exec 7<&-
ulimit -c 0
ulimit -n 65536 2>/dev/null || true
`

/**
 * As root, bubblewrap runs under the sandbox's own ids, which cannot enter our 0700 folders or /root. So every source
 * is mounted into the stage, and the stage over /tmp, in a mount namespace that ends with the sandbox. (--bind-fd
 * would not help: bubblewrap resolves the descriptor to a path.)
 */
const stageScript = `${enterScript}stage=$1
shift
while [ "$1" != -- ]; do mount --bind "$1" "$stage/$2"; shift 2; done
shift
mount --rbind "$stage" /tmp
exec "$@"`

const plainScript = `${enterScript}exec "$@"`

/** The launcher's own environment. The sandbox's goes through a descriptor, past the host's programs. */
const launcherEnvironment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

/** `onStart` gets the child at once, so that an abort can kill it. */
export async function launch(options: Launch, onStart: (child: ChildProcess) => void): Promise<Running> {
  const { spec, identity, leaseSeconds } = options
  const outlives = leaseSeconds > 0
  const filter = openSync(options.filterFile, 'r')
  const output = openSync(options.outputFile, 'a', 0o600)
  try {
    const first = firstUidOf(options.slot)
    const seen = identity.kind === 'ranges' ? stagedFor(options.sources) : options.sources
    const bubblewrap = [options.bubblewrap, '--args', String(fds.args), '--', ...entrypointCommand(spec, leaseSeconds)]
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
      // 0 is the lifeline of a sandbox without a lease: its end tells PID 1 that the server is gone.
      stdio: [outlives ? 'ignore' : 'pipe', output, output, 'pipe', 'pipe', filter, 'pipe', 'pipe'],
      // In its own process group, for the watcher and for aborted starts.
      detached: true,
    })
    onStart(child)
    const failed = new Promise<never>((_, reject) => {
      child.once('error', reject)
      child.once('exit', (code, signal) => reject(new LaunchFailed(code, signal)))
    })
    // Handled by the races below; later rejections have no listener and must not be reported as unhandled.
    failed.catch(reportedToCaller)
    const pipe = (fd: number) => child.stdio[fd] as Writable
    for (const fd of [...(outlives ? [] : [0]), fds.mapsWritten, fds.args, fds.watched]) {
      // EPIPE: bubblewrap ended early; its exit reports the error.
      pipe(fd).on('error', reportedToCaller)
    }
    pipe(fds.args).end(
      `${bubblewrapArguments(spec, seen, { singleUid: identity.kind === 'single', outlives, ...(options.hidden ? { hidden: options.hidden } : {}) }).join('\0')}\0`,
    )
    const innerPid = await Promise.race([readInnerPid(child.stdio[fds.info] as Readable), failed])
    // If the server ends earlier, the child has no maps, reads the end of this pipe, and cannot continue. From here on
    // bubblewrap ends with this server, or the sandbox has its lease.
    if (identity.kind !== 'single') await Promise.race([writeMaps(innerPid, identity, first), failed])
    pipe(fds.mapsWritten).end('.')
    return {
      child,
      innerPid,
      release() {
        if (!outlives) return
        // Open pipes would keep this process from ending before the sandbox does.
        const open = [fds.info, fds.mapsWritten, fds.args, fds.watched].map(pipe)
        pipe(fds.watched).end('released\n', () => open.forEach((each) => each.destroy()))
        child.unref()
      },
    }
  } finally {
    closeSync(filter)
    closeSync(output)
  }
}

/** `etc` is in the stage itself and needs no mount. */
export const stagedFolders = ['run', 'relay', 'egress'] as const
export const stagedFiles = ['svc', 'runtime'] as const
const stagedNames = [...stagedFolders, ...stagedFiles]
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
  // Without a pid bubblewrap has ended; its exit is the better error and is reported by itself.
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
