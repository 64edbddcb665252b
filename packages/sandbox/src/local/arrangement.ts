/** What a sandbox sees, as arguments of bubblewrap. Pure: the launcher opens the files and passes them by number. */
import { existsSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

import type { SandboxSpec } from '../driver.ts'
import type { HiddenPath } from './hidden-paths.ts'
import {
  agentProcessesOf,
  baseEnvironment,
  binDir,
  daemonSocketName,
  egressSocketName,
  etcFiles,
  isLoaderName,
  relaySocketName,
  runDir,
  runtimeHome,
  workspaceDir,
} from '../layout.ts'

/** File descriptors of bubblewrap, and the one by which its watcher knows that we live. */
export const fds = { info: 3, mapsWritten: 4, seccomp: 5, args: 6, watched: 7 } as const

/** What a sandbox is made from, as paths that bubblewrap can walk to under its own ids. */
export interface Sources {
  run: string
  /** Null for a sandbox that does not reach the service. */
  relay: string | null
  /** Null for a sandbox without a way out. */
  egress: string | null
  svc: string
  runtime: string
  /** A folder with the files of `etcFiles`. */
  etc: string
}

/** The empty file beside the files of `etc`. */
export const emptyName = 'empty'

/** Files of the host's /etc that programs in /usr cannot do without and that hold no secret. */
const hostEtc = [
  'alternatives',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'ssl/certs',
  'ssl/openssl.cnf',
  'pki/tls/certs',
  'pki/ca-trust/extracted',
  'ca-certificates',
  'mime.types',
  'protocols',
  'services',
]

const megabyte = 1024 * 1024

export function bubblewrapArguments(
  spec: SandboxSpec,
  from: Sources,
  options: { singleUid: boolean; hidden?: readonly HiddenPath[] },
): string[] {
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-ipc', '--unshare-cgroup-try'],
    ...['--die-with-parent', '--new-session', '--as-pid-1', '--hostname', 'sandbox'],
    ...['--info-fd', String(fds.info), '--seccomp', String(fds.seccomp)],
    ...(options.singleUid ? ['--uid', '1000', '--gid', '1000'] : twoUids),

    // One file system for everything that can be written, so that one size bounds it. It is memory and not a folder on
    // the disk: only a tmpfs has a size limit without root, quotas or loop devices, it is the fastest, and it is gone
    // with its namespace however the server dies. Its pages count into the sandbox's memory group; the driver adds
    // diskBytesMax to that limit, so that a full disk is ENOSPC for the writer and not death for the runtime.
    ...['--perms', '0755', '--size', String(spec.limits.diskBytesMax), '--tmpfs', '/'],
    ...['--ro-bind', '/usr', '/usr', ...topLevel()],
    ...['--perms', '0755', '--dir', '/etc'],
    ...Object.keys(etcFiles).flatMap((name) => ['--ro-bind', join(from.etc, name), `/etc/${name}`]),
    // Parents that bubblewrap makes on its own are 0700, out of the agent's reach.
    ...['/etc/ssl', '/etc/pki', '/etc/pki/tls', '/etc/pki/ca-trust'].flatMap((path) => [
      '--perms',
      '0755',
      '--dir',
      path,
    ]),
    ...hostEtc.flatMap((path) => ['--ro-bind-try', `/etc/${path}`, `/etc/${path}`]),
    ...(options.hidden ?? []).flatMap((hidden) => hiding(hidden, from)),

    ...['--proc', '/proc', '--dev', '/dev', '--perms', '1777', '--size', String(64 * megabyte), '--tmpfs', '/dev/shm'],
    ...['--perms', '0755', '--dir', '/var', '--perms', '0755', '--dir', '/opt', '--perms', '0755', '--dir', '/opt/svc'],
    ...[
      '--perms',
      '1777',
      '--dir',
      '/tmp',
      '--perms',
      '1777',
      '--dir',
      '/var/tmp',
      '--perms',
      '0700',
      '--dir',
      '/root',
    ],
    // The daemon gives these two to the agent: here every file is still made by the inner root.
    ...['--perms', '0755', '--dir', workspaceDir, '--perms', '0700', '--dir', runtimeHome],

    ...['--perms', '0755', '--dir', '/run', '--bind', from.run, runDir],
    ...(from.relay === null ? [] : ['--bind', from.relay, join(runDir, relaySocketName)]),
    ...(from.egress === null ? [] : ['--bind', from.egress, join(runDir, egressSocketName)]),

    // /usr is read-only, so a mount point for our programs has to come from a tmpfs over the host's folder.
    ...['--perms', '0755', '--size', String(megabyte), '--tmpfs', binDir],
    ...['--ro-bind', from.svc, `${binDir}/svc`, '--ro-bind', from.runtime, `${binDir}/opencode`],
    ...['--symlink', 'svc', `${binDir}/svc-agent`, '--symlink', 'svc', `${binDir}/svc-entrypoint`],
    ...['--remount-ro', binDir],

    ...['--chdir', '/', '--clearenv', ...environmentArguments(spec.env)],
  ]
}

/** An empty folder or file over it. /etc has what is listed above and no more, so there only that can be hidden. */
function hiding({ path, kind }: HiddenPath, from: Sources): string[] {
  if (path.startsWith('/etc/') && !hostEtc.some((seen) => `${path}/`.startsWith(`/etc/${seen}/`))) return []
  if (kind === 'file') return ['--ro-bind', join(from.etc, emptyName), path]
  return ['--perms', '0555', '--size', '4096', '--tmpfs', path, '--remount-ro', path]
}

/** The daemon's inner root: it hands files and processes to the agent's uid and ends them, and can do nothing else. */
const twoUids = [
  ...['--userns-block-fd', String(fds.mapsWritten)],
  ...['CAP_SETUID', 'CAP_SETGID', 'CAP_KILL', 'CAP_CHOWN'].flatMap((capability) => ['--cap-add', capability]),
]

/** Arguments of PID 1. Its standard input is a pipe the server holds: at its end the server is gone. */
export function entrypointCommand(spec: SandboxSpec): string[] {
  return [`${binDir}/svc-entrypoint`, '--lifeline', '--agent-processes', String(agentProcessesOf(spec.limits))]
}

/** Values go by file descriptor and never by argv, which every user of the host can read. */
function environmentArguments(env: Record<string, string>): string[] {
  const given = Object.entries(env).filter(([name]) => !isLoaderName(name))
  return Object.entries({ ...baseEnvironment, ...Object.fromEntries(given) }).flatMap(([name, value]) => [
    '--setenv',
    name,
    value,
  ])
}

/** /bin, /lib and the like: links into /usr on most systems, real folders on the rest. */
function topLevel(): string[] {
  return ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap((path) => {
    if (!existsSync(path)) return []
    const target = linkTarget(path)
    return target === null ? ['--ro-bind', path, path] : ['--symlink', target, path]
  })
}

function linkTarget(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    // EINVAL: a folder and no link.
    return null
  }
}

export const daemonSocketIn = (runFolder: string): string => join(runFolder, daemonSocketName)
