/** The sandbox's view of the system, as arguments of bubblewrap. Pure: the launcher opens the files. */
import { existsSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

import type { SandboxSpec } from '../driver.ts'
import type { HiddenPath } from './hidden-paths.ts'
import {
  baseEnvironment,
  binDir,
  egressFolderName,
  entrypointArguments,
  etcFiles,
  isLoaderName,
  relayFolderName,
  runDir,
  runtimeHome,
  workspaceDir,
} from '../layout.ts'

/** File descriptors of bubblewrap; its watcher uses `watched` to detect that the server has ended. */
export const fds = { info: 3, mapsWritten: 4, seccomp: 5, args: 6, watched: 7 } as const

/** Sources of the sandbox's mounts, as paths that bubblewrap can reach under its own ids. */
export interface Sources {
  run: string
  /** The folder of the server's socket; null for a sandbox that does not reach the service. */
  relay: string | null
  /** The folder of the proxy's socket; null for a sandbox without egress. */
  egress: string | null
  svc: string
  runtime: string
  /** A folder with the files of `etcFiles`. */
  etc: string
}

/** The empty file next to the files of `etc`. */
export const emptyName = 'empty'

/** Files of the host's /etc that programs in /usr need and that contain no secrets. */
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

const dir = (path: string, mode = '0755') => ['--perms', mode, '--dir', path]
const tmpfs = (path: string, mode: string, bytes: number) => [
  ...['--perms', mode, '--size', String(bytes), '--tmpfs', path],
]

export function bubblewrapArguments(
  spec: SandboxSpec,
  from: Sources,
  options: { singleUid: boolean; outlives: boolean; hidden?: readonly HiddenPath[] },
): string[] {
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-ipc', '--unshare-cgroup-try'],
    ...(options.outlives ? [] : ['--die-with-parent']),
    ...['--new-session', '--as-pid-1', '--hostname', 'sandbox'],
    ...['--info-fd', String(fds.info), '--seccomp', String(fds.seccomp)],
    ...(options.singleUid ? ['--uid', '1000', '--gid', '1000'] : twoUids),

    // One file system for all writable folders, so that one size limits it. It is a tmpfs: only that has a size limit
    // without root, quotas, or loop devices; it is fast; and it disappears with its namespace even if the server is
    // killed. Its pages count toward the sandbox's memory group, so the driver adds diskBytesMax to that limit: a
    // full disk must be ENOSPC for the writer, not the death of the runtime.
    ...tmpfs('/', '0755', spec.limits.diskBytesMax),
    ...['--ro-bind', '/usr', '/usr', ...topLevel()],
    ...dir('/etc'),
    ...Object.keys(etcFiles).flatMap((name) => ['--ro-bind', join(from.etc, name), `/etc/${name}`]),
    // bubblewrap creates missing parents with mode 0700, which the agent could not enter.
    ...['/etc/ssl', '/etc/pki', '/etc/pki/tls', '/etc/pki/ca-trust'].flatMap((path) => dir(path)),
    ...hostEtc.flatMap((path) => ['--ro-bind-try', `/etc/${path}`, `/etc/${path}`]),
    ...(options.hidden ?? []).flatMap((hidden) => hiding(hidden, from)),

    ...['--proc', '/proc', '--dev', '/dev', ...tmpfs('/dev/shm', '1777', 64 * megabyte)],
    ...[...dir('/var'), ...dir('/opt'), ...dir('/opt/svc')],
    ...[...dir('/tmp', '1777'), ...dir('/var/tmp', '1777'), ...dir('/root', '0700')],
    // The daemon gives these two to the agent: here the inner root still owns every file.
    ...[...dir(workspaceDir), ...dir(runtimeHome, '0700')],

    ...[...dir('/run'), '--bind', from.run, runDir],
    ...(from.relay === null ? [] : ['--ro-bind', from.relay, join(runDir, relayFolderName)]),
    ...(from.egress === null ? [] : ['--ro-bind', from.egress, join(runDir, egressFolderName)]),

    // /usr is read-only, so the mount points of our programs come from a tmpfs over the host's folder.
    ...tmpfs(binDir, '0755', megabyte),
    ...['--ro-bind', from.svc, `${binDir}/svc`, '--ro-bind', from.runtime, `${binDir}/opencode`],
    ...['--symlink', 'svc', `${binDir}/svc-agent`, '--symlink', 'svc', `${binDir}/svc-entrypoint`],
    ...['--remount-ro', binDir],

    ...['--chdir', '/', '--clearenv', ...environmentArguments(spec.env)],
  ]
}

/** Covers the path with an empty folder or file. Of /etc a sandbox sees only the files listed above. */
function hiding({ path, kind }: HiddenPath, from: Sources): string[] {
  if (path.startsWith('/etc/') && !hostEtc.some((seen) => `${path}/`.startsWith(`/etc/${seen}/`))) return []
  if (kind === 'file') return ['--ro-bind', join(from.etc, emptyName), path]
  return [...tmpfs(path, '0555', 4096), '--remount-ro', path]
}

/** Capabilities of the inner root: it may only chown files, switch to the agent's uid, and signal its processes. */
const twoUids = [
  ...['--userns-block-fd', String(fds.mapsWritten)],
  ...['CAP_SETUID', 'CAP_SETGID', 'CAP_KILL', 'CAP_CHOWN'].flatMap((capability) => ['--cap-add', capability]),
]

export function entrypointCommand(spec: SandboxSpec, leaseSeconds: number): string[] {
  return [`${binDir}/svc-entrypoint`, ...entrypointArguments(spec, leaseSeconds)]
}

/** Values go through a file descriptor, never through argv, which every user of the host can read. */
function environmentArguments(env: Record<string, string>): string[] {
  const given = Object.entries(env).filter(([name]) => !isLoaderName(name))
  return Object.entries({ ...baseEnvironment, ...Object.fromEntries(given) }).flatMap(([name, value]) => [
    '--setenv',
    name,
    value,
  ])
}

/** /bin, /lib, and so on: links into /usr on most systems, real folders on others. */
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
    // EINVAL: a folder, not a link.
    return null
  }
}
