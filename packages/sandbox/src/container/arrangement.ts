/** Builds the engine's configuration of a container. Pure. */
import { dirname } from 'node:path'

import type { SandboxSpec } from '../driver.ts'
import {
  attachmentsDir,
  baseEnvironment,
  binDir,
  egressFolderName,
  entrypointArguments,
  isLoaderName,
  relayFolderName,
  runDir,
  runtimeHome,
  workspaceDir,
} from '../layout.ts'

interface ContainerParts {
  image: string
  labels: Record<string, string>
  /** The sandbox's folder on the host, mounted at /run/svc. */
  runFolder: string
  svcBinary: string
  runtimeBinary: string
  /** How long the sandbox goes on without a server; 0 when it ends with the server. */
  leaseSeconds: number
  /** The profile itself (Docker) or the path of a file with it (Podman). */
  seccomp: string
}

const megabyte = 1024 * 1024

export function containerConfig(spec: SandboxSpec, parts: ContainerParts): Record<string, unknown> {
  const memory = memoryOf(spec)
  return {
    Image: parts.image,
    Labels: parts.labels,
    Entrypoint: [`${binDir}/svc-entrypoint`, ...entrypointArguments(spec, parts.leaseSeconds)],
    Cmd: [],
    Env: Object.entries({ ...baseEnvironment, ...withoutLoaderNames(spec.env) }).map(
      ([name, value]) => `${name}=${value}`,
    ),
    User: '0:0',
    WorkingDir: '/',
    Hostname: 'sandbox',
    NetworkDisabled: true,
    // Without a lease the server holds this pipe. When it closes, the server is gone and PID 1 exits.
    OpenStdin: parts.leaseSeconds === 0,
    StdinOnce: parts.leaseSeconds === 0,
    Tty: false,
    HostConfig: {
      NetworkMode: 'none',
      IpcMode: 'private',
      CgroupnsMode: 'private',
      Privileged: false,
      ReadonlyRootfs: true,
      // In addition to the engines' defaults: paths where the kernel describes the machine.
      MaskedPaths: [
        '/sys',
        '/proc/acpi',
        '/proc/kcore',
        '/proc/keys',
        '/proc/scsi',
        '/proc/timer_list',
        '/proc/interrupts',
      ],
      ReadonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
      CapDrop: ['ALL'],
      // The daemon may only chown files, switch to the agent's uid, and signal its processes.
      CapAdd: ['SETUID', 'SETGID', 'KILL', 'CHOWN'],
      SecurityOpt: ['no-new-privileges', `seccomp=${parts.seccomp}`],
      Memory: memory,
      MemorySwap: memory,
      NanoCpus: Math.round(spec.limits.cpuMax * 1e9),
      PidsLimit: spec.limits.processesMax,
      ShmSize: 64 * megabyte,
      // The engine's own limit of open files applies: raising it fails on some machines.
      Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
      Tmpfs: writableFolders(spec),
      Binds: [
        `${parts.runFolder}:${runDir}:rw`,
        ...(spec.relaySocket === null ? [] : [`${dirname(spec.relaySocket)}:${runDir}/${relayFolderName}:ro`]),
        ...(spec.egressSocket ? [`${dirname(spec.egressSocket)}:${runDir}/${egressFolderName}:ro`] : []),
        ...['svc', 'svc-agent', 'svc-entrypoint'].map((name) => `${parts.svcBinary}:${binDir}/${name}:ro`),
        `${parts.runtimeBinary}:${binDir}/opencode:ro`,
      ],
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '1' } },
      RestartPolicy: { Name: 'no' },
    },
  }
}

/** The memory limit bounds the processes and all writable folders together. */
function memoryOf({ limits }: SandboxSpec): number {
  return limits.memoryBytesMax + limits.diskBytesMax + halfOf(limits.diskBytesMax) + 64 * megabyte
}

const halfOf = (bytes: number) => Math.floor(bytes / 2)

/** Each is a tmpfs with its own size: the work tree may use the whole disk limit, the others half of it. */
function writableFolders({ limits: { diskBytesMax } }: SandboxSpec): Record<string, string> {
  const half = halfOf(diskBytesMax)
  const tmpfs = (size: number, mode: string, exec = 'exec') => `rw,${exec},nosuid,nodev,size=${size},mode=${mode}`
  return {
    [workspaceDir]: tmpfs(diskBytesMax, '0755'),
    '/opt/svc': tmpfs(64 * megabyte, '0755'),
    [runtimeHome]: tmpfs(half, '0700'),
    // Only the daemon creates files here, and none is executable.
    [attachmentsDir]: tmpfs(half, '0755', 'noexec'),
    '/tmp': tmpfs(half, '1777'),
    '/var/tmp': tmpfs(16 * megabyte, '1777'),
    '/root': tmpfs(megabyte, '0700'),
  }
}

function withoutLoaderNames(env: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isLoaderName(name)))
}
