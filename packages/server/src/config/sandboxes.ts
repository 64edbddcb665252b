/** The operator's limits on every sandbox: resources and network. */
import { availableParallelism } from 'node:os'
import { type EgressRule, parseEgressPattern } from '@svc/contract/schemas/egress'
import { engineSockets } from '@svc/sandbox'
import { bytesOf } from '@svc/contract/schemas/quotas'
import type { Settings } from './settings.ts'

/** Hosts that sandboxes may reach if their project asks for them. */
export type OperatorEgress = readonly EgressRule[] | 'any' | 'none'

export function readSandboxes(settings: Settings) {
  const size = (name: string, fallback: string): number => {
    const bytes = bytesOf(settings.text(name) ?? fallback)
    if (bytes !== null && bytes >= 64 * 1024 ** 2) return bytes
    settings.refuse(name, 'must be a size of at least 64MiB, like "8GiB"')
    return 0
  }
  const cpu = Number(settings.text('SVC_SANDBOX_CPU_MAX') ?? availableParallelism())
  if (!(cpu >= 0.1 && cpu <= 1024)) settings.refuse('SVC_SANDBOX_CPU_MAX', 'must be a number of cores')
  return {
    /** The limits of a single sandbox. */
    sandboxMax: {
      cpu,
      memoryBytes: size('SVC_SANDBOX_MEMORY_MAX', '16GiB'),
      diskBytes: size('SVC_SANDBOX_DISK_MAX', '32GiB'),
    },
    /** Sockets of container engines to look for, and the network for building a project's Dockerfile. */
    containers: {
      sockets: engineSockets(settings.text('DOCKER_HOST') ?? undefined, settings.text('XDG_RUNTIME_DIR') ?? undefined),
      buildNetwork: settings.choice('SVC_BUILD_NETWORK', ['none', 'default']),
    },
    /** How long a sandbox goes on without a server; 0 when it ends with its server. */
    sandboxLeaseSeconds: settings.integer('SVC_SANDBOX_LEASE_SECONDS', 3600, 0, 604_800),
    /** An agent runtime that is idle for this long freezes; 0 for never. */
    freezeSeconds: settings.integer('SVC_RUNTIME_FREEZE_SECONDS', 60, 0, 86_400),
    /** A frozen runtime stops after this time; 0 for never. */
    stopSeconds: settings.integer('SVC_RUNTIME_STOP_SECONDS', 600, 0, 2_000_000),
    egress: readEgress(settings),
    /** Paths of this machine that no sandbox may read. */
    hiddenPaths: readHiddenPaths(settings),
  }
}

/** No sandbox starts without these paths. */
const neededPaths = [
  '/usr/bin',
  '/usr/lib',
  '/usr/lib64',
  '/usr/local/bin',
  '/etc/ssl',
  '/bin',
  '/lib',
  '/lib64',
  '/sbin',
]

function readHiddenPaths(settings: Settings): string[] {
  const text = settings.text('SVC_SANDBOX_HIDDEN_PATHS') ?? ''
  const paths = text.split(':').flatMap((path) => (path === '' ? [] : [path.replace(/\/+$/, '')]))
  for (const path of paths) {
    const isNeeded = neededPaths.some((needed) => `${needed}/`.startsWith(`${path}/`))
    if (!path.startsWith('/') || path.includes('/../') || isNeeded)
      settings.problem(
        ['SVC_SANDBOX_HIDDEN_PATHS'],
        `SVC_SANDBOX_HIDDEN_PATHS must list absolute paths, separated by colons, that programs do not need, but has ${JSON.stringify(path)}.`,
      )
  }
  return paths
}

function readEgress(settings: Settings): OperatorEgress {
  const text = (settings.text('SVC_EGRESS') ?? 'any').trim()
  if (text === 'none' || text === 'any') return text
  return text.split(',').flatMap((part) => {
    const isAlone = ['none', 'any'].includes(part.trim().toLowerCase())
    const parsed = isAlone ? 'stands beside others' : parseEgressPattern(part.trim())
    if (typeof parsed !== 'string') return parsed
    settings.problem(
      ['SVC_EGRESS'],
      `SVC_EGRESS must be any, none or hosts separated by commas, but ${JSON.stringify(part.trim())} ${parsed}.`,
    )
    return []
  })
}
